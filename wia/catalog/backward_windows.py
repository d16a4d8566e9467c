"""What convolutions and pools give back to their inputs, where gradients are made of it."""

from __future__ import annotations

from typing import Any

from ._backward import GRAD, absolute, summed
from ._convolve import correlate_transposed
from ._cost import elements, per_input
from ._forms import target_shape
from ._model import FLOATS, Operand, Operation, Sample, Shape
from ._numeric import narrow, widen
from ._windows import Windows, reach
from .conv import CONV2D
from .pool import AVG_POOL2D, MAX_POOL2D

# -- semantics -------------------------------------------------------------------------------------


def conv2d_input_gradient(np: Any, grad: Any, weight: Any, *, shape: Any, **values: Any) -> Any:
    """Each gradient times the weights, added up where the kernel lay."""
    padding, steps = values["padding"], values["stride"]
    spans = reach(weight.shape[2:], values["dilation"])
    # What no window reaches at the bottom and on the right.
    less = tuple(
        shape[2 + i] + padding[i] + padding[2 + i] - (grad.shape[2 + i] - 1) * steps[i] - spans[i]
        for i in range(2)
    )
    wide, taps = widen(np, grad), widen(np, weight)
    total = correlate_transposed(np, wide, taps, {**values, "output_padding": less})
    return narrow(np, total, grad.dtype)


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


# -- entries ---------------------------------------------------------------------------------------

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
        inputs=(GRAD, other),
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
    tolerance=summed(
        lambda shapes, values: elements(shapes[1]) // max(1, (shapes[1] or (0, 1))[1]) + 2,
        absolute(conv2d_input_gradient, 0, 1),
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
    tolerance=summed(
        lambda shapes, values: elements(shapes[0]) // max(1, (shapes[0] or (0, 1))[1]) + 2,
        absolute(conv2d_weight_gradient, 0, 1),
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
        tolerance=summed(
            lambda shapes, values: elements(values["kernel"]),
            absolute(more["semantics"], 0),
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
    inputs=(GRAD, Operand(name="input", summary="Of max_pool2d: [n, c, height, width].")),
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
    inputs=(GRAD,),
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

OPERATIONS = (
    CONV2D_INPUT_GRADIENT,
    CONV2D_WEIGHT_GRADIENT,
    MAX_POOL2D_GRADIENT,
    AVG_POOL2D_GRADIENT,
)
