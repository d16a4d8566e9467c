"""Operations that gradients are made of, where those of the other modules don't suffice."""

from __future__ import annotations

import math
from typing import Any

from ._cost import elements, per_input, per_output
from ._forms import COPIED, binary, target_shape
from ._model import FLOATS, Operand, Operation, Sample, Scalar, Shape, Tolerance, Values
from ._numeric import narrow, widen
from ._windows import Windows, reach
from .conv import CONV2D
from .functions import GELU
from .gather import GATHER, gather
from .pool import AVG_POOL2D, MAX_POOL2D

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


def conv2d_input_gradient(np: Any, grad: Any, weight: Any, *, shape: Any, **values: Any) -> Any:
    """Each gradient times the weights, added up where the kernel lay."""
    wide, taps, groups = widen(np, grad), widen(np, weight), values["groups"]
    places = Windows(shape, weight.shape[2:], values)
    total = places.extend(np, np.zeros(shape, wide.dtype), 0.0)
    top, left = places.padding[:2]
    channels, outputs = weight.shape[1], weight.shape[0] // groups
    windows = list(zip(np.ndindex(*weight.shape[2:]), places.taps(total), strict=True))
    for group in range(groups):
        own = slice(group * channels, (group + 1) * channels)
        for output in range(group * outputs, (group + 1) * outputs):
            for (i, j), window in windows:
                window[:, own] += wide[:, output, None] * taps[output, :, i, j][:, None, None]
    inside = total[:, :, top : top + shape[2], left : left + shape[3]]
    return narrow(np, inside, grad.dtype)


def conv2d_weight_gradient(np: Any, grad: Any, x: Any, *, shape: Any, **values: Any) -> Any:
    """Each gradient times the elements under the kernel, added up over images and places."""
    outputs, channels, groups = shape[0], shape[1], values["groups"]
    places = Windows(x.shape, shape[2:], values)
    wide = places.extend(np, widen(np, x), 0.0)
    rows = np.ascontiguousarray(np.moveaxis(widen(np, grad), 1, 0)).reshape(outputs, -1)
    total = np.zeros(shape, rows.dtype)
    for (i, j), window in zip(np.ndindex(*shape[2:]), places.taps(wide), strict=True):
        seen = np.ascontiguousarray(np.moveaxis(window, 1, 0)).reshape(x.shape[1], -1)
        for output in range(outputs):
            first = output // (outputs // groups) * channels
            total[output, :, i, j] = (rows[output] * seen[first : first + channels]).sum(axis=-1)
    return narrow(np, total, grad.dtype)


def max_pool2d_gradient(np: Any, grad: Any, x: Any, **values: Any) -> Any:
    """Each gradient goes to the largest element of its window, the first of equals or of NaNs."""
    windows = Windows.of_pooling(x.shape, values)
    numbers = np.arange(elements(x.shape)).reshape(x.shape)
    pairs = (windows.extend(np, widen(np, x), 0.0), windows.extend(np, numbers, -1))
    best = np.zeros(windows.shape)
    winner = np.full(windows.shape, -1)
    for value, number in zip(*map(windows.taps, pairs), strict=True):
        larger = (value > best) | ((value != value) & (best == best))
        taken = (number >= 0) & ((winner < 0) | larger)
        best, winner = np.where(taken, value, best), np.where(taken, number, winner)
    total = np.zeros(elements(x.shape) + 1)
    np.add.at(total, winner.ravel(), widen(np, grad).ravel())
    return narrow(np, total[:-1].reshape(x.shape), grad.dtype)


