"""What all kernels share: options of the compiler, words of programs, places in spaces."""

from __future__ import annotations

from typing import Any

import numba
from numba import extending, types
from numba.core import cgutils

from wia.driver.numba import operand_address, pointer
from wia_npu import _compiler
from wia_npu._words import CHUNKS, DISTANCE, RANK, UNITS

__all__ = [
    "INVALID_ARGUMENT",
    "PART_SIGNATURE",
    "first_of",
    "first_unit",
    "inner_size",
    "inner_stride",
    "offset_at",
    "operand",
    "part",
    "serial",
    "stack",
    "word",
]

INVALID_ARGUMENT = 3
"""WIA_STATUS_INVALID_ARGUMENT, for parts to return."""

PART_SIGNATURE = types.int32(types.uintp, types.uintp, types.intp)
"""int32 part(state, args, chunk): does the units of one chunk and returns a status."""


def serial(function: Any) -> Any:
    """Code that parts are made of. Division by zero follows IEEE 754."""
    return numba.njit(error_model="numpy", nogil=True)(function)


def part(function: Any) -> Any:
    """A part of a kernel, which wia_npu.kernels.run calls once for each chunk."""
    return numba.cfunc(PART_SIGNATURE, error_model="numpy", cache=_compiler.is_cached())(function)


@extending.intrinsic(prefer_literal=True)
def stack(typing_context: Any, size: Any) -> Any:
    """The address of that many bytes, a constant, on the stack of the function that calls this."""
    if not isinstance(size, types.IntegerLiteral):
        return None
    count = size.literal_value // 8

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = context.get_value_type(types.int64)
        words = cgutils.alloca_once(builder, kind, size=count)
        return builder.ptrtoint(words, context.get_value_type(types.uintp))

    return types.uintp(size), generate


@serial
def word(state: Any, index: Any) -> Any:
    """Word index of a program."""
    return pointer(state, numba.int64)[index]


@serial
def operand(state: Any, args: Any, index: Any) -> Any:
    """Where element 0 of an operand is kept."""
    return numba.int64(operand_address(args, index)) + word(state, DISTANCE)


@serial
def first_of(state: Any, tasks: Any, chunk: Any) -> Any:
    """The first task of a chunk, of as many as a kernel has made of its units."""
    return tasks * chunk // word(state, CHUNKS)


@serial
def first_unit(state: Any, chunk: Any) -> Any:
    """The first unit of a chunk; that of the one behind the last is the number of units."""
    return first_of(state, word(state, UNITS), chunk)


@serial
def inner_size(state: Any, space: Any) -> Any:
    """The size of a space's last dimension."""
    return word(state, space + word(state, space))


@serial
def inner_stride(state: Any, space: Any, position: Any) -> Any:
    """The stride of an operand along a space's last dimension."""
    return word(state, space + RANK * (1 + position) + word(state, space))


@serial
def offset_at(state: Any, space: Any, position: Any, index: Any) -> Any:
    """Elements from element 0 of the operand at a position to where step index of the space is."""
    rank = word(state, space)
    strides = space + 1 + RANK * (1 + position)
    total = numba.int64(0)
    for back in range(rank):
        dimension = rank - 1 - back
        size = word(state, space + 1 + dimension)
        rest = index // size
        total += (index - rest * size) * word(state, strides + dimension)
        index = rest
    return total
