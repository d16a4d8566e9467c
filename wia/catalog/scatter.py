"""Scatter: elements, slices and rows are stored, or combined, at places by number."""

from __future__ import annotations

from typing import Any

from ._cost import elements
from ._forms import SAME, one_axis
from ._indices import checked, positions, store
from ._model import FLOATS, INTEGERS, Operand, Sample, Shape, Standard, Tolerance, Values
from ._moving import choice, moving
from .gather import INDEX_RANGE, gather_elements, gather_nd, indices


def scatter_elements(
    np: Any, x: Any, indices: Any, updates: Any, *, axis: int, reduction: int
) -> Any:
    """Stores where gather_elements picks."""
    places = positions(np, x.shape)
    places = gather_elements(np, places, indices, axis=axis, name="scatter_elements")
    return store(np, x, places, updates, reduction)


def scatter_nd(np: Any, x: Any, indices: Any, updates: Any, *, reduction: int) -> Any:
    """Stores where gather_nd picks."""
    places = positions(np, x.shape)
    places = gather_nd(np, places, indices, batch_dims=0, name="scatter_nd")
    return store(np, x, places, updates, reduction)


def index_add(np: Any, x: Any, indices: Any, updates: Any, *, axis: int) -> Any:
    """Adds each row of the updates to that one which gather would pick."""
    where = f"dimension {axis % x.ndim} of input"
    indices = checked(np, "index_add", indices, x.shape[axis], where)
    return store(np, x, np.take(positions(np, x.shape), indices, axis=axis), updates, 1)


_REDUCTION = choice(
    "reduction",
    "What is done with an update.",
    "wia_scatter_reduction_t",
    none="It replaces the element.",
    add="It is added.",
    mul="The element is multiplied by it.",
    max="The larger one stays; NaN wins.",
    min="The smaller one stays; NaN wins.",
)
_COMBINED = (*FLOATS, *INTEGERS)
_ORDER = (
    "Of several updates of one element that replace it the last one stays, in row-major order; "
    "others are combined in any order. Floats and integers can be combined, and integers wrap; "
    "other dtypes are replaced only."
)


def _updates(shapes: tuple[Shape | None, ...], values: Values) -> int:
    """Updates of one element at most, and that element."""
    return elements(shapes[2]) + 1 if values.get("reduction", 1) else 0


def _magnitude(semantics: Any) -> Any:
    """What the roundings are relative to: the result of absolute values."""

    def of(np: Any, x: Any, indices: Any, updates: Any, **values: Any) -> Any:
        if not values.get("reduction", 1):
            return np.zeros(())
        return semantics(np, abs(x), indices.astype(np.int64), abs(updates), **values)

    return of


def _tolerance(semantics: Any) -> Tolerance:
    return Tolerance(
        ulps=1.0,
        length=_updates,
        magnitude=_magnitude(semantics),
        reason="Updates replace elements exactly. Those that are combined may come in any order: "
        "one rounding each, relative to the result of absolute values.",
    )


def _scatter(
    number: int, name: str, semantics: Any, inputs: tuple[Operand, ...], **more: Any
) -> Any:
    return moving(
        number,
        name,
        semantics,
        inputs=(Operand(name="input", summary="Of rank 1 or more."), *inputs),
        output=SAME,
        tolerance=_tolerance(semantics),
        flops=lambda shapes, out, values: float(
            elements(shapes[2]) if values.get("reduction", 1) else 0
        ),
        **more,
    )


