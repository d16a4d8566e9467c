"""Operations that sort, or search in what is sorted."""

from __future__ import annotations

from typing import Any

from ._cost import elements
from ._forms import SAME, flag, one_axis
from ._model import FLOAT8, FLOATS, INTEGERS, Operand, Sample, Shape, Standard, Values
from ._moving import count, moving
from ._numeric import widen

_ORDERED = (*FLOATS, *FLOAT8, *INTEGERS, "bool")


def argsort(np: Any, x: Any, *, axis: int, descending: int) -> Any:
    """The index of each element in sorted order; equals stay in theirs."""
    wide = widen(np, x)
    if not descending:
        return np.argsort(wide, axis=axis, kind="stable")
    backward = np.argsort(np.flip(wide, axis), axis=axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - backward, axis)


def sort(np: Any, x: Any, *, axis: int, descending: int) -> Any:
    """The elements in sorted order."""
    order = argsort(np, x, axis=axis, descending=descending)
    return np.take_along_axis(x, order, axis=axis)


def top_k(np: Any, x: Any, *, k: int, axis: int, largest: int, sorted: int) -> Any:
    """The first k elements in descending or ascending order, and their indices."""
    order = argsort(np, x, axis=axis, descending=largest)
    order = np.take(order, np.arange(k), axis=axis)
    if not sorted:
        order = np.sort(order, axis=axis)
    return np.take_along_axis(x, order, axis=axis), order


def searchsorted(np: Any, boundaries: Any, values: Any, *, right: int) -> Any:
    """Where each value would be put in, so that the boundaries stay sorted."""
    side = "right" if right else "left"
    rows, wanted = widen(np, boundaries), widen(np, values)
    if rows.ndim == 1:
        return np.searchsorted(rows, wanted, side=side).astype(np.int64)
    result = np.empty(values.shape, np.int64)
    for place in np.ndindex(rows.shape[:-1]):
        result[place] = np.searchsorted(rows[place], wanted[place], side=side)
    return result


def _comparisons(shapes: tuple[Shape | None, ...], out: Shape, values: Values) -> float:
    """n log n."""
    total = elements(shapes[0])
    return float(total * max(total.bit_length(), 1))


_ANY_RANK = Operand(name="input", summary="Of rank 1 or more.")
_AXIS = one_axis("The dimension to sort; below 0 from the last.", -1)
_DESCENDING = flag("descending", "The largest first.")
_RULE = (
    "NaN is larger than all else, zeros of both signs are equal, and equals stay in their order."
)


def _samples(**values: Any) -> tuple[Sample, ...]:
    return (
        Sample(shapes=((8,),), values=values),
        Sample(shapes=((3, 33),), values={**values, "descending": 1}, fills=("special",)),
        Sample(shapes=((5, 4, 3),), values={**values, "axis": 1}),
        Sample(shapes=((9, 2),), values={**values, "axis": 0, "descending": 1}, fills=("wide",)),
        Sample(shapes=((2, 0),), values=values),
    )


SORT = moving(
    255,
    "sort",
    sort,
    summary="Sorts along a dimension.",
    formula="output = the elements of input in ascending or descending order",
    inputs=(_ANY_RANK,),
    output=SAME,
    family="sort",
    dtypes=_ORDERED,
    notes=(_RULE,),
    attributes=(_AXIS, _DESCENDING),
    config="wia_sort_config_t",
    flops=_comparisons,
    samples=_samples(),
    source="numpy.sort; NaN and equals by hand",
)

ARGSORT = moving(
    256,
    "argsort",
    argsort,
    summary="Indices that sort along a dimension.",
    formula="output = the indices of input's elements in ascending or descending order",
    inputs=(_ANY_RANK,),
    output=Operand(name="output", summary="int64; the shape of input."),
    family="sort",
    dtypes=_ORDERED,
    notes=(_RULE,),
    attributes=(_AXIS, _DESCENDING),
    config="wia_sort_config_t",
    flops=_comparisons,
    samples=_samples(),
    source="numpy.argsort; NaN and equals by hand",
    no_gradient="its output is no float",
)

TOP_K = moving(
    257,
    "top_k",
    top_k,
    summary="The largest or smallest elements along a dimension, and their indices.",
    formula="output = the first k elements in sorted order, indices = where they are in input",
    inputs=(_ANY_RANK,),
    outputs=(
        Operand(name="output", summary="The shape of input with k in place of the axis."),
        Operand(name="indices", summary="int64; the shape of output.", optional=True),
    ),
    dtypes=_ORDERED,
    notes=(_RULE, "Not sorted: in the order in which they stand in input."),
    standard=Standard(name="TopK", opset=24, note="k is an attribute"),
    attributes=(
        count("k", "How many; no more than there are.", 1, minimum=0),
        one_axis("The dimension to search; below 0 from the last.", -1),
        flag("largest", "The largest, else the smallest.", default=1),
        flag("sorted", "From the first to the last.", default=1),
    ),
    flops=_comparisons,
    samples=(
        Sample(shapes=((8,),), values={"k": 3}),
        Sample(shapes=((3, 33),), values={"k": 5}, fills=("special",)),
        Sample(shapes=((5, 4, 3),), values={"k": 2, "axis": 1, "largest": 0}),
        Sample(shapes=((9, 2),), values={"k": 9, "axis": 0, "sorted": 0}, fills=("wide",)),
        Sample(shapes=((2, 0),), values={"k": 0}),
        Sample(shapes=((4, 6),), values={"k": 4, "largest": 0, "sorted": 0}, fills=("special",)),
    ),
    source="ONNX node tests top_k*; NaN and equals by hand",
)

SEARCHSORTED = moving(
    262,
    "searchsorted",
    searchsorted,
    summary="Where values belong in what is sorted.",
    formula="output = how many boundaries are less than the value; with right, or equal",
    inputs=(
        Operand(
            name="boundaries",
            summary="Rank 1, or as many rows as values; ascending along the last dimension.",
        ),
        Operand(name="values", summary="Any shape."),
    ),
    output=Operand(name="output", summary="int64; the shape of values."),
    dtypes=_ORDERED,
    notes=("NaN is larger than all else. Of boundaries out of order the result isn't specified.",),
    attributes=(flag("right", "Behind equal boundaries, else in front of them."),),
    flops=_comparisons,
    samples=(
        Sample(shapes=((8,), (3, 4)), fills=("ascending",)),
        Sample(shapes=((33,), (9,)), values={"right": 1}, fills=("ascending",)),
        Sample(shapes=((2, 3, 5), (2, 3, 7)), fills=("ascending",)),
        Sample(shapes=((6,), ()), fills=("ascending", "special")),
        Sample(shapes=((0,), (2,))),
    ),
    source="numpy.searchsorted",
    no_gradient="its output is no float",
)

OPERATIONS = (SORT, ARGSORT, TOP_K, SEARCHSORTED)
