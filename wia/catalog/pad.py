"""Adding elements around a tensor, or cutting them off."""

from __future__ import annotations

from typing import Any

from ._forms import numbers
from ._model import INT32_MAX, Operand, Sample, Scalar, Standard
from ._moving import choice, moving
from ._numeric import element

_CONSTANT, _REFLECT, _EDGE, _WRAP = range(4)


def pad(np: Any, x: Any, *, pads: Any, mode: int, value: float) -> Any:
    """Adds elements before and behind each dimension."""
    sides = zip(x.shape, pads[: x.ndim], pads[x.ndim :], strict=True)
    lines = [np.arange(-before, size + behind) for size, before, behind in sides]
    if mode == _CONSTANT:
        result = np.full([len(line) for line in lines], element(np, value, x.dtype))
        inside = [(line >= 0) & (line < x.shape[i]) for i, line in enumerate(lines)]
        kept = [line[there] for line, there in zip(lines, inside, strict=True)]
        result[np.ix_(*inside)] = x[np.ix_(*kept)]
        return result
    for axis, line in enumerate(lines):
        x = np.take(x, _origin(np, line, x.shape[axis], mode), axis=axis)
    return x


def _origin(np: Any, line: Any, size: int, mode: int) -> Any:
    """Where the elements at places of a dimension come from."""
    if mode == _EDGE:
        return np.clip(line, 0, size - 1)
    if mode == _WRAP:
        return line % max(size, 1)
    turn = 2 * max(size - 1, 0)
    there = line % max(turn, 1)
    return np.minimum(there, turn - there)


PAD = moving(
    48,
    "pad",
    pad,
    summary="Adds elements around a tensor, or cuts them off.",
    formula="output[..., i, ...] = input[..., i - before, ...], else by the mode",
    output=Operand(name="output", summary="The shape of input and what is added."),
    notes=(
        "What is added comes from input as it is, also where an end of it is cut off. With any "
        "mode but constant there has to be an element to repeat.",
        "The value is rounded to the dtype; integers and bool need one that is whole and in range.",
    ),
    standard=Standard(name="Pad", opset=19, note="pads for all dimensions; CenterCropPad too"),
    attributes=(
        numbers(
            "pads",
            "Elements before each dimension, then those behind each: twice the rank. Below 0: as "
            "many are cut off.",
            "pad_count",
            length=16,
            minimum=-INT32_MAX,
            maximum=INT32_MAX,
        ),
        choice(
            "mode",
            "What the added elements are.",
            "wia_pad_mode_t",
            constant="The value.",
            reflect="Those across the first or last one, back and forth.",
            edge="The first or last one.",
            wrap="Those of the other end, round and round.",
        ),
    ),
    scalars=(Scalar(name="value", summary="What to add with the mode constant.", default=0.0),),
    samples=(
        Sample(shapes=((5,),), values={"pads": (1, 2)}),
        Sample(shapes=((3, 33),), values={"pads": (0, 2, 1, 0), "value": 1.0}, fills=("special",)),
        Sample(shapes=((4, 3),), values={"pads": (3, 0, 1, 2), "mode": 1}, fills=("wide",)),
        Sample(shapes=((2, 3, 1),), values={"pads": (1, 0, 4, 0, 3, 0), "mode": 2}),
        Sample(shapes=((0, 2),), values={"pads": (1, 1, 0, 0)}),
        Sample(shapes=((),), values={"pads": ()}),
        Sample(shapes=((5, 4),), values={"pads": (-2, 1, 3, -1)}),
        Sample(shapes=((5, 2),), values={"pads": (-4, 3, 3, -1), "mode": 1}),
        Sample(shapes=((3, 2),), values={"pads": (4, -1, -2, 5), "mode": 3}, fills=("special",)),
    ),
    source="ONNX node tests constant_pad*, edge_pad, reflect_pad and center_crop_pad_*; "
    "numpy.pad; values by hand",
)

OPERATIONS = (PAD,)
