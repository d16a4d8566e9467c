"""Gated units: one half of a tensor times an activation of the other."""

from __future__ import annotations

from typing import Any

from ._cost import elements
from ._forms import relative
from ._model import FLOATS, Attribute, Choice, Operand, Operation, Sample, Shape, Values
from ._numeric import narrow, widen
from .functions import gelu, sigmoid, silu

_GELU = 2
_ACTIVATIONS = (
    ("SIGMOID", "1 / (1 + e^-b): GLU.", sigmoid),
    ("SILU", "b / (1 + e^-b): SwiGLU.", silu),
    ("GELU", "gelu(b): GEGLU.", lambda np, x: gelu(np, x, approximate=0)),
    ("RELU", "max(b, 0): ReGLU.", lambda np, x: np.maximum(x, 0.0)),
    ("NONE", "b itself: bilinear.", lambda np, x: x),
)


def glu(np: Any, x: Any, *, axis: int, activation: int) -> Any:
    """The first half of a dimension times an activation of the second."""
    first, gate = np.split(widen(np, x), 2, axis=axis)
    return narrow(np, first * _ACTIVATIONS[activation][2](np, np.ascontiguousarray(gate)), x.dtype)


def _parts(np: Any, x: Any, *, axis: int, activation: int) -> Any:
    """The size of the product, with that of b in place of gelu(b), whose sum may cancel."""
    first, gate = np.split(x, 2, axis=axis)
    made = gate if activation == _GELU else _ACTIVATIONS[activation][2](np, gate)
    return np.abs(first) * np.maximum(np.abs(made), 2.0**-100)


def _count(shapes: tuple[Shape | None, ...], out: Shape, values: Values) -> float:
    return 2.0 * elements(out)


def _sample(shape: Shape, fill: str = "normal", axis: int = -1, activation: int = 0) -> Sample:
    return Sample(shapes=(shape,), values={"axis": axis, "activation": activation}, fills=(fill,))


GLU = Operation(
    number=159,
    name="glu",
    summary="Gated linear unit: half of a tensor times an activation of the other half.",
    formula="output = a * activation(b), with a and b the halves of input along the axis",
    inputs=(Operand(name="input", summary="Rank 1 or more; the size along the axis is even."),),
    outputs=(Operand(name="output", summary="The shape of input with half the size."),),
    family="glu",
    dtypes=FLOATS,
    semantics=glu,
    notes=("NaN stays. 0 times infinity is NaN, as the formula says.",),
    attributes=(
        Attribute(
            name="axis",
            summary="The dimension that is cut in two; below 0 from the last.",
            default=-1,
            minimum=-8,
            maximum=7,
        ),
        Attribute(
            name="activation",
            summary="What the second half goes through.",
            default=0,
            maximum=len(_ACTIVATIONS) - 1,
            enum="wia_gate_t",
            choices=tuple(
                Choice(name=name, value=value, summary=summary)
                for value, (name, summary, _) in enumerate(_ACTIVATIONS)
            ),
        ),
    ),
    config="wia_glu_config_t",
    tolerance=relative(
        14,
        "Fourteen roundings",
        "|a * activation(b)|, or |a * b| for GELU, where a sum with 1 may cancel",
        _parts,
    ),
    flops=_count,
    samples=(
        _sample((3, 14)),
        _sample((6, 5), "special", axis=0),
        _sample((4, 3, 2), axis=-3, activation=1),
        _sample((66,), "wide", activation=2),
        _sample((2, 8), activation=3),
        _sample((2, 8), "special", activation=4),
        _sample((0, 4)),
    ),
    source="values worked by hand; N. Shazeer, GLU variants improve transformer, 2020",
)

OPERATIONS = (GLU,)
