"""Choices between two elements of any dtype of whole bytes."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu._moves import CHOICE, WIDTH
from wia_npu.kernels.common import first_unit, offset_at, operand, part, word

__all__ = ["where"]


@part
def where(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is an element, which is copied as it is."""
    width = word(state, WIDTH)
    for unit in range(first_unit(state, chunk), first_unit(state, chunk + 1)):
        place = operand(state, args, 0) + offset_at(state, CHOICE, 0, unit)
        chosen = 1 if pointer(place, numba.uint8)[0] != 0 else 2
        x = operand(state, args, chosen) + width * offset_at(state, CHOICE, chosen, unit)
        y = operand(state, args, 3) + width * offset_at(state, CHOICE, 3, unit)
        if width == 4:
            pointer(y, numba.uint32)[0] = pointer(x, numba.uint32)[0]
        else:
            source, target = pointer(x, numba.uint8), pointer(y, numba.uint8)
            for i in range(width):
                target[i] = source[i]
    return 0
