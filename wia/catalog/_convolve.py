"""Convolution over images of one to three dimensions, in a fixed order of summation."""

from __future__ import annotations

from typing import Any

from ._cost import elements
from ._model import Values
from ._windows import Windows, reach, spread


def correlate(np: Any, x: Any, weight: Any, values: Values) -> Any:
    """The wide sums of each output, channel by channel, then row by row of the kernel.

    ``x`` is [n, c, ...] and ``weight`` [o, c / groups, ...], both wide.
    """
    groups, kernel = values["groups"], weight.shape[2:]
    windows = Windows(x.shape, kernel, values)
    images, channels = x.shape[0], weight.shape[1]
    wide = windows.extend(np, x, 0)
    wide = wide.reshape(images, groups, channels, *wide.shape[2:])
    outputs = weight.shape[0] // groups
    taps = weight.reshape(groups, outputs, channels, elements(kernel))
    flat = (1,) * len(kernel)
    total = np.zeros((images, groups, outputs, *windows.counts), wide.dtype)
    for channel in range(channels):
        for i, window in enumerate(windows.taps(wide[:, :, channel])):
            factor = taps[:, :, channel, i].reshape(groups, outputs, *flat)
            total += window[:, :, None] * factor
    return total.reshape(images, weight.shape[0], *windows.counts)


def correlate_transposed(np: Any, x: Any, weight: Any, values: Values) -> Any:
    """The wide sums of the transpose of a convolution, in the same order.

    ``x`` is [n, c, ...] and ``weight`` [c, o / groups, ...], both wide.
    """
    count, kernel = x.ndim - 2, weight.shape[2:]
    stride = spread(values["stride"], count, 1)
    padding = spread(values["padding"], 2 * count, 0)
    dilation = spread(values["dilation"], count, 1)
    more = spread(values["output_padding"], count, 0)
    spans = reach(kernel, dilation)
    full = tuple(
        (size - 1) * step + span + extra
        for size, step, span, extra in zip(x.shape[2:], stride, spans, more, strict=True)
    )
    groups, outputs = values["groups"], weight.shape[1]
    images, channels = x.shape[0], x.shape[1] // groups
    parts = x.reshape(images, groups, channels, *x.shape[2:])
    taps = weight.reshape(groups, channels, outputs, elements(kernel))
    # The windows over the result are where the elements of the input go.
    plain = {"stride": stride, "dilation": dilation, "padding": ()}
    less = tuple(size - extra for size, extra in zip(full, more, strict=True))
    windows = Windows((images, outputs, *less), kernel, plain)
    flat = (1,) * count
    total = np.zeros((images, groups, outputs, *full), x.dtype)
    for channel in range(channels):
        for i, place in enumerate(windows.places()):
            factor = taps[:, channel, :, i].reshape(groups, outputs, *flat)
            total[(..., *place)] += parts[:, :, channel, None] * factor
    kept = tuple(
        slice(before, size - after)
        for before, after, size in zip(padding[:count], padding[count:], full, strict=True)
    )
    return total[(..., *kept)].reshape(
        images, groups * outputs, *(part.stop - part.start for part in kept)
    )


def add_bias(np: Any, total: Any, bias: Any) -> Any:
    """The sums with a wide bias of each output, which may be None."""
    return total if bias is None else total + bias.reshape(-1, *([1] * (total.ndim - 2)))
