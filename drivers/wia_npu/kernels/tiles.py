"""Tiles of matrix products, float32: a few rows times a panel of columns, summed in registers.

A panel is a part of the second matrix, float32 [DEPTH, COLUMNS], copied to where the first level of
the cache keeps it; sums are float32 [HEIGHT, COLUMNS]. Each sum is taken in the order of its terms,
whatever the tile it is in, so results don't depend on how work is shared out.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

from wia.driver.numba import pointer
from wia_npu.kernels.common import serial

__all__ = [
    "COLUMNS",
    "DEPTH",
    "HEIGHT",
    "PANEL_BYTES",
    "ROW_BYTES",
    "SUMS_BYTES",
    "add_products",
    "block_height",
    "copy_row",
    "fill_row",
    "line_of",
]

_LANES, _VECTORS, _ROWS = 8, 3, 4
"""A tile has _ROWS rows of _VECTORS vectors: with a row of the panel and a factor, these are the 16
registers of AVX2."""
COLUMNS = _LANES * _VECTORS
DEPTH, HEIGHT = 192, 96
"""Panel and sums are 27 KiB."""
ROW_BYTES = 4 * COLUMNS
_LINE = 64
PANEL_BYTES = DEPTH * ROW_BYTES + _LINE
SUMS_BYTES = HEIGHT * ROW_BYTES + _LINE
"""What panel and sums take on the stack, so that they can begin where a line does."""

_VECTOR = ir.VectorType(ir.FloatType(), _LANES)


def _at(builder: Any, address: Any, index: int) -> Any:
    """A pointer to a vector of those at an address."""
    return builder.gep(builder.inttoptr(address, _VECTOR.as_pointer()), [ir.IntType(32)(index)])


@extending.intrinsic
def _add_tile(
    typing_context: Any,
    sums: Any,
    panel: Any,
    a: Any,
    b: Any,
    c: Any,
    d: Any,
    step: Any,
    depth: Any,
) -> Any:
    """Adds the products of four rows at these addresses with the first rows of the panel."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        sums, panel, *rows, step, depth = arguments
        word = context.get_value_type(types.intp)
        lane, zero = ir.IntType(32), ir.Constant(_VECTOR, ir.Undefined)
        everywhere = ir.Constant(ir.VectorType(lane, _LANES), [lane(0)] * _LANES)
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        add = cgutils.get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{_LANES}f32")
        count = _ROWS * _VECTORS
        totals = [cgutils.alloca_once(builder, _VECTOR) for _ in range(count)]
        for i, total in enumerate(totals):
            builder.store(builder.load(_at(builder, sums, i), align=4), total)
        with cgutils.for_range(builder, depth) as loop:
            here = builder.add(panel, builder.mul(loop.index, word(ROW_BYTES)))
            values = [builder.load(_at(builder, here, i), align=4) for i in range(_VECTORS)]
            past = builder.mul(loop.index, step)
            for row, start in enumerate(rows):
                place = builder.inttoptr(builder.add(start, past), ir.FloatType().as_pointer())
                one = builder.insert_element(zero, builder.load(place, align=4), lane(0))
                factor = builder.shuffle_vector(one, zero, everywhere)
                for i, value in enumerate(values):
                    total = totals[row * _VECTORS + i]
                    builder.store(builder.call(add, [factor, value, builder.load(total)]), total)
        for i, total in enumerate(totals):
            builder.store(builder.load(total), _at(builder, sums, i), align=4)
        return context.get_dummy_value()

    addresses = (types.uintp,) * 6
    return types.void(*addresses, types.intp, types.intp), generate


@extending.intrinsic
def copy_row(typing_context: Any, target: Any, source: Any) -> Any:
    """Copies COLUMNS elements that follow one another to a row of a panel."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, source = arguments
        values = [builder.load(_at(builder, source, i), align=4) for i in range(_VECTORS)]
        for i, value in enumerate(values):
            builder.store(value, _at(builder, target, i), align=4)
        return context.get_dummy_value()

    return types.void(types.uintp, types.uintp), generate


@serial
def add_products(
    sums: Any, panel: Any, a: Any, a_row: Any, a_step: Any, rows: Any, depth: Any
) -> None:
    """sums[r, j] += sum over i of a[r, i] panel[i, j]; a and its strides count bytes.

    The last tile takes the last row again for those that it has too many.
    """
    last = rows - 1
    for row in range(0, rows, _ROWS):
        _add_tile(
            sums + row * ROW_BYTES,
            panel,
            a + row * a_row,
            a + min(row + 1, last) * a_row,
            a + min(row + 2, last) * a_row,
            a + min(row + 3, last) * a_row,
            a_step,
            depth,
        )


@serial
def fill_row(sums: Any, row: Any, value: Any) -> None:
    """One value in a row of sums."""
    y = pointer(sums + row * ROW_BYTES, numba.float32)
    for j in range(COLUMNS):
        y[j] = value


@serial
def block_height(rows: Any) -> Any:
    """The rows of one block, so that all blocks are about as high; a multiple of a tile's."""
    blocks = (rows + HEIGHT - 1) // HEIGHT
    return ((rows + blocks - 1) // blocks + _ROWS - 1) // _ROWS * _ROWS


@serial
def line_of(address: Any) -> Any:
    """The first address from this one on where a line of the cache begins."""
    return (address + _LINE - 1) // _LINE * _LINE
