"""Reductions along axes: sums, products, extremes, means, and of truth values."""

from __future__ import annotations

from typing import Any

from ._forms import onnx
from ._model import FLOATS, INTEGERS, Sample, Shape, Tolerance, Values
from ._numeric import narrow, widen
from ._rows import EMPTY_ROWS, SAMPLES, reduction, row_length, rows_of


def reduce_sum(np: Any, x: Any, *, axes: Any, keepdims: int) -> Any:
    """Sum over the axes; 0 where there is nothing to sum."""
    rows, shape = rows_of(np, widen(np, x), axes, keepdims)
    return narrow(np, rows.sum(axis=-1), x.dtype).reshape(shape)


def reduce_prod(np: Any, x: Any, *, axes: Any, keepdims: int) -> Any:
    """Product over the axes; 1 where there is nothing to multiply."""
    rows, shape = rows_of(np, widen(np, x), axes, keepdims)
    return narrow(np, rows.prod(axis=-1), x.dtype).reshape(shape)


def reduce_max(np: Any, x: Any, *, axes: Any, keepdims: int) -> Any:
    """Largest element over the axes; NaN wins."""
    rows, shape = rows_of(np, widen(np, x), axes, keepdims)
    if rows.size == 0:
        return np.empty(shape, x.dtype)
    return rows.max(axis=-1).astype(x.dtype).reshape(shape)


def reduce_min(np: Any, x: Any, *, axes: Any, keepdims: int) -> Any:
    """Least element over the axes; NaN wins."""
    rows, shape = rows_of(np, widen(np, x), axes, keepdims)
    if rows.size == 0:
        return np.empty(shape, x.dtype)
    return rows.min(axis=-1).astype(x.dtype).reshape(shape)


def reduce_mean(np: Any, x: Any, *, axes: Any, keepdims: int) -> Any:
    """Mean over the axes; NaN where there is nothing to add up."""
    rows, shape = rows_of(np, widen(np, x), axes, keepdims)
    return narrow(np, rows.sum(axis=-1) / np.float64(rows.shape[-1]), x.dtype).reshape(shape)


def reduce_any(np: Any, x: Any, *, axes: Any, keepdims: int) -> Any:
    """Whether one of the elements is true."""
    rows, shape = rows_of(np, x, axes, keepdims)
    return rows.any(axis=-1).reshape(shape)


def reduce_all(np: Any, x: Any, *, axes: Any, keepdims: int) -> Any:
    """Whether all elements are true."""
    rows, shape = rows_of(np, x, axes, keepdims)
    return rows.all(axis=-1).reshape(shape)


def _absolute_sum(np: Any, x: Any, *, axes: Any, keepdims: int) -> Any:
    return reduce_sum(np, abs(x), axes=axes, keepdims=keepdims)


def _absolute_prod(np: Any, x: Any, *, axes: Any, keepdims: int) -> Any:
    return np.maximum(reduce_prod(np, abs(x), axes=axes, keepdims=keepdims), 2.0**-100)


def _mean_length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    return row_length(shapes, values) + 1


def _absolute_mean(np: Any, x: Any, *, axes: Any, keepdims: int) -> Any:
    return reduce_mean(np, abs(x), axes=axes, keepdims=keepdims)


REDUCE_SUM = reduction(
    9,
    "reduce_sum",
    "Sum over dimensions.",
    "output = sum(input over axes)",
    reduce_sum,
    notes=("The dtype stays: integers wrap. An empty sum is 0.",),
    standard=onnx("ReduceSum", 13, "8- and 16-bit integers are ours"),
    tolerance=Tolerance(
        ulps=1.0,
        length=row_length,
        magnitude=_absolute_sum,
        reason="Any order of summation: one rounding in the accumulator per element, relative to "
        "the sum of absolute values, and one of the result.",
    ),
    source="ONNX node tests reduce_sum_*; PyTorch's operator_reduced_sum among ONNX's models",
)

