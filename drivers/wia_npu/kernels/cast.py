"""Conversions between dtypes: bool, integers, float32 and float64."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._dtypes import FLOAT32, UINT64
from wia_npu._moves import FROM, SPACE, TO
from wia_npu.kernels.common import first_unit, offset_at, operand, part, word
from wia_npu.kernels.numbers import bytes_of, float_at, integer_at, write_float, write_number

__all__ = ["cast"]


@part
def cast(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is an element."""
    source, target = word(state, FROM), word(state, TO)
    x_bytes, y_bytes = bytes_of(source), bytes_of(target)
    for unit in range(first_unit(state, chunk), first_unit(state, chunk + 1)):
        x = operand(state, args, 0) + x_bytes * offset_at(state, SPACE, 0, unit)
        y = operand(state, args, 1) + y_bytes * offset_at(state, SPACE, 1, unit)
        if source >= FLOAT32:
            write_float(target, y, float_at(source, x))
        elif source == UINT64:
            write_number(target, y, pointer(x, numba.uint64)[0])
        else:
            write_number(target, y, integer_at(source, x))
    return 0
