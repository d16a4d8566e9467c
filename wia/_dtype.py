"""Element types: names and numbers of the C side, numpy's and ml_dtypes' objects on this side."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from wia._errors import ArgumentTypeError, InvalidArgumentError
from wia._native import lib, text

if TYPE_CHECKING:
    import numpy as np

__all__ = ["BITS", "CODES", "NAMES", "dtype_code", "numpy_dtype"]

NAMES: dict[int, str] = {
    code: text(lib.wia_get_dtype_name(code)) for code in range(1, lib.WIA_DTYPE_COUNT)
}
CODES: dict[str, int] = {name: code for code, name in NAMES.items()}
BITS: dict[int, int] = {code: lib.wia_get_dtype_bits(code) for code in NAMES}
_found = dict[object, int](CODES.items())
"""What dtype_code() has answered: names, and what else was given."""


@cache
def numpy_dtype(code: int) -> np.dtype[Any]:
    """The dtype of numpy or ml_dtypes; types below 8 bits take a whole byte there."""
    import numpy as np

    name = NAMES[code]
    if hasattr(np, name) and name != "bool":
        return np.dtype(name)
    if name == "bool":
        return np.dtype(np.bool_)
    import ml_dtypes

    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found


def dtype_code(dtype: object) -> int:
    """The number of a dtype given by name, as numpy dtype, or as scalar type (ml_dtypes.bfloat16).

    Raises InvalidArgumentError for a dtype that WIA doesn't have, ArgumentTypeError for what is no
    dtype at all.
    """
    try:
        return _found[dtype]
    except (KeyError, TypeError):  # TypeError: it can't be hashed
        pass
    code = _look_up(dtype)
    if getattr(dtype, "__hash__", None):
        _found[dtype] = code
    return code


def _look_up(dtype: object) -> int:
    import numpy as np

    try:
        if dtype is None:  # for numpy that is float64
            raise TypeError
        name = np.dtype(dtype).name  # type: ignore[call-overload]
    except TypeError:
        if not isinstance(dtype, str):
            raise ArgumentTypeError(
                f"{dtype!r} was given as dtype; expected a name such as 'float32', a numpy dtype "
                "or a type of ml_dtypes."
            ) from None
        name = dtype
    if name not in CODES:
        raise InvalidArgumentError(f"The dtype {name!r} was given; WIA has {', '.join(CODES)}.")
    return CODES[name]
