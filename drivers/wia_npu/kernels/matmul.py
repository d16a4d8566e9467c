"""Matrix products, float32: blocks are summed on the stack, then scaled and stored."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer, scalar
from wia_npu._products import (
    A_STRIDES,
    ADDEND,
    ADDEND_STRIDES,
    ALPHA,
    B_STRIDES,
    BATCH,
    BETA,
    BLOCK,
    C_STRIDES,
    ENDS_WITH,
    FIRST,
    OUTPUT,
    ROW,
    ROW_STRIDE,
    SECOND,
    K,
    M,
    N,
)
from wia_npu._words import UNITS
from wia_npu.kernels.common import first_of, offset_at, operand, part, serial, stack, word
from wia_npu.kernels.functions import run_function
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

__all__ = ["matmul"]

_BLOCK_BYTES = 4 * BLOCK
FEW_ROWS = 4
"""For fewer, copying the second matrix would take as long as the product."""


@serial
def _factor(state: Any, args: Any, index: Any) -> Any:
    place = word(state, index)
    return numba.float32(scalar(args, place)) if place >= 0 else numba.float32(1.0)


@serial
def _matrix(state: Any, args: Any, index: Any, position: Any, batch: Any) -> Any:
    """Where the matrix of an operand is kept, for one step of the batch."""
    return operand(state, args, index) + 4 * offset_at(state, BATCH, position, batch)


@serial
def _sum(total: Any, a: Any, a_step: Any, b: Any, b_step: Any, step: Any, k: Any, n: Any) -> None:
    """total[j] = sum over i of a[i] b[i, j]."""
    for j in range(n):
        total[j] = numba.float32(0.0)
    if step == 1:
        for i in range(k):
            factor = a[i * a_step]
            row = i * b_step
            for j in range(n):
                total[j] += factor * b[row + j]
        return
    for i in range(k):
        factor = a[i * a_step]
        for j in range(n):
            total[j] += factor * b[i * b_step + j * step]


@serial
def _end(state: Any, args: Any, begin: Any, c: Any, c_step: Any, count: Any) -> None:
    """What a group does to elements of a row from column `begin` on, rounded as its nodes would."""
    if word(state, ROW) >= 0:
        step = word(state, ROW_STRIDE)
        row = pointer(operand(state, args, word(state, ROW)) + 4 * begin * step, numba.float32)
        for j in range(count):
            c[j * c_step] += row[j * step]
    if word(state, ENDS_WITH) != 0:
        none = numba.float32(0.0)
        run_function(word(state, ENDS_WITH), c, c_step, c, c_step, count, none, none)


@serial
def _store(state: Any, args: Any, total: Any, at: Any, begin: Any, count: Any) -> None:
    """What becomes of the sums of `count` columns from `begin` on; `at` is batch, row and c."""
    batch, row, c = at
    alpha, beta = _factor(state, args, ALPHA), _factor(state, args, BETA)
    added, c_step = word(state, ADDEND), word(state, C_STRIDES + 1)
    c += 4 * (row * word(state, C_STRIDES) + begin * c_step)
    target = pointer(c, numba.float32)
    if added < 0 or beta == 0:
        for j in range(count):
            target[j * c_step] = alpha * total[j]
    else:
        d_step = word(state, ADDEND_STRIDES + 1)
        d = _matrix(state, args, added, 3, batch)
        d += 4 * (row * word(state, ADDEND_STRIDES) + begin * d_step)
        addend = pointer(d, numba.float32)
        for j in range(count):
            target[j * c_step] = alpha * total[j] + beta * addend[j * d_step]
    _end(state, args, begin, target, c_step, count)


@serial
def _fill_panel(panel: Any, b: Any, row: Any, step: Any, depth: Any, count: Any) -> None:
    """Copies `depth` rows and `count` columns of a matrix; the rest of a panel isn't stored."""
    x, y = pointer(b, numba.float32), pointer(panel, numba.float32)
    if step == 1 and count == COLUMNS:
        for i in range(depth):
            copy_row(panel + i * ROW_BYTES, b + 4 * i * row)
    elif step == 1:
        for i in range(depth):
            for j in range(count):
                y[i * COLUMNS + j] = x[i * row + j]
    else:
        for j in range(count):
            for i in range(depth):
                y[i * COLUMNS + j] = x[i * row + j * step]


@serial
def _blocks(state: Any, args: Any, chunk: Any) -> None:
    """A task is a block of rows times a panel of columns, of one step of the batch."""
    m, k, n = word(state, M), word(state, K), word(state, N)
    panel, sums = line_of(stack(PANEL_BYTES)), line_of(stack(SUMS_BYTES))
    height = block_height(m)
    across = (n + COLUMNS - 1) // COLUMNS
    each = (m + height - 1) // height * across
    tasks = word(state, UNITS) // (m * n) * each
    a_row, a_step = 4 * word(state, A_STRIDES), 4 * word(state, A_STRIDES + 1)
    row, step = word(state, B_STRIDES), word(state, B_STRIDES + 1)
    for task in range(first_of(state, tasks, chunk), first_of(state, tasks, chunk + 1)):
        batch, own = task // each, task % each
        top, begin = own // across * height, own % across * COLUMNS
        rows, count = min(height, m - top), min(COLUMNS, n - begin)
        a = _matrix(state, args, word(state, FIRST), 0, batch) + top * a_row
        b = _matrix(state, args, word(state, SECOND), 1, batch) + 4 * begin * step
        c = _matrix(state, args, word(state, OUTPUT), 2, batch)
        for r in range(height):
            fill_row(sums, r, numba.float32(0.0))
        for first in range(0, k, DEPTH):
            depth = min(DEPTH, k - first)
            _fill_panel(panel, b + 4 * first * row, row, step, depth, count)
            add_products(sums, panel, a + first * a_step, a_row, a_step, rows, depth)
        for r in range(rows):
            total = pointer(sums + r * ROW_BYTES, numba.float32)
            _store(state, args, total, (batch, top + r, c), begin, count)


@serial
def _rows(state: Any, args: Any, chunk: Any) -> None:
    """A task is a part of a row: where rows are few, the second matrix is read once as it is."""
    m, k, n = word(state, M), word(state, K), word(state, N)
    total = pointer(stack(_BLOCK_BYTES), numba.float32)
    across = (n + BLOCK - 1) // BLOCK
    tasks = word(state, UNITS) // n * across
    step = word(state, B_STRIDES + 1)
    for task in range(first_of(state, tasks, chunk), first_of(state, tasks, chunk + 1)):
        unit, begin = task // across, task % across * BLOCK
        batch, row = unit // m, unit % m
        count = min(BLOCK, n - begin)
        a = _matrix(state, args, word(state, FIRST), 0, batch) + 4 * row * word(state, A_STRIDES)
        b = _matrix(state, args, word(state, SECOND), 1, batch) + 4 * begin * step
        c = _matrix(state, args, word(state, OUTPUT), 2, batch)
        _sum(
            total,
            pointer(a, numba.float32),
            word(state, A_STRIDES + 1),
            pointer(b, numba.float32),
            word(state, B_STRIDES),
            step,
            k,
            count,
        )
        _store(state, args, total, (batch, row, c), begin, count)


@part
def matmul(state: Any, args: Any, chunk: Any) -> Any:
    """c = alpha a b + beta addend, one unit being an element of c."""
    if word(state, UNITS) == 0:
        return 0
    if word(state, M) < FEW_ROWS and word(state, B_STRIDES + 1) == 1:
        _rows(state, args, chunk)
    else:
        _blocks(state, args, chunk)
    return 0
