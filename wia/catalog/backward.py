"""Operations that gradients are made of, where those of the other modules don't suffice."""

from __future__ import annotations

import math
from typing import Any

from ._backward import GRAD, absolute, summed
from ._cost import elements, per_input, per_output
from ._forms import COPIED, binary, target_shape
from ._model import FLOATS, Operand, Operation, Sample, Scalar, Shape, Tolerance, Values
from ._numeric import narrow, widen
from .functions import GELU
from .gather import GATHER, gather

# -- semantics -------------------------------------------------------------------------------------


def sum_to(np: Any, x: Any, *, shape: Any, factor: float) -> Any:
    """The sum over what broadcasting from the shape has repeated, times the factor."""
    shape = tuple(shape)
    lead = x.ndim - len(shape)
    repeated = [i for i in range(lead, x.ndim) if shape[i - lead] == 1 and x.shape[i] != 1]
    axes = (*range(lead), *repeated)
    kept = [i for i in range(x.ndim) if i not in axes]
    moved = np.transpose(widen(np, x), (*kept, *axes))
    sizes = [x.shape[i] for i in kept]
    rows = np.ascontiguousarray(moved).reshape(*sizes, elements(tuple(x.shape[i] for i in axes)))
    return narrow(np, rows.sum(axis=-1) * factor, x.dtype).reshape(shape)


def relu_gradient(np: Any, grad: Any, output: Any) -> Any:
    """The gradient where the output is above 0, else 0."""
    return np.where(output > 0, grad, np.zeros((), grad.dtype))


def gelu_gradient(np: Any, grad: Any, x: Any, *, approximate: int) -> Any:
    """The gradient times the derivative of gelu."""
    return narrow(np, widen(np, grad) * _gelu_slope(np, widen(np, x), approximate), grad.dtype)


def _gelu_slope(np: Any, x: Any, approximate: int) -> Any:
    if approximate:
        root = math.sqrt(2.0 / math.pi)
        curve = np.tanh(root * (x + 0.044715 * x * x * x))
        slope = (1.0 - curve * curve) * root * (1.0 + 3 * 0.044715 * x * x)
        return 0.5 * (1.0 + curve) + 0.5 * x * slope
    tail = [math.erfc(value) for value in (x / -math.sqrt(2.0)).ravel().tolist()]
    bell = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    return 0.5 * np.array(tail, np.float64).reshape(x.shape) + x * bell


def gather_gradient(np: Any, grad: Any, indices: Any, *, shape: Any, axis: int) -> Any:
    """Zeros, to which the gradients are added in the rows that the indices name."""
    gather(np, np.broadcast_to(np.zeros((), grad.dtype), shape), indices, axis=axis)
    total = np.zeros(shape)
    rows = np.moveaxis(total, axis, 0)
    axis %= len(shape)
    given = np.moveaxis(widen(np, grad), range(axis, axis + indices.ndim), range(indices.ndim))
    np.add.at(rows, indices, given)
    return narrow(np, total, grad.dtype)


# -- entries ---------------------------------------------------------------------------------------


def _sum_length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    return elements(shapes[0]) // max(1, elements(tuple(values["shape"]))) + 2


def _absolute_sum(np: Any, x: Any, *, shape: Any, factor: float) -> Any:
    return sum_to(np, np.abs(x), shape=shape, factor=abs(factor))


