"""What reductions are made of: an array seen as rows, one for each element of the result."""

from __future__ import annotations

from typing import Any

from ._cost import elements, per_input
from ._forms import AXES, INPUT, KEEPDIMS
from ._model import FLOATS, INTEGERS, Operand, Operation, Sample, Shape, Values


def rows_of(np: Any, array: Any, axes: Any, keepdims: int) -> tuple[Any, Shape]:
    """The array with the reduced dimensions as one last dimension, and the result's shape."""
    chosen = {axis % array.ndim for axis in axes} if axes else set(range(array.ndim))
    kept = [axis for axis in range(array.ndim) if axis not in chosen]
    moved = np.transpose(array, (*kept, *sorted(chosen)))
    size = elements(tuple(array.shape[axis] for axis in chosen))
    rows = np.ascontiguousarray(moved.reshape(*(array.shape[axis] for axis in kept), size))
    shape = tuple(
        1 if axis in chosen else array.shape[axis]
        for axis in range(array.ndim)
        if keepdims or axis not in chosen
    )
    return rows, shape


def row_length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    """The elements that each element of the result is made of."""
    shape, axes = shapes[0] or (), values["axes"]
    return elements(tuple(shape[axis] for axis in axes) if axes else shape)


SAMPLES = (
    Sample(shapes=((8,),)),
    Sample(shapes=((3, 33, 2),), values={"axes": (1,)}),
    Sample(shapes=((3, 4, 5),), values={"axes": (-1, 0), "keepdims": 1}),
    Sample(shapes=((),)),
    Sample(shapes=((9, 257),), values={"axes": (1,)}, fills=("wide",)),
    Sample(shapes=((2, 0, 3),), values={"axes": (0,)}),
    Sample(shapes=((4, 31),), values={"axes": (1,)}, fills=("special",)),
)
EMPTY_ROWS = Sample(shapes=((2, 0),), values={"axes": (1,)})


def reduction(
    number: int, name: str, summary: str, formula: str, semantics: Any, **more: Any
) -> Operation:
    """An entry that removes axes, or makes them 1: floats and integers unless said otherwise."""
    given: dict[str, Any] = {
        "inputs": (INPUT,),
        "outputs": (
            Operand(name="output", summary="The shape of input without the reduced dimensions."),
        ),
        "family": "reduce",
        "dtypes": (*FLOATS, *INTEGERS),
        "attributes": (AXES, KEEPDIMS),
        "config": "wia_reduce_config_t",
        "flops": per_input(),
        "samples": (*SAMPLES, EMPTY_ROWS),
        **more,
    }
    return Operation(
        number=number, name=name, summary=summary, formula=formula, semantics=semantics, **given
    )