SCATTER_ELEMENTS = _scatter(
    252,
    "scatter_elements",
    scatter_elements,
    (
        indices("Of input's rank; in the other dimensions no larger than input."),
        Operand(name="updates", summary="The shape of indices."),
    ),
    summary="Stores an element for each index, along a dimension.",
    formula="output = input, but output[i, indices[i, j, k], k] = updates[i, j, k], for axis 1",
    notes=(INDEX_RANGE, _ORDER),
    standard=Standard(name="ScatterElements", opset=18, note="Scatter too"),
    attributes=(one_axis("The dimension to store in; below 0 from the last.", 0), _REDUCTION),
    samples=(
        Sample(shapes=((8,), (5,), (5,)), fills=("normal", "index8")),
        Sample(shapes=((3, 33), (3, 9), (3, 9)), values={"axis": 1}, fills=("special", "index33")),
        Sample(
            shapes=((5, 4, 2), (7, 3, 1), (7, 3, 1)),
            values={"reduction": 1},
            fills=("wide", "index5", "wide"),
            dtypes=_COMBINED,
        ),
        Sample(
            shapes=((4, 3), (4, 5), (4, 5)),
            values={"axis": -1, "reduction": 2},
            fills=("positive", "index3", "positive"),
            dtypes=_COMBINED,
        ),
        Sample(
            shapes=((6,), (17,), (17,)),
            values={"reduction": 3},
            fills=("special", "index6", "special"),
            dtypes=_COMBINED,
        ),
        Sample(
            shapes=((6,), (17,), (17,)),
            values={"reduction": 4},
            fills=("wide", "index6", "wide"),
            dtypes=_COMBINED,
        ),
        Sample(shapes=((2, 3), (2, 0), (2, 0)), values={"axis": 1}, fills=("normal", "index3")),
    ),
    source="ONNX node tests scatter_elements_*; repeated places and NaN by hand",
)

SCATTER_ND = _scatter(
    253,
    "scatter_nd",
    scatter_nd,
    (
        indices(
            "Of rank 1 or more; the last dimension holds a tuple, no longer than input's rank."
        ),
        Operand(
            name="updates",
            summary="The shape of indices without the last dimension, then the dimensions of input "
            "behind those that a tuple names.",
        ),
    ),
    summary="Stores slices by tuples of indices.",
    formula="output = input, but output[indices[i, 0], indices[i, 1], ..., ...] = updates[i, ...]",
    notes=(INDEX_RANGE, _ORDER),
    standard=Standard(name="ScatterND", opset=18),
    attributes=(_REDUCTION,),
    samples=(
        Sample(shapes=((8,), (5, 1), (5,)), fills=("normal", "index8")),
        Sample(shapes=((4, 4, 9), (2, 3, 2), (2, 3, 9)), fills=("special", "index4")),
        Sample(
            shapes=((4, 33), (6, 1), (6, 33)),
            values={"reduction": 1},
            fills=("normal", "index4"),
            dtypes=_COMBINED,
        ),
        Sample(
            shapes=((3, 3), (9, 2), (9,)),
            values={"reduction": 2},
            fills=("positive", "index3", "positive"),
            dtypes=_COMBINED,
        ),
        Sample(
            shapes=((3, 2), (7, 1), (7, 2)),
            values={"reduction": 3},
            fills=("special", "index3", "special"),
            dtypes=_COMBINED,
        ),
        Sample(
            shapes=((3, 2), (7, 1), (7, 2)),
            values={"reduction": 4},
            fills=("wide", "index3", "special"),
            dtypes=_COMBINED,
        ),
        Sample(shapes=((3, 2), (0, 1), (0, 2)), fills=("normal", "index3")),
    ),
    source="ONNX node tests scatternd_*; repeated places by hand",
)

INDEX_ADD = _scatter(
    254,
    "index_add",
    index_add,
    (
        indices("Any shape."),
        Operand(
            name="updates", summary="The shape of input, with that of indices in place of the axis."
        ),
    ),
    summary="Adds rows to those of a tensor by their numbers: what gather picks comes back.",
    formula="output = input, but output[..., indices[i], ...] += updates[..., i, ...]",
    dtypes=_COMBINED,
    notes=(INDEX_RANGE, "A row may be named several times. Integers wrap."),
    attributes=(one_axis("The dimension that indices count; below 0 from the last.", 0),),
    samples=(
        Sample(shapes=((8,), (3,), (3,)), fills=("normal", "index8")),
        Sample(shapes=((5, 33), (17,), (17, 33)), fills=("normal", "index5")),
        Sample(
            shapes=((3, 4, 2), (2, 3), (3, 2, 3, 2)),
            values={"axis": 1},
            fills=("special", "index4", "special"),
        ),
        Sample(shapes=((2, 9), (), (2,)), values={"axis": -1}, fills=("wide", "index9", "wide")),
        Sample(shapes=((4, 2), (0,), (0, 2)), fills=("normal", "index4")),
    ),
    source="numpy.add.at; values by hand",
)

OPERATIONS = (SCATTER_ELEMENTS, SCATTER_ND, INDEX_ADD)