REDUCE_MAX = reduction(
    10,
    "reduce_max",
    "Largest element over dimensions.",
    "output = max(input over axes)",
    reduce_max,
    family="reduce_nonempty",
    notes=("NaN wins. A maximum of no elements is INVALID_ARGUMENT, unless the output is empty.",),
    standard=onnx("ReduceMax", 13, "16-bit integers are ours"),
    tolerance=Tolerance(),
    samples=SAMPLES,
    source="ONNX node tests reduce_max_*; NaN by hand",
)

REDUCE_MEAN = reduction(
    43,
    "reduce_mean",
    "Mean over dimensions.",
    "output = sum(input over axes) / count",
    reduce_mean,
    dtypes=FLOATS,
    notes=("NaN spreads. The mean of no elements is NaN.",),
    standard=onnx("ReduceMean", 13, "floats only"),
    tolerance=Tolerance(
        ulps=1.0,
        length=_mean_length,
        magnitude=_absolute_mean,
        reason="Any order of summation: one rounding in the accumulator per element and one more, "
        "relative to the mean of absolute values, and one of the result.",
    ),
    source="ONNX node tests reduce_mean_*; PyTorch's operator_reduced_mean among ONNX's models",
)

REDUCE_PROD = reduction(
    220,
    "reduce_prod",
    "Product over dimensions.",
    "output = product(input over axes)",
    reduce_prod,
    notes=(
        "The dtype stays: integers wrap. An empty product is 1.",
        "A product that overflows or underflows on the way may be infinite, 0 or NaN even where "
        "another order of the factors has a finite result.",
    ),
    standard=onnx("ReduceProd", 18, "8- and 16-bit integers are ours"),
    tolerance=Tolerance(
        ulps=1.0,
        length=row_length,
        magnitude=_absolute_prod,
        reason="Any order of factors: one rounding in the accumulator per element, relative to the "
        "result, which counts as 2**-100 at least, and one of the result.",
    ),
    samples=(
        *(sample for sample in SAMPLES if not sample.fills),
        Sample(shapes=((9, 257),), values={"axes": (1,)}, fills=("positive",)),
        Sample(shapes=((5, 31),), values={"axes": (1,)}, fills=("wide",), dtypes=INTEGERS),
        EMPTY_ROWS,
    ),
    source="ONNX node tests reduce_prod_*; wrapping and NaN by hand",
)

REDUCE_MIN = reduction(
    221,
    "reduce_min",
    "Least element over dimensions.",
    "output = min(input over axes)",
    reduce_min,
    family="reduce_nonempty",
    notes=("NaN wins. A minimum of no elements is INVALID_ARGUMENT, unless the output is empty.",),
    standard=onnx("ReduceMin", 20, "16-bit integers are ours"),
    tolerance=Tolerance(),
    samples=SAMPLES,
    source="ONNX node tests reduce_min_*; NaN by hand",
)


def _truth(number: int, name: str, word: str, semantics: Any, of_nothing: str) -> Any:
    return reduction(
        number,
        name,
        f"Whether {word} true over dimensions.",
        f"output = {name[7:]}(input over axes)",
        semantics,
        dtypes=("bool",),
        notes=(f"Of no elements: {of_nothing}.",),
        tolerance=Tolerance(),
        samples=(
            *(sample for sample in SAMPLES if not sample.fills),
            Sample(shapes=((7, 3),), values={"axes": (1,)}, fills=("wide",)),
            EMPTY_ROWS,
        ),
        source=f"numpy.{name[7:]}",
    )


REDUCE_ANY = _truth(222, "reduce_any", "any element is", reduce_any, "false")
REDUCE_ALL = _truth(223, "reduce_all", "all elements are", reduce_all, "true")

OPERATIONS = (
    REDUCE_SUM,
    REDUCE_MAX,
    REDUCE_MEAN,
    REDUCE_PROD,
    REDUCE_MIN,
    REDUCE_ANY,
    REDUCE_ALL,
)
