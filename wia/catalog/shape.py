"""Operations that move elements and leave them as they are."""

from __future__ import annotations

from typing import Any

from ._cost import moves_only
from ._forms import COPIED, INPUT, target_shape
from ._model import (
    ANY,
    Attribute,
    Operand,
    Operation,
    Sample,
    Standard,
)


def broadcast(np: Any, x: Any, *, shape: Any) -> Any:
    """Repeats along dimensions of size 1 and new leading ones."""
    return np.broadcast_to(x, shape)


def transpose(np: Any, x: Any, *, perm: Any) -> Any:
    """Dimension i of the result is dimension perm[i] of the input."""
    return np.transpose(x, tuple(perm) if perm else None)


def reshape(np: Any, x: Any, *, shape: Any) -> Any:
    """The same elements in row-major order under another shape."""
    return x.reshape(shape)


def _move(number: int, name: str, semantics: Any, **more: Any) -> Operation:
    return Operation(
        number=number,
        name=name,
        inputs=(INPUT,),
        family=name,
        dtypes=ANY,
        semantics=semantics,
        tolerance=COPIED,
        flops=moves_only,
        **more,
    )


BROADCAST = _move(
    11,
    "broadcast",
    broadcast,
    summary="Repeats a tensor to a larger shape.",
    formula="output[..., i, ...] = input[..., i or 0, ...]",
    outputs=(Operand(name="output", summary="The shape that was asked for."),),
    notes=(
        "By numpy's rules: dimensions are matched from the last; one of size 1 is repeated, and "
        "missing leading ones are added.",
    ),
    standard=Standard(name="Expand", opset=13, note="one way: the shape is that of the result"),
    attributes=(target_shape("The shape of the result"),),
    samples=(
        Sample(shapes=((3, 1),), values={"shape": (2, 3, 4)}),
        Sample(shapes=((),), values={"shape": (5,)}),
        Sample(shapes=((7,),), values={"shape": (7,)}),
        Sample(shapes=((1, 3),), values={"shape": (0, 3)}),
        Sample(shapes=((1,),), values={"shape": (33,)}, fills=("special",)),
    ),
    source="ONNX node tests expand_*",
)

TRANSPOSE = _move(
    12,
    "transpose",
    transpose,
    summary="Permutes dimensions.",
    formula="output[i_perm[0], i_perm[1], ...] = input[i_0, i_1, ...]",
    outputs=(Operand(name="output", summary="The shape of input, permuted."),),
    standard=Standard(name="Transpose", opset=13),
    attributes=(
        Attribute(
            name="perm",
            summary="Dimension i of the output is dimension perm[i] of input; none: reversed.",
            default=(),
            length=8,
            variable=True,
            length_field="perm_count",
            maximum=7,
        ),
    ),
    config="wia_transpose_config_t",
    samples=(
        Sample(shapes=((3, 4),)),
        Sample(shapes=((2, 3, 5),), values={"perm": (1, 2, 0)}),
        Sample(shapes=((31,),)),
        Sample(shapes=((2, 3, 4, 5),), values={"perm": (0, 2, 1, 3)}, fills=("special",)),
        Sample(shapes=((0, 3),)),
        Sample(shapes=((),)),
    ),
    source="ONNX node tests transpose_*; PyTorch's operator_permute2 among ONNX's models",
)

RESHAPE = _move(
    13,
    "reshape",
    reshape,
    summary="Gives the elements another shape, in row-major order.",
    formula="output.flat[i] = input.flat[i]",
    outputs=(
        Operand(name="output", summary="The shape that was asked for, with as many elements."),
    ),
    notes=("The result is a copy; wia_view_tensor() gives a view.",),
    standard=Standard(name="Reshape", opset=14, note="0 is a size, as with allowzero=1"),
    attributes=(target_shape("The shape of the result, one size at most -1: what is left", -1),),
    samples=(
        Sample(shapes=((3, 4),), values={"shape": (2, 6)}),
        Sample(shapes=((2, 3, 4),), values={"shape": (4, -1)}),
        Sample(shapes=((1,),), values={"shape": ()}),
        Sample(shapes=((33,),), values={"shape": (3, 1, 11)}, fills=("special",)),
        Sample(shapes=((0, 3),), values={"shape": (5, 0)}),
    ),
    source="ONNX node tests reshape_*",
)

OPERATIONS = (BROADCAST, TRANSPOSE, RESHAPE)
