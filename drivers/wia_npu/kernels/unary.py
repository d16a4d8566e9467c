"""Functions of one element, float32."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer, scalar
from wia_npu._elements import CLIP, CODE, HIGH, LOW, SCALE, SPACE
from wia_npu.kernels.common import (
    INVALID_ARGUMENT,
    first_unit,
    inner_size,
    inner_stride,
    offset_at,
    operand,
    part,
    word,
)
from wia_npu.kernels.functions import run_function

__all__ = ["unary"]


@part
def unary(state: Any, args: Any, chunk: Any) -> Any:
    """output = f(input)."""
    a, c = operand(state, args, 0), operand(state, args, 1)
    code = word(state, CODE)
    low = high = numba.float32(0.0)
    if code == CLIP:
        low = numba.float32(scalar(args, word(state, LOW)))
        high = numba.float32(scalar(args, word(state, HIGH)))
        if low != low or high != high:
            return INVALID_ARGUMENT
    elif code == SCALE:
        low = numba.float32(scalar(args, word(state, LOW)))
    inner = inner_size(state, SPACE)
    sa, sc = inner_stride(state, SPACE, 0), inner_stride(state, SPACE, 1)
    begin, end = first_unit(state, chunk), first_unit(state, chunk + 1)
    while begin < end:
        n = min(inner - begin % inner, end - begin)
        source = pointer(a + 4 * offset_at(state, SPACE, 0, begin), numba.float32)
        target = pointer(c + 4 * offset_at(state, SPACE, 1, begin), numba.float32)
        run_function(code, source, sa, target, sc, n, low, high)
        begin += n
    return 0
