"""Convolution over images of one to three dimensions, in a fixed order of summation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ._cost import elements
from ._model import Values
from ._numeric import is_integer
from ._products import finished_product, product
from ._windows import Windows, reach, spread

Finish = Callable[[Any, slice], Any]
"""finish(sums [..., outputs, places], which outputs they are): see finished_product()."""

_WORTH_IT = 1 << 18
"""Products: for fewer, columns take no less time than sums over the images themselves."""
_FEW_OUTPUTS = 4
_COLUMNS = 1 << 21
"""Elements of columns at a time."""


def correlate(np: Any, x: Any, weight: Any, values: Values, dtype: Any, finish: Finish) -> Any:
    """What ``finish`` makes of the sums, which are channel by channel, then row by row.

    ``x`` is [n, c, ...] and ``weight`` [o, c / groups, ...], both wide.
    """
    if is_integer(x.dtype):
        x, weight = x.astype(np.int64, copy=False), weight.astype(np.int64, copy=False)
    windows = Windows(x.shape, weight.shape[2:], values)
    groups, outputs = values["groups"], weight.shape[0] // values["groups"]
    wide = windows.extend(np, x, 0)
    wide = wide.reshape(x.shape[0], groups, weight.shape[1], *wide.shape[2:])
    shape = (x.shape[0], weight.shape[0], *windows.counts)
    taps = weight.reshape(groups, outputs, elements(weight.shape[1:]))
    rounds = is_integer(dtype) or dtype.itemsize <= 4
    if rounds and outputs >= _FEW_OUTPUTS and elements(shape) * taps.shape[2] >= _WORTH_IT:
        result = np.empty((x.shape[0], groups, outputs, *windows.counts), dtype)
        for place, columns in _columns(np, wide, windows):
            own = slice(place[1] * outputs, (place[1] + 1) * outputs)
            end = partial(_finish_some, finish, own)
            made = finished_product(np, taps[place[1]], columns, dtype, end)
            target = result[place].swapaxes(0, 1)
            target[...] = made.reshape(target.shape)
        return result.reshape(shape)
    total = _sum_taps(np, wide, taps, windows)
    flat = total.reshape(*shape[:2], elements(windows.counts))
    return finish(flat, slice(None)).reshape(shape)


def _finish_some(finish: Finish, own: slice, sums: Any) -> Any:
    return finish(sums, own)


def _columns(np: Any, wide: Any, windows: Windows) -> Iterator[tuple[Any, Any]]:
    """Where results go, as images, group and rows, and what lies under the kernel there.

    Of several images, if they are small, or of some rows of one: [c * taps, places].
    """
    images, groups, channels = wide.shape[:3]
    height = elements(windows.kernel) * channels
    row = height * elements(windows.counts[1:])
    together = max(1, _COLUMNS // (row * windows.counts[0]))
    rows = max(1, _COLUMNS // row)
    for group in range(groups):
        for first in range(0, images, together):
            some = slice(first, first + together)
            taps = list(windows.taps(wide[some, group]))
            for top in range(0, windows.counts[0], rows):
                part = slice(top, top + rows)
                # [n, c, taps, rows, ...]
                stacked = np.stack([tap[:, :, part] for tap in taps], axis=2)
                columns = np.moveaxis(stacked, 0, 2).reshape(height, -1)
                yield (some, group, slice(None), part), columns


def _sum_taps(np: Any, wide: Any, weights: Any, windows: Windows) -> Any:
    """The sums over images as they are: [n, groups, outputs, ...]."""
    images, groups, channels = wide.shape[:3]
    outputs = weights.shape[1]
    taps = weights.reshape(groups, outputs, channels, elements(windows.kernel))
    flat = (1,) * len(windows.kernel)
    total = np.zeros((images, groups, outputs, *windows.counts), wide.dtype)
    for channel in range(channels):
        for i, window in enumerate(windows.taps(wide[:, :, channel])):
            factor = taps[:, :, channel, i].reshape(groups, outputs, *flat)
            total += window[:, :, None] * factor
    return total


def correlate_transposed(np: Any, x: Any, weight: Any, values: Values) -> Any:
    """The wide sums of the transpose of a convolution: over channels first, then over the kernel.

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
    parts = np.moveaxis(x.reshape(images, groups, channels, *x.shape[2:]), 0, 2)
    parts = np.ascontiguousarray(parts).reshape(groups, channels, images * elements(x.shape[2:]))
    taps = weight.reshape(groups, channels, outputs, elements(kernel))
    # The windows over the result are where the elements of the input go.
    plain = {"stride": stride, "dilation": dilation, "padding": ()}
    less = tuple(size - extra for size, extra in zip(full, more, strict=True))
    windows = Windows((images, outputs, *less), kernel, plain)
    total = np.zeros((images, groups, outputs, *full), x.dtype)
    for i, place in enumerate(windows.places()):
        factors = np.ascontiguousarray(taps[..., i].swapaxes(1, 2))
        made = product(np, factors, parts).reshape(groups, outputs, images, *x.shape[2:])
        total[(..., *place)] += np.moveaxis(made, 2, 0)
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
