"""Gather: rows, elements and slices are picked by number."""

from __future__ import annotations

from typing import Any

from ._forms import one_axis
from ._indices import checked
from ._model import Operand, Sample, Standard
from ._moving import count, moving


def gather(np: Any, x: Any, indices: Any, *, axis: int) -> Any:
    """The rows that the indices name, in their shape, in place of the axis."""
    where = f"dimension {axis % x.ndim} of input"
    return np.take(x, checked(np, "gather", indices, x.shape[axis], where), axis=axis)


def gather_elements(
    np: Any, x: Any, indices: Any, *, axis: int, name: str = "gather_elements"
) -> Any:
    """An element for each index, which replaces the position along the axis."""
    axis %= x.ndim
    where = f"dimension {axis} of input"
    indices = checked(np, name, indices, x.shape[axis], where)
    near = tuple(
        slice(None) if i == axis else slice(0, size) for i, size in enumerate(indices.shape)
    )
    return np.take_along_axis(x[near], indices, axis=axis)


def gather_nd(np: Any, x: Any, indices: Any, *, batch_dims: int, name: str = "gather_nd") -> Any:
    """A slice for each tuple of indices, the last dimension of ``indices``."""
    tuples = np.moveaxis(indices, -1, 0)
    picked = tuple(
        checked(np, name, part, x.shape[batch_dims + i], f"dimension {batch_dims + i} of input")
        for i, part in enumerate(tuples)
    )
    shape = indices.shape[:-1]
    batch = tuple(
        np.broadcast_to(np.arange(size).reshape(-1, *[1] * (len(shape) - 1 - i)), shape)
        for i, size in enumerate(shape[:batch_dims])
    )
    return x[(*batch, *picked)] if batch or picked else np.broadcast_to(x, (*shape, *x.shape))


INDEX_RANGE = (
    "An index below 0 counts from the end. One that is out of range fails the call, or the "
    "stream, with INVALID_ARGUMENT when the kernel meets it; what was written before it is not "
    "specified."
)
_RANKED = Operand(name="input", summary="Of rank 1 or more.")


def indices(summary: str) -> Operand:
    """The operand that has them."""
    return Operand(name="indices", summary=summary, dtypes=("int64", "int32"))


GATHER = moving(
    47,
    "gather",
    gather,
    summary="Picks rows by their numbers.",
    formula="output[..., i, ...] = input[..., indices[i], ...]",
    inputs=(_RANKED, indices("Any shape.")),
    output=Operand(
        name="output", summary="The shape of input, with that of indices in place of the axis."
    ),
    notes=(INDEX_RANGE,),
    standard=Standard(name="Gather", opset=13),
    attributes=(one_axis("The dimension to pick from; below 0 from the last.", 0),),
    samples=(
        Sample(shapes=((8,), (3,)), fills=("normal", "index8")),
        Sample(shapes=((5, 33), ()), fills=("normal", "index5")),
        Sample(shapes=((3, 4, 2), (2, 3)), values={"axis": 1}, fills=("special", "index4")),
        Sample(shapes=((2, 9), (17,)), values={"axis": -1}, fills=("wide", "index9")),
        Sample(shapes=((4, 2), (4,)), fills=("normal", "index4")),
        Sample(shapes=((4, 2), (0,)), fills=("normal", "index4")),
        Sample(shapes=((3, 0), (2,)), fills=("normal", "index3")),
    ),
    source="ONNX node tests gather_*; out of range by hand",
)

GATHER_ELEMENTS = moving(
    250,
    "gather_elements",
    gather_elements,
    summary="Picks an element for each index, along a dimension.",
    formula="output[i, j, k] = input[i, indices[i, j, k], k], for axis 1",
    inputs=(
        _RANKED,
        indices("Of input's rank; in the other dimensions no larger than input."),
    ),
    output=Operand(name="output", summary="The shape of indices."),
    notes=(INDEX_RANGE,),
    standard=Standard(name="GatherElements", opset=13),
    attributes=(one_axis("The dimension to pick from; below 0 from the last.", 0),),
    samples=(
        Sample(shapes=((8,), (3,)), fills=("normal", "index8")),
        Sample(shapes=((3, 33), (3, 9)), values={"axis": 1}, fills=("special", "index33")),
        Sample(shapes=((5, 4, 2), (7, 3, 1)), fills=("wide", "index5")),
        Sample(shapes=((2, 3), (2, 0)), values={"axis": -1}, fills=("normal", "index3")),
    ),
    source="ONNX node tests gather_elements_*; smaller indices by hand",
)

GATHER_ND = moving(
    251,
    "gather_nd",
    gather_nd,
    summary="Picks slices by tuples of indices.",
    formula="output[i, ...] = input[indices[i, 0], indices[i, 1], ..., ...]",
    inputs=(
        _RANKED,
        indices(
            "Of rank 1 or more; the last dimension holds a tuple, at most as long as input has "
            "dimensions behind those of the batch."
        ),
    ),
    output=Operand(
        name="output",
        summary="The shape of indices without the last dimension, then the dimensions of input "
        "behind those that a tuple names.",
    ),
    notes=(
        INDEX_RANGE,
        "With batch_dims the first dimensions of both are equal, and a tuple picks from the "
        "dimensions behind them.",
    ),
    standard=Standard(name="GatherND", opset=13),
    attributes=(
        count("batch_dims", "How many dimensions are walked through together.", 0, minimum=0),
    ),
    samples=(
        Sample(shapes=((8,), (3, 1)), fills=("normal", "index8")),
        Sample(shapes=((5, 5, 33), (2, 3, 2)), fills=("special", "index5")),
        Sample(
            shapes=((2, 4, 3), (2, 5, 1)),
            values={"batch_dims": 1},
            fills=("wide", "index4"),
        ),
        Sample(shapes=((3, 3), (2,)), fills=("normal", "index3")),
        Sample(shapes=((3, 2), (0, 1)), fills=("normal", "index3")),
    ),
    source="ONNX node tests gathernd_*; tuples of no index by hand",
)

OPERATIONS = (GATHER, GATHER_ELEMENTS, GATHER_ND)
