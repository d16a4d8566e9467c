"""Reductions of a function of the elements: norms, logarithms of sums, variance."""

from __future__ import annotations

from typing import Any

from ._cost import per_input
from ._forms import onnx
from ._model import FLOATS, Attribute, Sample, Shape, Tolerance, Values
from ._numeric import narrow, widen
from ._rows import EMPTY_ROWS, SAMPLES, reduction, row_length, rows_of

_LARGEST = 2.0**127
"""Squares above it don't fit into an accumulator of float32."""


def _reduced(function: Any) -> Any:
    """Semantics of function(np, rows) over wide rows, rounded once."""

    def semantics(np: Any, x: Any, *, axes: Any, keepdims: int, **values: Any) -> Any:
        rows, shape = rows_of(np, widen(np, x), axes, keepdims)
        return narrow(np, function(np, rows, **values), x.dtype).reshape(shape)

    return semantics


def _sum_square(np: Any, rows: Any) -> Any:
    return (rows * rows).sum(axis=-1)


def _l1(np: Any, rows: Any) -> Any:
    return np.abs(rows).sum(axis=-1)


def _l2(np: Any, rows: Any) -> Any:
    return np.sqrt(_sum_square(np, rows))


def _log_sum(np: Any, rows: Any) -> Any:
    return np.log(rows.sum(axis=-1))


def _log_sum_exp(np: Any, rows: Any) -> Any:
    largest = rows.max(axis=-1, initial=-np.inf)
    shift = np.where(np.isfinite(largest), largest, 0.0)
    return np.log(np.exp(rows - shift[..., None]).sum(axis=-1)) + shift


def _var(np: Any, rows: Any, correction: float) -> Any:
    count = np.float64(rows.shape[-1])
    centred = rows - rows.sum(axis=-1, keepdims=True) / count
    return _sum_square(np, centred) / np.maximum(count - correction, 0.0)


def _at_least(function: Any, least: float) -> Any:
    return lambda np, rows: np.maximum(function(np, rows), least)


def _l2_magnitude(np: Any, rows: Any) -> Any:
    squares = _sum_square(np, rows)
    return np.where(squares < _LARGEST, np.maximum(np.sqrt(squares), 2.0**-40), np.inf)


def _log_sum_magnitude(np: Any, rows: Any) -> Any:
    total = rows.sum(axis=-1)
    return _l1(np, rows) / np.abs(total) + np.abs(np.log(np.abs(total)))


def _log_sum_exp_magnitude(np: Any, rows: Any) -> Any:
    return 1.0 + np.abs(_log_sum_exp(np, rows))


def _var_magnitude(np: Any, rows: Any, correction: float) -> Any:
    count = np.float64(rows.shape[-1])
    mean = _l1(np, rows) / count
    centred = np.abs(rows - rows.sum(axis=-1, keepdims=True) / count)
    variance = _sum_square(np, centred) / np.maximum(count - correction, 0.0)
    offset = 2.0 * mean * centred.sum(axis=-1) / np.maximum(count - correction, 0.0)
    return variance + offset + mean * mean * count * 2.0**-24


def _length(more: int) -> Any:
    def length(shapes: tuple[Shape | None, ...], values: Values) -> int:
        return row_length(shapes, values) + more

    return length


def _tolerance(more: int, magnitude: Any, reason: str) -> Tolerance:
    return Tolerance(
        ulps=1.0,
        length=_length(more),
        magnitude=_reduced(magnitude),
        reason=f"One rounding in the accumulator per element and {more} more, {reason}; and one of "
        "the result.",
    )


_TAME = tuple(sample for sample in SAMPLES if "special" not in sample.fills)
_POSITIVE = (
    Sample(shapes=((8,),), fills=("positive",)),
    Sample(shapes=((3, 33, 2),), values={"axes": (1,)}, fills=("positive",)),
    Sample(shapes=((3, 4, 5),), values={"axes": (-1, 0), "keepdims": 1}, fills=("positive",)),
    Sample(shapes=((),), fills=("positive",)),
    Sample(shapes=((9, 257),), values={"axes": (1,)}, fills=("positive",)),
    Sample(shapes=((2, 0, 3),), values={"axes": (0,)}),
    EMPTY_ROWS,
)

