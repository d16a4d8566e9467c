"""Operations that put the elements of a tensor into another order or shape."""

from __future__ import annotations

from typing import Any

from ._forms import SAME, numbers, one_axis
from ._model import Operand, Sample, Standard
from ._moving import axes, choice, count, moving


def stack(np: Any, *inputs: Any, axis: int) -> Any:
    """One behind the other along a new dimension."""
    return np.stack([array for array in inputs if array is not None], axis=axis)


def tile(np: Any, x: Any, *, repeats: Any) -> Any:
    """The whole, several times along each dimension."""
    return np.tile(x, tuple(repeats))


def flip(np: Any, x: Any, *, axes: Any) -> Any:
    """From the last to the first, along the axes."""
    return np.flip(x, tuple(axes) if axes else None)


def roll(np: Any, x: Any, *, shifts: Any, axes: Any) -> Any:
    """Moves elements; what leaves at one end comes in at the other."""
    if not axes:
        return np.roll(x.reshape(-1), shifts[0]).reshape(x.shape) if shifts else x
    return np.roll(x, tuple(shifts), tuple(axes))


def depth_to_space(np: Any, x: Any, *, block_size: int, mode: int) -> Any:
    """Channels become the pixels of a block."""
    n, c, h, w = x.shape
    depth = c // block_size**2
    if mode:
        parts = x.reshape(n, depth, block_size, block_size, h, w).transpose(0, 1, 4, 2, 5, 3)
    else:
        parts = x.reshape(n, block_size, block_size, depth, h, w).transpose(0, 3, 4, 1, 5, 2)
    return parts.reshape(n, depth, h * block_size, w * block_size)


