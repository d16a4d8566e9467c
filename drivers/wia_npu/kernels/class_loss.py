"""Losses against the index of the right class, float32, computed in float64."""

from __future__ import annotations

import math
from typing import Any

import numba

from wia.driver.numba import pointer, workspace_address
from wia_npu._losses import (
    CLASSES,
    HAS_LOGS,
    HAS_WEIGHT,
    IGNORED,
    INDEX_WIDTH,
    LOG_STEP,
    LOGITS,
    MEAN,
    NONE,
    PLACES,
    REDUCTION,
    STEP,
    WEIGHT_STEP,
)
from wia_npu._words import DISTANCE, UNITS
from wia_npu.kernels.common import (
    INVALID_ARGUMENT,
    first_unit,
    offset_at,
    operand,
    part,
    serial,
    word,
)
from wia_npu.kernels.exponentials import sum_exponentials

__all__ = ["class_loss", "sum_losses"]


@serial
def _sums(state: Any, args: Any) -> Any:
    """Loss and weight of each unit, in the workspace."""
    return pointer(numba.int64(workspace_address(args)) + word(state, DISTANCE), numba.float64)


@serial
def _target(state: Any, args: Any, unit: Any) -> Any:
    width = word(state, INDEX_WIDTH)
    place = operand(state, args, 1) + width * offset_at(state, PLACES, 1, unit)
    return pointer(place, numba.int64)[0] if width == 8 else pointer(place, numba.int32)[0]


@serial
def _bounds(state: Any, x: Any) -> Any:
    """What is taken from a logit for the logarithm of its probability: two numbers."""
    if word(state, LOGITS) == 0:
        return 0.0, 0.0
    largest, total = sum_exponentials(x, word(state, STEP), word(state, CLASSES))
    return largest, math.log(total)


@serial
def _write_logs(state: Any, args: Any, unit: Any, x: Any, largest: Any, less: Any) -> None:
    place = operand(state, args, 4) + 4 * offset_at(state, PLACES, 3, unit)
    logs, step, to = pointer(place, numba.float32), word(state, STEP), word(state, LOG_STEP)
    for i in range(word(state, CLASSES)):
        logs[i * to] = numba.float32((numba.float64(x[i * step]) - largest) - less)


@part
def class_loss(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is a target."""
    classes = word(state, CLASSES)
    for unit in range(first_unit(state, chunk), first_unit(state, chunk + 1)):
        place = operand(state, args, 0) + 4 * offset_at(state, PLACES, 0, unit)
        x = pointer(place, numba.float32)
        largest, less = _bounds(state, x)
        if word(state, HAS_LOGS):
            _write_logs(state, args, unit, x, largest, less)
        loss, share, right = 0.0, 0.0, _target(state, args, unit)
        if right != word(state, IGNORED):
            if right < 0 or right >= classes:
                return INVALID_ARGUMENT
            share = 1.0
            if word(state, HAS_WEIGHT):
                weights = pointer(operand(state, args, 2), numba.float32)
                share = numba.float64(weights[right * word(state, WEIGHT_STEP)])
            own = numba.float64(x[right * word(state, STEP)])
            loss = -((own - largest) - less) * share
        if word(state, REDUCTION) == NONE:
            place = operand(state, args, 3) + 4 * offset_at(state, PLACES, 2, unit)
            pointer(place, numba.float32)[0] = numba.float32(loss)
        else:
            sums = _sums(state, args)
            sums[2 * unit], sums[2 * unit + 1] = loss, share
    return 0


@part
def sum_losses(state: Any, args: Any, chunk: Any) -> Any:
    """The sum of all losses, or their mean by weight."""
    sums = _sums(state, args)
    total, weight = 0.0, 0.0
    for unit in range(word(state, UNITS)):
        total += sums[2 * unit]
        weight += sums[2 * unit + 1]
    if word(state, REDUCTION) == MEAN:
        total /= weight
    pointer(operand(state, args, 3), numba.float32)[0] = numba.float32(total)
    return 0
