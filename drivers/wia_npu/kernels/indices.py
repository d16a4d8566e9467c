"""Indices of rows, int32 or int64, as gather and its kin get them."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._moves import INDEX_WIDTH, LENGTH
from wia_npu.kernels.common import offset_at, operand, serial, word

__all__ = ["index_at"]


@serial
def index_at(state: Any, args: Any, space: Any, place: Any, unit: Any) -> Any:
    """The index for a unit of a space, whose strides of the indices are at place there.

    Counted from the first row; below 0 or too large where there is none.
    """
    width = word(state, INDEX_WIDTH)
    address = operand(state, args, 1) + width * offset_at(state, space, place, unit)
    index = pointer(address, numba.int64)[0] if width == 8 else pointer(address, numba.int32)[0]
    return index + word(state, LENGTH) if index < 0 else index