def space_to_depth(np: Any, x: Any, *, block_size: int, mode: int) -> Any:
    """The pixels of a block become channels: takes depth_to_space back."""
    n, c, h, w = x.shape
    parts = x.reshape(n, c, h // block_size, block_size, w // block_size, block_size)
    order = (0, 1, 3, 5, 2, 4) if mode else (0, 3, 5, 1, 2, 4)
    return parts.transpose(order).reshape(n, c * block_size**2, h // block_size, w // block_size)


STACK = moving(
    264,
    "stack",
    stack,
    summary="Joins tensors along a new dimension.",
    formula="output[..., k, ...] = inputs[k][...]",
    inputs=(Operand(name="inputs", summary="Of equal shapes."),),
    variadic=True,
    output=Operand(name="output", summary="The shape of an input and, at the axis, how many."),
    notes=("1 to 31 inputs.",),
    standard=Standard(name="ConcatFromSequence", opset=11, note="with new_axis 1"),
    attributes=(one_axis("The new dimension of output; below 0 from its last.", 0),),
    samples=(
        Sample(shapes=((3,), (3,))),
        Sample(shapes=((2, 33),) * 3, values={"axis": 1}, fills=("special",)),
        Sample(shapes=((4, 2),), values={"axis": -1}),
        Sample(shapes=((), (), ())),
        Sample(shapes=((2, 0), (2, 0)), values={"axis": 2}),
    ),
    source="numpy.stack; values by hand",
)

TILE = moving(
    266,
    "tile",
    tile,
    summary="Repeats the whole tensor along its dimensions.",
    formula="output[..., i, ...] = input[..., i mod size, ...]",
    output=Operand(name="output", summary="The shape of input times repeats."),
    standard=Standard(name="Tile", opset=13, note="repeats is an attribute"),
    attributes=(numbers("repeats", "How often, one per dimension.", "repeat_count", minimum=0),),
    samples=(
        Sample(shapes=((8,),), values={"repeats": (3,)}),
        Sample(shapes=((3, 11),), values={"repeats": (2, 3)}, fills=("special",)),
        Sample(shapes=((2, 1, 3),), values={"repeats": (1, 4, 0)}),
        Sample(shapes=((),)),
    ),
    source="ONNX node tests tile*",
)

FLIP = moving(
    270,
    "flip",
    flip,
    summary="Reverses the order along dimensions.",
    formula="output[..., i, ...] = input[..., size - 1 - i, ...]",
    output=SAME,
    attributes=(axes("The dimensions to reverse, below 0 from the last; none: all."),),
    family="flip",
    samples=(
        Sample(shapes=((8,),)),
        Sample(shapes=((3, 33),), values={"axes": (1,)}, fills=("special",)),
        Sample(shapes=((2, 3, 4),), values={"axes": (-1, 0)}),
        Sample(shapes=((),)),
        Sample(shapes=((2, 0),)),
    ),
    source="numpy.flip; values by hand",
)

ROLL = moving(
    269,
    "roll",
    roll,
    summary="Moves elements along dimensions; what leaves at one end comes in at the other.",
    formula="output[..., (i + shift) mod size, ...] = input[..., i, ...]",
    output=SAME,
    notes=("Without axes there is one shift, of the elements in row-major order.",),
    attributes=(
        numbers("shifts", "How far, one per dimension; below 0: toward the begin.", "shift_count"),
        axes("The dimensions, below 0 from the last; one may be named again."),
    ),
    samples=(
        Sample(shapes=((8,),), values={"shifts": (3,)}),
        Sample(shapes=((3, 33),), values={"shifts": (-5,), "axes": (1,)}, fills=("special",)),
        Sample(shapes=((4, 3, 2),), values={"shifts": (1, 2, 1), "axes": (-1, 0, 2)}),
        Sample(shapes=((3, 4),), values={"shifts": (-29,)}),
        Sample(shapes=((2, 0),), values={"shifts": (1,), "axes": (1,)}),
        Sample(shapes=((),), values={"shifts": (1,)}),
    ),
    source="numpy.roll; values by hand",
)

_BLOCK = count("block_size", "Height and width of a block.", 0, minimum=0)
_BLOCK_MODE = choice(
    "mode",
    "How a channel of the deep one is numbered.",
    "wia_block_mode_t",
    dcr="By row and column in the block, then channel.",
    crd="By channel, then row and column in the block.",
)

DEPTH_TO_SPACE = moving(
    267,
    "depth_to_space",
    depth_to_space,
    summary="Moves channels into blocks of pixels.",
    formula="output[n, c, y * b + i, x * b + j] = input[n, (i * b + j) * C + c, y, x]; "
    "with crd input[n, (c * b + i) * b + j, y, x]",
    inputs=(Operand(name="input", summary="[n, C * block * block, height, width]."),),
    output=Operand(name="output", summary="[n, C, height * block, width * block]."),
    standard=Standard(name="DepthToSpace", opset=13),
    attributes=(_BLOCK, _BLOCK_MODE),
    config="wia_depth_to_space_config_t",
    samples=(
        Sample(shapes=((1, 8, 2, 3),), values={"block_size": 2}),
        Sample(shapes=((2, 18, 1, 5),), values={"block_size": 3, "mode": 1}, fills=("special",)),
        Sample(shapes=((2, 3, 4, 5),), values={"block_size": 1}),
        Sample(shapes=((0, 4, 2, 0),), values={"block_size": 2}),
    ),
    source="ONNX node tests depthtospace_*",
)

SPACE_TO_DEPTH = moving(
    268,
    "space_to_depth",
    space_to_depth,
    summary="Moves blocks of pixels into channels: takes depth_to_space back.",
    formula="output[n, (i * b + j) * C + c, y, x] = input[n, c, y * b + i, x * b + j]; "
    "with crd output[n, (c * b + i) * b + j, y, x]",
    inputs=(Operand(name="input", summary="[n, C, height * block, width * block]."),),
    output=Operand(name="output", summary="[n, C * block * block, height, width]."),
    standard=Standard(name="SpaceToDepth", opset=28),
    attributes=(_BLOCK, _BLOCK_MODE),
    config="wia_space_to_depth_config_t",
    samples=(
        Sample(shapes=((1, 2, 4, 6),), values={"block_size": 2}),
        Sample(shapes=((2, 2, 3, 9),), values={"block_size": 3, "mode": 1}, fills=("special",)),
        Sample(shapes=((2, 3, 4, 5),), values={"block_size": 1}),
        Sample(shapes=((0, 4, 2, 0),), values={"block_size": 2}),
    ),
    source="ONNX node tests spacetodepth_*",
)

OPERATIONS = (STACK, TILE, FLIP, ROLL, DEPTH_TO_SPACE, SPACE_TO_DEPTH)
