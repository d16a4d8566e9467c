"""Matrix products, float32: blocks of a row are summed on the stack, then scaled and stored."""

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
from wia_npu.kernels.common import first_unit, offset_at, operand, part, serial, stack, word
from wia_npu.kernels.functions import run_function

__all__ = ["matmul"]

_BLOCK_BYTES = 4 * BLOCK


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
def _row(state: Any, args: Any, total: Any, batch: Any, row: Any, a: Any, b: Any, c: Any) -> None:
    """Row `row` of c, from that of a and the matrix b, which are at these addresses."""
    k, n = word(state, K), word(state, N)
    alpha, beta = _factor(state, args, ALPHA), _factor(state, args, BETA)
    added = word(state, ADDEND)
    step, c_step = word(state, B_STRIDES + 1), word(state, C_STRIDES + 1)
    for begin in range(0, n, BLOCK):
        count = min(BLOCK, n - begin)
        _sum(
            total,
            pointer(a, numba.float32),
            word(state, A_STRIDES + 1),
            pointer(b + 4 * begin * step, numba.float32),
            word(state, B_STRIDES),
            step,
            k,
            count,
        )
        target = pointer(c + 4 * begin * c_step, numba.float32)
        if added < 0 or beta == 0:
            for j in range(count):
                target[j * c_step] = alpha * total[j]
            _end(state, args, begin, target, c_step, count)
            continue
        d_step = word(state, ADDEND_STRIDES + 1)
        d = _matrix(state, args, added, 3, batch)
        d += 4 * (row * word(state, ADDEND_STRIDES) + begin * d_step)
        addend = pointer(d, numba.float32)
        for j in range(count):
            target[j * c_step] = alpha * total[j] + beta * addend[j * d_step]
        _end(state, args, begin, target, c_step, count)


@part
def matmul(state: Any, args: Any, chunk: Any) -> Any:
    """c = alpha a b + beta addend, one unit being a row of c."""
    m = word(state, M)
    total = pointer(stack(_BLOCK_BYTES), numba.float32)
    a_step, c_step = 4 * word(state, A_STRIDES), 4 * word(state, C_STRIDES)
    unit, end = first_unit(state, chunk), first_unit(state, chunk + 1)
    while unit < end:  # the rows of one step of the batch
        batch = unit // m
        first = unit - batch * m
        rows = min(m - first, end - unit)
        a = _matrix(state, args, word(state, FIRST), 0, batch)
        b = _matrix(state, args, word(state, SECOND), 1, batch)
        c = _matrix(state, args, word(state, OUTPUT), 2, batch)
        for row in range(first, first + rows):
            _row(state, args, total, batch, row, a + row * a_step, b, c + row * c_step)
        unit += rows
    return 0