REDUCE_LOG_SUM = reduction(
    224,
    "reduce_log_sum",
    "Logarithm of the sum over dimensions.",
    "output = ln(sum(input over axes))",
    _reduced(_log_sum),
    dtypes=FLOATS,
    notes=("A sum below 0 gives NaN, one of 0, or of nothing, -infinity; NaN stays.",),
    standard=onnx("ReduceLogSum", 18, "floats only"),
    tolerance=_tolerance(
        8, _log_sum_magnitude, "relative to how far the sum cancels, and to the result"
    ),
    samples=_POSITIVE,
    source="ONNX node tests reduce_log_sum*; nothing, negative sums and NaN by hand",
)

REDUCE_LOG_SUM_EXP = reduction(
    225,
    "reduce_log_sum_exp",
    "Logarithm of the sum of exponentials over dimensions.",
    "output = ln(sum(e^input over axes))",
    _reduced(_log_sum_exp),
    dtypes=FLOATS,
    flops=per_input(3.0),
    notes=(
        "The largest element is taken out first: nothing overflows. NaN spreads; of nothing, or of "
        "-infinity alone, it is -infinity.",
    ),
    standard=onnx("ReduceLogSumExp", 18, "floats only"),
    tolerance=_tolerance(
        12, _log_sum_exp_magnitude, "relative to 1 and the absolute result together"
    ),
    source="ONNX node tests reduce_log_sum_exp_*; scipy.special.logsumexp",
)

REDUCE_SUM_SQUARE = reduction(
    226,
    "reduce_sum_square",
    "Sum of squares over dimensions.",
    "output = sum(input^2 over axes)",
    _reduced(_sum_square),
    flops=per_input(2.0),
    notes=("The dtype stays: integers wrap. Of nothing it is 0.",),
    standard=onnx("ReduceSumSquare", 18, "8- and 16-bit integers are ours"),
    tolerance=_tolerance(1, _at_least(_sum_square, 2.0**-100), "relative to the result"),
    source="ONNX node tests reduce_sum_square_*; wrapping by hand",
)

REDUCE_L1 = reduction(
    227,
    "reduce_l1",
    "Sum of absolute values over dimensions.",
    "output = sum(|input| over axes)",
    _reduced(_l1),
    notes=("The dtype stays: integers wrap. Of nothing it is 0.",),
    standard=onnx("ReduceL1", 18, "8- and 16-bit integers are ours"),
    tolerance=_tolerance(0, _l1, "relative to the result"),
    source="ONNX node tests reduce_l1_*; wrapping by hand",
)

REDUCE_L2 = reduction(
    228,
    "reduce_l2",
    "Euclidean norm over dimensions.",
    "output = sqrt(sum(input^2 over axes))",
    _reduced(_l2),
    dtypes=FLOATS,
    flops=per_input(2.0),
    notes=("NaN and infinity spread. Of nothing it is 0. Squares may overflow on the way.",),
    standard=onnx("ReduceL2", 18, "floats only"),
    tolerance=_tolerance(4, _l2_magnitude, "relative to the result, unless the squares overflow"),
    source="ONNX node tests reduce_l2_*; numpy.linalg.norm",
)

REDUCE_VAR = reduction(
    229,
    "reduce_var",
    "Variance over dimensions.",
    "output = sum((input - mean)^2 over axes) / (count - correction)",
    _reduced(_var),
    dtypes=FLOATS,
    attributes=(
        *REDUCE_L1.attributes,
        Attribute(
            name="correction",
            summary="What is taken off the count: 0 for a population, 1 for a sample of it.",
            default=0,
            maximum=2**31 - 1,
            field="int64_t",
        ),
    ),
    config="wia_reduce_var_config_t",
    flops=per_input(4.0),
    notes=("A divisor of 0 or below counts as 0: NaN or infinity. NaN and infinity give NaN.",),
    tolerance=_tolerance(
        6, _var_magnitude, "relative to the variance and to the mean times the deviations"
    ),
    samples=(
        *_TAME,
        EMPTY_ROWS,
        Sample(shapes=((5, 9),), values={"axes": (0,), "correction": 1}),
        Sample(shapes=((1, 9),), values={"axes": (0,), "correction": 1}),
    ),
    source="numpy.var, also with ddof",
)

OPERATIONS = (
    REDUCE_LOG_SUM,
    REDUCE_LOG_SUM_EXP,
    REDUCE_SUM_SQUARE,
    REDUCE_L1,
    REDUCE_L2,
    REDUCE_VAR,
)
