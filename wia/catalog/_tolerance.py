"""How far a driver's result may be from the semantics.

With e the expected value, u half the distance of neighbours at 1 in the accumulator (float64 for
float64, float32 for all narrower floats), a result r passes where

    |r - e| <= ulps * ulp(e) + min(length, 8 sqrt(length)) * u * magnitude

ulp(e) is the distance of neighbours at e in the result's dtype. The second term bounds the error of
``length`` roundings in any order; ``magnitude`` is what they are relative to, for a sum of products
the sum of their absolute values. Up to 64 roundings the bound holds for all inputs; more are
taken as independent, for which Higham and Mary (A new approach to probabilistic rounding error
analysis, 2019) have the square root: on samples, which are random, an honest driver stays inside,
and one that loses bits doesn't. Where e is NaN or infinite, r has to be the same. Integers are
exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._evaluate import read_outputs
from ._model import Operation, Tolerance, Values
from ._numeric import is_integer, widen


def unit_roundoff(dtype: str) -> float:
    """u of the accumulator for a result of that dtype."""
    return 2.0**-53 if dtype == "float64" else 2.0**-24


_BITS = {"float64": (52, -1022), "float32": (23, -126), "float16": (10, -14), "bfloat16": (7, -126)}


def ulp(np: Any, values: Any, dtype: str) -> Any:
    """Distance of neighbours in a dtype at float64 values, that of the denormals at 0."""
    bits, minimum = _BITS[dtype]
    exponent = np.frexp(values)[1] - 1
    return np.ldexp(1.0, np.maximum(exponent, minimum) - bits)


def allowed_error(
    np: Any,
    operation: Operation,
    inputs: Sequence[Any],
    values: Values,
    expected: Sequence[Any],
    before: Sequence[Any] | None = None,
) -> tuple[Any, ...]:
    """The largest errors allowed, per output and element, in float64.

    Inputs and ``before`` are those of the call: see evaluate(). ``expected`` are the outputs of the
    semantics, in their dtypes.
    """
    given = {**values, **read_outputs(operation, values, before)}
    return tuple(
        _bound(np, tolerance, inputs, given, output)
        for tolerance, output in zip(operation.tolerances[: len(expected)], expected, strict=True)
    )


def _bound(
    np: Any, tolerance: Tolerance, inputs: Sequence[Any], values: Values, expected: Any
) -> Any:
    if is_integer(expected.dtype) or expected.dtype.name not in _BITS:
        return np.zeros(expected.shape)
    wide = widen(np, expected)
    finite = np.where(np.isfinite(wide), wide, 0.0)
    bound = tolerance.ulps * ulp(np, finite, expected.dtype.name)
    if tolerance.length is None or tolerance.magnitude is None:
        return bound
    shapes = tuple(() if array is None else array.shape for array in inputs)
    arrays = [None if array is None else widen(np, array) for array in inputs]
    with np.errstate(all="ignore"):
        magnitude = tolerance.magnitude(np, *arrays, **values)
    length = tolerance.length(shapes, values)
    count = min(length, 8 * length**0.5)
    term = count * unit_roundoff(expected.dtype.name) * magnitude
    return bound + np.where(np.isfinite(term), term, np.inf)