SUM_TO = Operation(
    number=430,
    name="sum_to",
    summary="Sums over the dimensions that broadcasting from a shape has repeated.",
    formula="output[i] = factor * sum of the elements that broadcasting fills from output[i]",
    inputs=(Operand(name="input", summary="A shape that the shape broadcasts to."),),
    outputs=(Operand(name="output", summary="The shape that was asked for."),),
    family="sum_to",
    dtypes=FLOATS,
    semantics=sum_to,
    notes=("It is what becomes of the gradient of an operand that was broadcast.",),
    attributes=(target_shape("The shape of the result"),),
    scalars=(Scalar(name="factor", summary="Factor of the sum.", default=1.0),),
    config="wia_sum_to_config_t",
    tolerance=summed(_sum_length, _absolute_sum, "the elements that are added"),
    flops=per_input(),
    samples=(
        Sample(shapes=((3, 4),), values={"shape": (4,)}),
        Sample(shapes=((2, 3, 33),), values={"shape": (3, 1), "factor": 0.5}),
        Sample(shapes=((5, 7),), values={"shape": ()}),
        Sample(shapes=((2, 9),), values={"shape": (2, 9)}, fills=("wide",)),
        Sample(shapes=((0, 3),), values={"shape": (3,)}),
        Sample(shapes=((4, 31),), values={"shape": (4, 1)}, fills=("special",)),
    ),
    source="numpy.sum over axes found by hand; broadcasting a result back and counting",
)

RELU_GRADIENT = binary(
    431,
    "relu_gradient",
    "Gradient of relu.",
    "result = grad where output > 0, else 0",
    relu_gradient,
    inputs=(GRAD, Operand(name="output", summary="Of relu; the shape of grad.")),
    outputs=(Operand(name="result", summary="The gradient of the input."),),
    dtypes=FLOATS,
    tolerance=COPIED,
    notes=("Where the output is NaN it is 0.",),
    source="finite differences; NaN by hand",
)

GELU_GRADIENT = binary(
    432,
    "gelu_gradient",
    "Gradient of gelu.",
    "result = grad * the derivative of gelu at input",
    gelu_gradient,
    inputs=(GRAD, Operand(name="input", summary="Of gelu; the shape of grad.")),
    outputs=(Operand(name="result", summary="The gradient of the input."),),
    dtypes=FLOATS,
    attributes=GELU.attributes,
    config="wia_gelu_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: 16,
        magnitude=lambda np, grad, x, **values: np.abs(grad) * (1.0 + np.abs(x)),
        reason="Sixteen roundings in the accumulator, relative to grad times 1 and the absolute "
        "input together, since terms may cancel, and one of the result.",
    ),
    flops=per_output(12.0),
    samples=(
        Sample(shapes=((8,), (8,))),
        Sample(shapes=((), ())),
        Sample(shapes=((3, 33), (3, 33)), values={"approximate": 1}),
        Sample(shapes=((0, 4), (0, 4))),
    ),
    source="finite differences",
)

GATHER_GRADIENT = Operation(
    number=437,
    name="gather_gradient",
    summary="Gradient of gather: adds rows where indices say.",
    formula="output[..., indices[i], ...] += grad[..., i, ...], from 0 on",
    inputs=(
        Operand(name="grad", summary="The gradient of the output."),
        Operand(name="indices", summary="Any shape.", dtypes=("int64", "int32")),
    ),
    outputs=(Operand(name="output", summary="The shape of the input."),),
    family="gather_gradient",
    dtypes=FLOATS,
    semantics=gather_gradient,
    notes=("Indices as for gather. One that comes up again adds up.",),
    attributes=(
        target_shape("The shape of the input"),
        *GATHER.attributes,
    ),
    config=GATHER.config,
    tolerance=summed(
        lambda shapes, values: elements(shapes[1]),
        absolute(gather_gradient, 0),
        "the indices",
    ),
    flops=per_input(),
    samples=(
        Sample(shapes=((3,), (3,)), values={"shape": (8,)}, fills=("normal", "index8")),
        Sample(shapes=((33,), ()), values={"shape": (5, 33)}, fills=("normal", "index5")),
        Sample(
            shapes=((3, 2, 3, 2), (2, 3)),
            values={"shape": (3, 4, 2), "axis": 1},
            fills=("normal", "index4"),
        ),
        Sample(shapes=((0, 2), (0,)), values={"shape": (4, 2)}, fills=("normal", "index4")),
    ),
    source="finite differences; an index that comes up twice, by hand",
)

OPERATIONS = (
    SUM_TO,
    RELU_GRADIENT,
    GELU_GRADIENT,
    GATHER_GRADIENT,
)
