"""Picking by value: results are as long as the elements have it."""

from __future__ import annotations

from typing import Any

from ._cost import per_input
from ._forms import INPUT, flag, numbers
from ._model import FLOAT8, FLOATS, INTEGERS, Operand, Sample, Standard
from ._moving import moving
from ._numeric import widen


def nonzero(np: Any, x: Any) -> tuple[Any, Any]:
    """The indices of each element that isn't zero, in row-major order."""
    found = np.argwhere(widen(np, x) != 0)
    return _filled(np, found, x.size), np.asarray(len(found))


def compress(np: Any, x: Any, condition: Any, *, axis: Any) -> tuple[Any, Any]:
    """The slices whose condition holds."""
    rows = np.moveaxis(x, axis[0], 0) if axis else x.reshape(-1)
    found = rows[: len(condition)][condition]
    return _filled(np, found, len(condition)), np.asarray(len(found))


def unique(np: Any, x: Any, *, axis: Any, sorted: int) -> tuple[Any, ...]:
    """Each slice once, where it is first, which one every slice is, and how often it is there."""
    rows = np.moveaxis(x, axis[0], 0) if axis else x.reshape(-1)
    length = len(rows)
    keys = widen(np, rows).reshape(length, int(np.prod(rows.shape[1:])))
    order = np.lexsort(keys.T[::-1]) if keys.size else np.arange(length)
    begins = np.ones(length, bool)
    begins[1:] = ~_equal(np, keys[order][1:], keys[order][:-1]).all(axis=1)
    starts = np.flatnonzero(begins)
    first, counts = order[starts], np.diff(np.append(starts, length))
    inverse = np.empty(length, np.int64)
    inverse[order] = np.cumsum(begins) - 1
    if not sorted:
        turn = np.argsort(first)
        first, counts, inverse = first[turn], counts[turn], np.argsort(turn)[inverse]
    filled = (_filled(np, item, length) for item in (rows[first], first, counts))
    values, first, counts = filled
    return values, np.asarray(len(starts)), first, inverse, counts


def _equal(np: Any, a: Any, b: Any) -> Any:
    """Equal, or both NaN."""
    return (a == b) | ((a != a) & (b != b))


def _filled(np: Any, rows: Any, length: int) -> Any:
    """Zeros behind the rows up to a length."""
    result = np.zeros((length, *rows.shape[1:]), rows.dtype)
    result[: len(rows)] = rows
    return result


_FOUND = Operand(name="count", summary="int64 of rank 0: how many there are.")
_AXIS = numbers(
    "axis",
    "The dimension that slices are numbered along, below 0 from the last; none: each element is a "
    "slice.",
    "axis_count",
    length=1,
    field="int32_t",
    minimum=-8,
    maximum=7,
)

NONZERO = moving(
    259,
    "nonzero",
    nonzero,
    summary="The indices of all elements that aren't zero.",
    formula="output[k, d] = the index in dimension d of the k-th element that isn't 0",
    outputs=(
        Operand(
            name="output",
            summary="int64, [as many as input has elements, rank]; rows behind count are 0.",
            sized=True,
        ),
        _FOUND,
    ),
    count="count",
    notes=("In row-major order. NaN isn't zero; -0.0 is.",),
    standard=Standard(name="NonZero", opset=13, note="a row per element, not a column"),
    flops=per_input(),
    samples=(
        Sample(shapes=((8,),)),
        Sample(shapes=((3, 33),), fills=("special",)),
        Sample(shapes=((),)),
        Sample(shapes=((2, 0),)),
    ),
    source="ONNX node test nonzero_example; numpy.argwhere; NaN by hand",
    no_gradient="its output is no float",
)

COMPRESS = moving(
    260,
    "compress",
    compress,
    summary="The slices whose condition holds.",
    formula="output[k, ...] = the k-th slice of input whose condition is true",
    inputs=(
        INPUT,
        Operand(
            name="condition",
            summary="Rank 1, no longer than there are slices; the others aren't taken.",
            dtypes=("bool",),
        ),
    ),
    outputs=(
        Operand(
            name="output",
            summary="[elements of condition, the other dimensions of input ...]: the axis comes "
            "first. Rows behind count are 0.",
            sized=True,
        ),
        _FOUND,
    ),
    count="count",
    standard=Standard(name="Compress", opset=11, note="the axis becomes the first dimension"),
    attributes=(_AXIS,),
    samples=(
        Sample(shapes=((3, 2), (5,))),
        Sample(shapes=((3, 9), (3,)), values={"axis": (0,)}, fills=("special",)),
        Sample(shapes=((2, 33, 2), (17,)), values={"axis": (1,)}, fills=("wide",)),
        Sample(shapes=((4, 2), (0,)), values={"axis": (-2,)}),
        Sample(shapes=((0,), (0,))),
    ),
    source="ONNX node tests compress_*",
    no_gradient="the data decides how large the result is; gather has a gradient",
)

UNIQUE = moving(
    258,
    "unique",
    unique,
    summary="Each element or slice once, and where and how often it is there.",
    formula="output = the different slices of input; inverse[i] = which of them slice i is",
    outputs=(
        Operand(
            name="output",
            summary="[number of slices, the other dimensions of input ...]: the axis comes first. "
            "Rows behind count are 0.",
            sized=True,
        ),
        _FOUND,
        Operand(
            name="first",
            summary="int64, [number of slices]: where each one is first.",
            optional=True,
            sized=True,
        ),
        Operand(
            name="inverse",
            summary="int64, [number of slices]: which one each slice of input is.",
            optional=True,
        ),
        Operand(
            name="counts",
            summary="int64, [number of slices]: how often each one is there.",
            optional=True,
            sized=True,
        ),
    ),
    count="count",
    dtypes=(*FLOATS, *FLOAT8, *INTEGERS, "bool"),
    notes=("All NaN are one, larger than all else; so are zeros of both signs.",),
    standard=Standard(name="Unique", opset=11, note="the axis becomes the first dimension"),
    attributes=(
        _AXIS,
        flag("sorted", "In ascending order, else in that in which they are first.", default=1),
    ),
    flops=per_input(),
    samples=(
        Sample(shapes=((17,),)),
        Sample(shapes=((3, 33),), values={"sorted": 0}, fills=("special",)),
        Sample(shapes=((9, 1),), values={"axis": (0,)}),
        Sample(shapes=((2, 9, 1),), values={"axis": (1,), "sorted": 0}),
        Sample(shapes=((),)),
        Sample(shapes=((0, 2),), values={"axis": (0,)}),
        Sample(shapes=((2, 0),), values={"axis": (-2,)}),
    ),
    source="ONNX node tests unique_*; numpy.unique; NaN by hand",
    no_gradient="what it gives depends on equality of elements, not on their values",
)

OPERATIONS = (NONZERO, COMPRESS, UNIQUE)
