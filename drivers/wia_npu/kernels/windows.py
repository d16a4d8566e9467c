"""Windows that move over images: where their taps lie."""

from __future__ import annotations

from typing import Any

import numba

from wia_npu._images import (
    DILATION,
    END_PADDING,
    IN,
    INCLUDE_PADDING,
    KERNEL,
    OUT,
    PADDING,
    STRIDE,
)
from wia_npu.kernels.common import serial, word

__all__ = ["count_taps", "fill_plane", "place_of", "reach_of"]


@serial
def place_of(state: Any, axis: Any, output: Any, tap: Any) -> Any:
    """Where a tap of an output's window lies along an axis of the input."""
    place = output * word(state, STRIDE + axis) + tap * word(state, DILATION + axis)
    return place - word(state, PADDING + axis)


@serial
def count_taps(state: Any, axis: Any, output: Any) -> Any:
    """The taps of an output's window along an axis that count for a mean."""
    first, behind = numba.int64(0), word(state, IN + axis)
    if word(state, INCLUDE_PADDING):
        first -= word(state, PADDING + axis)
        behind += word(state, END_PADDING + axis)
    count = 0
    for tap in range(word(state, KERNEL + axis)):
        if first <= place_of(state, axis, output, tap) < behind:
            count += 1
    return count


@serial
def reach_of(state: Any, axis: Any, tap: Any) -> Any:
    """The outputs along an axis for which a tap is inside the input, first and behind the last.

    Output o sees the input at o * stride + shift, which is the third.
    """
    stride = word(state, STRIDE + axis)
    shift = tap * word(state, DILATION + axis) - word(state, PADDING + axis)
    first = max(numba.int64(0), (stride - 1 - shift) // stride)
    behind = (word(state, IN + axis) - shift + stride - 1) // stride
    return first, max(first, min(word(state, OUT + axis), behind)), shift


@serial
def fill_plane(
    x: Any, rows: Any, row_step: Any, columns: Any, column_step: Any, value: Any
) -> None:
    """One value in a plane of an image."""
    for row in range(rows):
        for column in range(columns):
            x[row * row_step + column * column_step] = value