def avg_pool2d_gradient(
    np: Any, grad: Any, *, shape: Any, count_include_pad: int, **values: Any
) -> Any:
    """Each gradient, divided among the elements of its window."""
    windows = Windows.of_pooling(shape, values)
    inside = np.ones(shape, np.float64)
    outer = 1.0 if count_include_pad else 0.0
    counted = windows.extend(np, inside, outer, overhang=0.0)
    count = windows.zeros(np, np.float64)
    for window in windows.taps(counted):
        count = count + window
    share = widen(np, grad) / count
    total = np.zeros(counted.shape)
    for window in windows.taps(total):
        window += share
    top, left = windows.padding[:2]
    cut = total[:, :, top : top + shape[2], left : left + shape[3]]
    return narrow(np, cut, grad.dtype)


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


def _summed(length: Any, magnitude: Any, what: str) -> Tolerance:
    return Tolerance(
        ulps=1.0,
        length=length,
        magnitude=magnitude,
        reason=f"Any order of summation: one rounding in the accumulator for each of {what} and "
        "two more, relative to the sum of absolute values, and one of the result.",
    )


def _absolute(semantics: Any, *positions: int) -> Any:
    """The semantics of absolute values of some inputs."""

    def magnitude(np: Any, *inputs: Any, **values: Any) -> Any:
        arrays = [np.abs(a) if i in positions else a for i, a in enumerate(inputs)]
        return semantics(np, *arrays, **values)

    return magnitude


def _sum_length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    return elements(shapes[0]) // max(1, elements(tuple(values["shape"]))) + 2


def _absolute_sum(np: Any, x: Any, *, shape: Any, factor: float) -> Any:
    return sum_to(np, np.abs(x), shape=shape, factor=abs(factor))


_GRAD = Operand(name="grad", summary="The gradient of the output.")

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
    tolerance=_summed(_sum_length, _absolute_sum, "the elements that are added"),
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
    inputs=(_GRAD, Operand(name="output", summary="Of relu; the shape of grad.")),
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
    inputs=(_GRAD, Operand(name="input", summary="Of gelu; the shape of grad.")),
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

_CONV = CONV2D.attributes
_CONV_SAMPLES: tuple[tuple[Shape, Shape, dict[str, Any]], ...] = (
    ((1, 1, 4, 4), (1, 1, 3, 3), {}),
    ((2, 3, 7, 9), (5, 3, 3, 2), {"stride": (2, 1), "padding": (1, 0, 1, 2)}),
    ((1, 4, 8, 6), (6, 2, 2, 3), {"groups": 2, "dilation": (2, 1)}),
)


def _out_shape(shape: Shape, weight: Shape, values: dict[str, Any]) -> Shape:
    padding = values.get("padding", (0, 0, 0, 0))
    spans = reach(weight[2:], values.get("dilation", (1, 1)))
    rows, columns = (
        (shape[2 + i] + padding[i] + padding[2 + i] - spans[i]) // values.get("stride", (1, 1))[i]
        + 1
        for i in range(2)
    )
    return (shape[0], weight[0], rows, columns)


def _conv_gradient(
    number: int, name: str, of: str, other: Operand, semantics: Any, **more: Any
) -> Operation:
    return Operation(
        number=number,
        name=name,
        summary=f"Gradient of conv2d by its {of}.",
        formula=f"output = sum of grad * {other.name}, where the kernel lay",
        inputs=(_GRAD, other),
        outputs=(Operand(name="output", summary=f"The shape of the {of}."),),
        family=name,
        dtypes=FLOATS,
        semantics=semantics,
        attributes=(target_shape(f"The shape of the {of}"), *_CONV),
        config="wia_conv2d_gradient_config_t",
        source="finite differences",
        **more,
    )


CONV2D_INPUT_GRADIENT = _conv_gradient(
    433,
    "conv2d_input_gradient",
    "input",
    Operand(name="weight", summary="[o, c / groups, kernel height, kernel width]."),
    conv2d_input_gradient,
    tolerance=_summed(
        lambda shapes, values: elements(shapes[1]) // max(1, (shapes[1] or (0, 1))[1]) + 2,
        _absolute(conv2d_input_gradient, 0, 1),
        "the outputs and places of the kernel",
    ),
    flops=lambda shapes, out, values: 2.0 * elements(shapes[0]) * elements((shapes[1] or ())[1:]),
    samples=tuple(
        Sample(shapes=(_out_shape(x, w, values), w), values={"shape": x, **values})
        for x, w, values in _CONV_SAMPLES
    ),
)

