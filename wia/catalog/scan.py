"""Running results along an axis: each element is that of all elements up to it."""

from __future__ import annotations

from typing import Any

from ._cost import per_output
from ._forms import EXACT, SAME, flag, one_axis, onnx
from ._model import (
    FLOATS,
    INTEGERS,
    Operand,
    Operation,
    Sample,
    Shape,
    Tolerance,
    Values,
)
from ._numeric import narrow, widen


def _scanned(name: str, first: int) -> Any:
    """Semantics of a ufunc that is accumulated; ``first`` is what nothing gives."""

    def semantics(np: Any, x: Any, *, axis: int, exclusive: int, reverse: int) -> Any:
        wide = widen(np, x)
        wide = np.flip(wide, axis) if reverse else wide
        total = getattr(np, name).accumulate(wide, axis=axis, dtype=wide.dtype)
        if exclusive:
            total = np.roll(total, 1, axis)
            if total.size:
                np.moveaxis(total, axis, 0)[0] = first
        total = np.flip(total, axis) if reverse else total
        return narrow(np, total, x.dtype)

    return semantics


cumsum = _scanned("add", 0)
cumprod = _scanned("multiply", 1)


def log_cumsum_exp(np: Any, x: Any, *, axis: int) -> Any:
    """Logarithm of the sum of exponentials of all elements up to each."""
    return narrow(np, np.logaddexp.accumulate(widen(np, x), axis=axis), x.dtype)


def cummax(np: Any, x: Any, *, axis: int) -> tuple[Any, Any]:
    """Largest of all elements up to each, and where the last of them is."""
    return _extremes(np, x, axis, np.maximum, np.greater_equal)


def cummin(np: Any, x: Any, *, axis: int) -> tuple[Any, Any]:
    """Least of all elements up to each, and where the last of them is."""
    return _extremes(np, x, axis, np.minimum, np.less_equal)


def _extremes(np: Any, x: Any, axis: int, function: Any, order: Any) -> tuple[Any, Any]:
    wide = np.moveaxis(widen(np, x), axis, 0)
    best = function.accumulate(wide, axis=0)
    before = np.concatenate([wide[:1], best[:-1]])
    not_number = wide != wide
    taken = not_number | (order(wide, before) & (before == before))
    numbers = np.arange(wide.shape[0]).reshape(-1, *(1,) * (wide.ndim - 1))
    places = np.maximum.accumulate(np.where(taken, numbers, 0), axis=0)
    best, places = np.moveaxis(best, 0, axis), np.moveaxis(places, 0, axis)
    return best.astype(x.dtype), places.astype(np.int64)


def _length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    return (shapes[0] or (1,))[values["axis"]]


def _absolute(semantics: Any, least: float) -> Any:
    def magnitude(np: Any, x: Any, **values: Any) -> Any:
        return np.maximum(semantics(np, np.abs(x), **values), least)

    return magnitude


_AXIS = one_axis("The dimension to go along; below 0 from the last.")
_INPUT = Operand(name="input", summary="Rank 1 or more.")
_SAMPLES = (
    Sample(shapes=((8,),)),
    Sample(shapes=((3, 33, 2),), values={"axis": 1}),
    Sample(shapes=((4, 257),)),
    Sample(shapes=((2, 0),)),
    Sample(shapes=((0, 3),)),
    Sample(shapes=((9, 5),), values={"axis": 0}, fills=("positive",)),
)
_WIDE = (
    Sample(shapes=((65, 2),), values={"axis": 0}, fills=("wide",)),
    Sample(shapes=((3, 31),), fills=("special",)),
)


def _scan(
    number: int, name: str, summary: str, formula: str, semantics: Any, **more: Any
) -> Operation:
    given: dict[str, Any] = {
        "inputs": (_INPUT,),
        "outputs": (SAME,),
        "family": "along_axis",
        "dtypes": (*FLOATS, *INTEGERS),
        "attributes": (_AXIS,),
        "config": "wia_scan_config_t",
        "flops": per_output(),
        "samples": (*_SAMPLES, *_WIDE),
        **more,
    }
    return Operation(
        number=number, name=name, summary=summary, formula=formula, semantics=semantics, **given
    )


