"""Parts of operands, copied to parts of others, of any dtype of whole bytes."""

from __future__ import annotations

from typing import Any

from wia_npu._moves import COUNT, PART_SIZE, PARTS, WIDTH
from wia_npu.kernels.common import (
    first_unit,
    inner_size,
    inner_stride,
    offset_at,
    operand,
    part,
    word,
)
from wia_npu.kernels.runs import copy_run

__all__ = ["parts"]


@part
def parts(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is an element, those of one part behind those of another."""
    width, count = word(state, WIDTH), word(state, COUNT)
    begin, end = first_unit(state, chunk), first_unit(state, chunk + 1)
    for i in range(count):
        own = PARTS + PART_SIZE * i
        first, size = word(state, own), word(state, own + 1)
        source, x_first = word(state, own + 2), word(state, own + 3)
        target, y_first = word(state, own + 4), word(state, own + 5)
        space = own + 6
        inner = inner_size(state, space)
        x_step, y_step = inner_stride(state, space, 0), inner_stride(state, space, 1)
        unit, last = max(begin - first, 0), min(end - first, size)
        while unit < last:
            n = min(inner - unit % inner, last - unit)
            x = operand(state, args, source)
            x += width * (x_first + offset_at(state, space, 0, unit))
            y = operand(state, args, target)
            y += width * (y_first + offset_at(state, space, 1, unit))
            copy_run(width, x, x_step, y, y_step, n)
            unit += n
    return 0
