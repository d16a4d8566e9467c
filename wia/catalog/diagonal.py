"""Parts of matrices beside a diagonal."""

from __future__ import annotations

from typing import Any

from ._forms import SAME, flag
from ._model import INT32_MAX, Attribute, Operand, Sample, Standard
from ._moving import moving


def trilu(np: Any, x: Any, *, k: int, upper: int) -> Any:
    """The part above a diagonal, or below it; zeros elsewhere."""
    row, column = np.arange(x.shape[-2])[:, None], np.arange(x.shape[-1])
    kept = column - row >= k if upper else column - row <= k
    return np.where(kept, x, np.zeros((), x.dtype))


def diag(np: Any, x: Any, *, k: int) -> Any:
    """Matrices with the last dimension as a diagonal."""
    size = x.shape[-1] + abs(k)
    result = np.zeros((*x.shape[:-1], size, size), x.dtype)
    place = np.arange(x.shape[-1])
    result[..., place + max(-k, 0), place + max(k, 0)] = x
    return result


_K = Attribute(
    name="k",
    summary="The diagonal: so many above the main one, below 0: below it.",
    default=0,
    minimum=-INT32_MAX,
    maximum=INT32_MAX,
    field="int64_t",
)

TRILU = moving(
    271,
    "trilu",
    trilu,
    summary="The part of matrices above a diagonal, or below it; zeros elsewhere.",
    formula="output[..., i, j] = input[..., i, j] where j - i >= k, or with upper 0 where "
    "j - i <= k, else 0",
    inputs=(Operand(name="input", summary="[..., m, n]."),),
    output=SAME,
    standard=Standard(name="Trilu", opset=14, note="k is an attribute"),
    attributes=(_K, flag("upper", "The part above, else the one below.", default=1)),
    samples=(
        Sample(shapes=((4, 5),)),
        Sample(shapes=((2, 3, 9),), values={"k": -1, "upper": 0}, fills=("special",)),
        Sample(shapes=((5, 3),), values={"k": 2}, fills=("wide",)),
        Sample(shapes=((3, 3),), values={"k": -9, "upper": 0}),
        Sample(shapes=((2, 0),)),
    ),
    source="ONNX node tests tril* and triu*",
)

DIAG = moving(
    275,
    "diag",
    diag,
    summary="Matrices with a diagonal; zeros elsewhere.",
    formula="output[..., i, i + k] = input[..., i], or with k below 0 output[..., i - k, i]",
    inputs=(Operand(name="input", summary="[..., n]."),),
    output=Operand(name="output", summary="[..., n + |k|, n + |k|]."),
    attributes=(_K,),
    samples=(
        Sample(shapes=((4,),)),
        Sample(shapes=((2, 9),), values={"k": 2}, fills=("special",)),
        Sample(shapes=((3, 1),), values={"k": -3}, fills=("wide",)),
        Sample(shapes=((0,),), values={"k": 1}),
    ),
    source="numpy.diag; values by hand",
)

OPERATIONS = (TRILU, DIAG)
