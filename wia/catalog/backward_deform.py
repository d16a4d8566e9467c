"""What a convolution with moved taps gives back, where gradients are made of it."""

from __future__ import annotations

from typing import Any

from ._backward import GRAD, SECOND
from ._cost import elements
from ._model import FLOATS, Operand, Operation, Sample, Shape, Tolerance, Values
from ._numeric import narrow, widen
from ._windows import Windows
from .conv_deform import DEFORM_CONV, before, bilinear, corners, places, split_images


def deform_conv_gradient(
    np: Any, grad: Any, x: Any, weight: Any, offset: Any, mask: Any = None, **values: Any
) -> tuple[Any, ...]:
    """Each gradient goes to the pixels by their shares, and to places by the slopes of these."""
    made = _backward(np, (-1.0, 1.0), grad, x, weight, offset, mask, values)
    return tuple(narrow(np, item, grad.dtype) for item in made)


def _backward(
    np: Any,
    turns: tuple[float, float],
    grad: Any,
    x: Any,
    weight: Any,
    offset: Any,
    mask: Any,
    values: Values,
) -> tuple[Any, ...]:
    """All gradients, wide. ``turns`` are the signs of the slopes of both shares of a line."""
    groups, parts = values["groups"], values["offset_groups"]
    images, rows, columns = x.shape[0], *Windows(x.shape, weight.shape[2:], values).counts
    outputs, own, taps = weight.shape[0] // groups, weight.shape[1], elements(weight.shape[2:])
    here = (images, parts, taps, rows, columns)
    weights = widen(np, weight).reshape(groups, outputs, own, taps)
    by_weight = np.zeros(weights.shape)
    by_offset, by_mask = np.zeros((*here[:3], 2, rows, columns)), np.zeros(here)
    split = split_images(np, x, values)
    by_x = np.zeros(split.shape)
    if x.size and grad.size:
        slopes = widen(np, grad).reshape(images, groups, outputs, rows, columns)
        factors = np.ones(here) if mask is None else widen(np, mask).reshape(here)
        every = np.arange(split.shape[2])
        for tap, (y, across) in enumerate(places(np, x, weight, offset, values)):
            picked, factor = bilinear(np, split, y, across), factors[:, :, tap, None]
            pixels = (picked * factor).reshape(images, groups, own, rows, columns)
            by_weight[..., tap] = np.einsum("ngoyx,ngcyx->goc", slopes, pixels)
            back = np.einsum("ngoyx,goc->ngcyx", slopes, weights[..., tap]).reshape(picked.shape)
            by_mask[:, :, tap] = (back * picked).sum(axis=2)
            given = np.moveaxis(back * factor, 2, -1)
            for place, inside, down, right in corners(np, x.shape[2:], y, across, (0, 1)):
                n, g = before(np, y)
                index = (n[..., None], g[..., None], every, *(part[..., None] for part in place))
                seen = np.where(inside, (split[index] * given).sum(axis=-1), 0.0)
                shares = 1.0 - abs(down), 1.0 - abs(right)
                for axis, (far, other) in enumerate(((down, shares[1]), (right, shares[0]))):
                    turn = np.where(far >= 0, *turns) * other
                    by_offset[:, :, tap, axis] += np.where(inside, seen * turn, 0.0)
                share = np.where(inside, shares[0] * shares[1], 0.0)[..., None]
                np.add.at(by_x, index, share * given)
    made = by_x.reshape(x.shape), by_weight.reshape(weight.shape), by_offset.reshape(offset.shape)
    return (*made, by_mask.reshape(images, parts * taps, rows, columns))


def _magnitude(output: int) -> Any:
    """Absolute values, and what the rounding of places moves between the pixels of an image."""

    def magnitude(
        np: Any, grad: Any, x: Any, weight: Any, offset: Any, mask: Any = None, **values: Any
    ) -> Any:
        sizes = (abs(grad), abs(x), abs(weight), offset, None if mask is None else abs(mask))
        exact = _backward(np, (1.0, 1.0), *sizes, values)[output]
        parts = [abs(grad).sum(), abs(x).max(initial=0), abs(weight).max(initial=0)]
        parts += [1.0 if mask is None else abs(mask).max(initial=0), 1.0]
        parts[_LEFT_OUT[output]] = 1.0
        far = 2.0 + sum(x.shape[2:]) + abs(offset).max(initial=0.0)
        return exact + np.prod(parts) * far

    return magnitude


_LEFT_OUT = (1, 2, 4, 3)
"""What each gradient is no product of."""


def _tolerance(output: int) -> Tolerance:
    return Tolerance(
        ulps=1.0,
        length=lambda shapes, values: elements(shapes[0]) + elements((shapes[2] or ())[1:]) + 4,
        magnitude=_magnitude(output),
        reason="Any order of summation: one rounding in the accumulator for each gradient and tap "
        "and four more, relative to the sum of absolute values; places are rounded, relative to "
        "the size of images and offsets; and one of the result.",
    )


_SHAPES: tuple[tuple[Shape, Shape, Shape, Shape, Shape | None, Values], ...] = (
    ((1, 1, 2, 3), (1, 1, 3, 4), (1, 1, 2, 2), (1, 8, 2, 3), None, {}),
    (
        (2, 2, 3, 5),
        (2, 4, 5, 6),
        (2, 2, 3, 2),
        (2, 24, 3, 5),
        (2, 12, 3, 5),
        {"groups": 2, "offset_groups": 2},
    ),
    (
        (1, 3, 4, 2),
        (1, 2, 7, 5),
        (3, 2, 2, 2),
        (1, 8, 4, 2),
        None,
        {"stride": (2,), "padding": (1, 0, 1, 1), "dilation": (1, 2)},
    ),
    ((0, 1, 2, 2), (0, 1, 3, 3), (1, 1, 2, 2), (0, 8, 2, 2), None, {}),
)

DEFORM_CONV_GRADIENT = Operation(
    number=443,
    name="deform_conv_gradient",
    summary="Gradients of deform_conv by its input, weight, offset and mask.",
    formula="by_input, by_offset = sum of grad * weight * mask times the share of a pixel, or its "
    "slope; by_weight, by_mask = sum of grad times what each is multiplied with",
    inputs=(GRAD, *(item for item in DEFORM_CONV.inputs if item.name != "bias")),
    outputs=tuple(
        Operand(
            name=f"by_{name}",
            summary=f"The shape of {name}, also where that is left out.",
            optional=name == "mask",
            tolerance=_tolerance(i),
        )
        for i, name in enumerate(("input", "weight", "offset", "mask"))
    ),
    family="deform_conv_gradient",
    dtypes=FLOATS,
    semantics=deform_conv_gradient,
    notes=(
        "At a pixel the slopes of places are those from there to the next row and column. The "
        "gradient of the bias is the sum of grad over images and places.",
    ),
    attributes=DEFORM_CONV.attributes,
    config=DEFORM_CONV.config,
    tolerance=_tolerance(0),
    flops=lambda shapes, out, values: (
        24.0 * elements(shapes[0]) * elements((shapes[2] or (0, 0))[1:])
    ),
    samples=tuple(Sample(shapes=tuple(shapes), values=values) for *shapes, values in _SHAPES),
    source="finite differences",
    no_gradient=SECOND,
)

OPERATIONS = (DEFORM_CONV_GRADIENT,)
