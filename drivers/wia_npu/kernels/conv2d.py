"""Convolution, float32, as a product: the weight times a matrix of what lies under each tap.

A panel of that matrix is made when it is needed, so it takes no memory.
"""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._images import (
    BIAS_STRIDE,
    CHANNELS,
    GROUP_CHANNELS,
    GROUP_OUTPUTS,
    HAS_BIAS,
    IN,
    IN_STRIDES,
    KERNEL,
    OUT,
    OUT_STRIDES,
    STRIDE,
    WEIGHT_STRIDES,
)
from wia_npu._words import UNITS
from wia_npu.kernels.common import first_of, operand, part, serial, stack, word
from wia_npu.kernels.tiles import (
    COLUMNS,
    DEPTH,
    PANEL_BYTES,
    ROW_BYTES,
    SUMS_BYTES,
    add_products,
    block_height,
    copy_row,
    fill_row,
    line_of,
)
from wia_npu.kernels.windows import place_of

__all__ = ["conv2d"]


@serial
def _fill_run(state: Any, x: Any, y: Any, column: Any, j: Any, n: Any) -> None:
    """What lies under tap j in the row x, for n outputs from a column on; beside it, zeros."""
    first, move = place_of(state, 1, column, j), word(state, STRIDE + 1)
    step, size = word(state, IN_STRIDES + 3), word(state, IN + 1)
    source, target = pointer(x, numba.float32), pointer(y, numba.float32)
    if first >= 0 and first + (n - 1) * move < size:
        if n == COLUMNS and move * step == 1:
            copy_row(y, x + 4 * first)
        else:
            for i in range(n):
                target[i] = source[(first + i * move) * step]
        return
    for i in range(n):
        place = first + i * move
        target[i] = source[place * step] if 0 <= place < size else numba.float32(0.0)


@serial
def _fill_panel(
    state: Any, image: Any, panel: Any, at: Any, behind: Any, first: Any, depth: Any
) -> None:
    """Rows `first` and on of the matrix: channels by taps; `at` is row, column and count."""
    row, column, n = at
    taps = word(state, KERNEL + 1)
    i, j = first // taps, first % taps
    k, i = i // word(state, KERNEL), i % word(state, KERNEL)
    own, k = k // word(state, KERNEL + 2), k % word(state, KERNEL + 2)
    for place in range(depth):
        y = panel + place * ROW_BYTES
        line, layer = place_of(state, 0, row, i), place_of(state, 2, behind, k)
        if 0 <= line < word(state, IN) and 0 <= layer < word(state, IN + 2):
            offset = own * word(state, IN_STRIDES + 1) + line * word(state, IN_STRIDES + 2)
            offset += layer * word(state, IN_STRIDES + 4)
            _fill_run(state, image + 4 * offset, y, column, j, n)
        else:
            target = pointer(y, numba.float32)
            for place in range(n):
                target[place] = numba.float32(0.0)
        j += 1
        if j == taps:
            j = 0
            i += 1
            if i == word(state, KERNEL):
                i = 0
                k += 1
                if k == word(state, KERNEL + 2):
                    k = 0
                    own += 1


@serial
def _run_of(state: Any, pixel: Any, end: Any) -> Any:
    """Row and column of a pixel of the output, and the pixels of that row up to an end."""
    columns = word(state, OUT + 1)
    row = pixel // columns
    column = pixel - row * columns
    return row, column, min(end - pixel, columns - column)


@serial
def _store(state: Any, sums: Any, y: Any, rows: Any, begin: Any, end: Any) -> None:
    """Sums of pixels to rows of the output, which are its channels."""
    step = word(state, OUT_STRIDES + 3)
    pixel = begin
    while pixel < end:
        row, column, n = _run_of(state, pixel, end)
        place = row * word(state, OUT_STRIDES + 2) + column * step
        for r in range(rows):
            target = pointer(y + 4 * (place + r * word(state, OUT_STRIDES + 1)), numba.float32)
            source = pointer(sums + r * ROW_BYTES + 4 * (pixel - begin), numba.float32)
            for i in range(n):
                target[i * step] = source[i]
        pixel += n


@part
def conv2d(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is an element of the output. A task is a block of channels times a panel of pixels.

    The taps of an output follow one another in the weight.
    """
    if word(state, UNITS) == 0:
        return 0
    outputs, pixels = word(state, GROUP_OUTPUTS), word(state, OUT) * word(state, OUT + 1)
    groups = word(state, CHANNELS) // outputs
    taps = word(state, GROUP_CHANNELS) * word(state, KERNEL) * word(state, KERNEL + 1)
    taps *= word(state, KERNEL + 2)
    panel, sums = line_of(stack(PANEL_BYTES)), line_of(stack(SUMS_BYTES))
    height = block_height(outputs)
    blocks, across = (outputs + height - 1) // height, (pixels + COLUMNS - 1) // COLUMNS
    tasks = word(state, UNITS) // (word(state, CHANNELS) * pixels) * groups * blocks * across
    a_row = 4 * word(state, WEIGHT_STRIDES)
    for task in range(first_of(state, tasks, chunk), first_of(state, tasks, chunk + 1)):
        own, begin = task // across, task % across * COLUMNS
        end, top = min(pixels, begin + COLUMNS), own % blocks * height
        group = own // blocks % groups
        image = own // blocks // groups
        image, behind = image // word(state, OUT + 2), image % word(state, OUT + 2)
        rows, channel = min(height, outputs - top), group * outputs + top
        x = image * word(state, IN_STRIDES)
        x += group * word(state, GROUP_CHANNELS) * word(state, IN_STRIDES + 1)
        start = numba.float32(0.0)
        bias = pointer(operand(state, args, 2), numba.float32)
        for r in range(height):
            if word(state, HAS_BIAS):
                start = bias[(channel + min(r, rows - 1)) * word(state, BIAS_STRIDE)]
            fill_row(sums, r, start)
        for first in range(0, taps, DEPTH):
            depth = min(DEPTH, taps - first)
            pixel = begin
            while pixel < end:
                at = _run_of(state, pixel, end)
                to = panel + 4 * (pixel - begin)
                _fill_panel(state, operand(state, args, 0) + 4 * x, to, at, behind, first, depth)
                pixel += at[2]
            a = operand(state, args, 1) + channel * a_row + 4 * first
            add_products(sums, panel, a, a_row, 4, rows, depth)
        y = image * word(state, OUT_STRIDES) + channel * word(state, OUT_STRIDES + 1)
        y += behind * word(state, OUT_STRIDES + 4)
        _store(state, sums, operand(state, args, 3) + 4 * y, rows, begin, end)
    return 0