CONV2D_WEIGHT_GRADIENT = _conv_gradient(
    434,
    "conv2d_weight_gradient",
    "weight",
    Operand(name="input", summary="[n, c, height, width]."),
    conv2d_weight_gradient,
    tolerance=_summed(
        lambda shapes, values: elements(shapes[0]) // max(1, (shapes[0] or (0, 1))[1]) + 2,
        _absolute(conv2d_weight_gradient, 0, 1),
        "the images and places",
    ),
    flops=lambda shapes, out, values: 2.0 * elements(shapes[0]) * elements(out[1:]),
    samples=tuple(
        Sample(shapes=(_out_shape(x, w, values), x), values={"shape": w, **values})
        for x, w, values in _CONV_SAMPLES
    ),
)

_POOL_SAMPLES = (
    ((1, 1, 4, 4), (2, 2), {"kernel": (2, 2)}),
    ((2, 3, 7, 9), (4, 5), {"kernel": (3, 3), "stride": (2, 2), "padding": (1, 1, 1, 1)}),
    ((1, 2, 5, 6), (4, 4), {"kernel": (2, 2), "stride": (1, 1), "dilation": (1, 2)}),
    ((1, 1, 5, 5), (3, 3), {"kernel": (2, 2), "ceil_mode": 1}),
)


def _pool_gradient(number: int, name: str, pool: Operation, **more: Any) -> Operation:
    return Operation(
        number=number,
        name=name,
        summary=f"Gradient of {pool.name}.",
        family=name,
        dtypes=FLOATS,
        tolerance=_summed(
            lambda shapes, values: elements(values["kernel"]),
            _absolute(more["semantics"], 0),
            "the windows that an element is in",
        ),
        flops=per_input(),
        source="finite differences; equals by hand",
        **more,
    )


MAX_POOL2D_GRADIENT = _pool_gradient(
    435,
    "max_pool2d_gradient",
    MAX_POOL2D,
    formula="output = sum of grad over the windows whose largest element it is",
    inputs=(_GRAD, Operand(name="input", summary="Of max_pool2d: [n, c, height, width].")),
    outputs=(Operand(name="output", summary="The shape of input."),),
    semantics=max_pool2d_gradient,
    attributes=MAX_POOL2D.attributes,
    config=MAX_POOL2D.config,
    notes=("Of equals, and of NaNs, the first one gets the gradient, row by row.",),
    samples=tuple(
        Sample(shapes=((*x[:2], *out), x), values=values) for x, out, values in _POOL_SAMPLES
    ),
)

AVG_POOL2D_GRADIENT = _pool_gradient(
    436,
    "avg_pool2d_gradient",
    AVG_POOL2D,
    formula="output = sum of grad / count over the windows that it is in",
    inputs=(_GRAD,),
    outputs=(Operand(name="output", summary="The shape of the input."),),
    semantics=avg_pool2d_gradient,
    attributes=(target_shape("The shape of the input"), *AVG_POOL2D.attributes),
    config=AVG_POOL2D.config,
    samples=tuple(
        Sample(shapes=((*x[:2], *out),), values={"shape": x, **values, "count_include_pad": pad})
        for x, out, values in _POOL_SAMPLES
        for pad in (0, 1)
    ),
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
    tolerance=_summed(
        lambda shapes, values: elements(shapes[1]),
        _absolute(gather_gradient, 0),
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
    CONV2D_INPUT_GRADIENT,
    CONV2D_WEIGHT_GRADIENT,
    MAX_POOL2D_GRADIENT,
    AVG_POOL2D_GRADIENT,
    GATHER_GRADIENT,
)