_SUMMED: dict[str, Any] = {
    "attributes": (
        _AXIS,
        flag("exclusive", "1: an element is that of the elements before it, without itself."),
        flag("reverse", "1: from the last element to the first."),
    ),
    "config": "wia_cumsum_config_t",
}
_WAYS = tuple(
    Sample(shapes=((5, 7),), values={"axis": 0, "exclusive": exclusive, "reverse": reverse})
    for exclusive in (0, 1)
    for reverse in (0, 1)
)

CUMSUM = _scan(
    230,
    "cumsum",
    "Running sum along a dimension.",
    "output[..., i, ...] = sum_(j <= i) input[..., j, ...]",
    cumsum,
    notes=("The dtype stays: integers wrap. NaN and infinity spread to all that follow.",),
    standard=onnx("CumSum", 14, "axis is an attribute; 8- and 16-bit integers are ours"),
    tolerance=Tolerance(
        ulps=1.0,
        length=_length,
        magnitude=_absolute(cumsum, 0.0),
        reason="One rounding in the accumulator per element of the axis, relative to the running "
        "sum of absolute values, and one of the result.",
    ),
    samples=(*_SAMPLES, *_WIDE, *_WAYS),
    source="ONNX node tests cumsum_*; wrapping by hand",
    **_SUMMED,
)

CUMPROD = _scan(
    231,
    "cumprod",
    "Running product along a dimension.",
    "output[..., i, ...] = product_(j <= i) input[..., j, ...]",
    cumprod,
    notes=("The dtype stays: integers wrap.",),
    standard=onnx("CumProd", 26, "axis is an attribute; 8- and 16-bit integers are ours"),
    tolerance=Tolerance(
        ulps=1.0,
        length=_length,
        magnitude=_absolute(cumprod, 2.0**-100),
        reason="One rounding in the accumulator per element of the axis, relative to the result, "
        "which counts as 2**-100 at least, and one of the result.",
    ),
    samples=(
        *(sample for sample in _SAMPLES if sample.shapes != ((4, 257),)),
        *_WAYS,
        Sample(shapes=((5, 31),), fills=("wide",), dtypes=INTEGERS),
    ),
    source="ONNX node tests cumprod_*; wrapping by hand",
    **_SUMMED,
)

LOG_CUMSUM_EXP = _scan(
    232,
    "log_cumsum_exp",
    "Logarithm of the running sum of exponentials along a dimension.",
    "output[..., i, ...] = ln(sum_(j <= i) e^input[..., j, ...])",
    log_cumsum_exp,
    dtypes=FLOATS,
    flops=per_output(3.0),
    notes=("Nothing overflows on the way. NaN spreads to all that follow.",),
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: 4 * _length(shapes, values) + 8,
        magnitude=lambda np, x, **values: 1.0 + np.abs(log_cumsum_exp(np, x, **values)),
        reason="Four roundings in the accumulator per element of the axis and eight more, relative "
        "to 1 and the absolute result together, and one of the result.",
    ),
    source="numpy.logaddexp.accumulate; scipy.special.logsumexp of each beginning",
)


def _extreme(number: int, name: str, word: str, semantics: Any) -> Operation:
    return _scan(
        number,
        name,
        f"Running {word} element along a dimension, and where it is.",
        f"values[..., i, ...] = {name[3:]}_(j <= i) input[..., j, ...]",
        semantics,
        outputs=(
            Operand(name="values", summary="The shape of input."),
            Operand(name="indices", summary="int64; the shape of input."),
        ),
        notes=(
            "NaN wins, and stays. Of equals, and of NaNs, the index is that of the last one so "
            "far.",
        ),
        tolerance=EXACT,
        source=f"numpy.{name[3:]}imum.accumulate; places by hand, as torch.{name} has them",
    )


CUMMAX = _extreme(233, "cummax", "largest", cummax)
CUMMIN = _extreme(234, "cummin", "least", cummin)

OPERATIONS = (CUMSUM, CUMPROD, LOG_CUMSUM_EXP, CUMMAX, CUMMIN)
