"""Steps of optimisers, float32, computed in float64."""

from __future__ import annotations

import math
from typing import Any

import numba

from wia.driver.numba import pointer, scalar
from wia_npu._steps import (
    ADAGRAD,
    ADAM,
    ADAMW,
    CODE,
    DECAY,
    EPSILON,
    FIRST,
    MOMENTUM,
    NESTEROV,
    NUMBER,
    RATE,
    SECOND,
    SGD,
    SPACE,
    STATES,
)
from wia_npu.kernels.common import (
    INVALID_ARGUMENT,
    first_unit,
    inner_size,
    inner_stride,
    offset_at,
    operand,
    part,
    serial,
    word,
)

__all__ = ["step"]


@serial
def _scalar(state: Any, args: Any, index: Any) -> Any:
    """A scalar of the launch; 0 for one that the operation doesn't have."""
    place = word(state, index)
    return scalar(args, place) if place >= 0 else 0.0


@serial
def _corrected(code: Any, beta: Any, number: Any) -> Any:
    """How much of a running mean that begins at 0 there is by now."""
    return 1.0 - math.pow(beta, number) if code in (ADAM, ADAMW) else 1.0


@serial
def _read(at: Any, i: Any, step: Any) -> Any:
    return numba.float64(pointer(at + 4 * i * step, numba.float32)[0])


@serial
def _write(at: Any, i: Any, step: Any, value: Any) -> None:
    pointer(at + 4 * i * step, numba.float32)[0] = numba.float32(value)


@serial
def _moved(code: Any, g: Any, a: Any, b: Any, first: Any, second: Any) -> Any:
    """The new states, from the gradient and the old ones."""
    if code == MOMENTUM:
        return first * a + (1.0 - second) * g, b
    if code == ADAGRAD:
        return a + g * g, b
    if code in (ADAM, ADAMW):
        return first * a + (1.0 - first) * g, second * b + (1.0 - second) * g * g
    return first * a + (1.0 - first) * g * g, b


@part
def step(state: Any, args: Any, chunk: Any) -> Any:
    """One unit is an element."""
    code, states = word(state, CODE), word(state, STATES)
    rate, decay = _scalar(state, args, RATE), _scalar(state, args, DECAY)
    first, second = _scalar(state, args, FIRST), _scalar(state, args, SECOND)
    epsilon, number = _scalar(state, args, EPSILON), _scalar(state, args, NUMBER)
    if code in (ADAM, ADAMW) and number < 1:
        return INVALID_ARGUMENT
    whole_mean, whole_square = _corrected(code, first, number), _corrected(code, second, number)
    shrunk = 1.0 - rate * decay if code == ADAMW else 1.0
    decay = 0.0 if code == ADAMW else decay
    inner, new = inner_size(state, SPACE), 2 + states
    p_step, g_step = inner_stride(state, SPACE, 0), inner_stride(state, SPACE, 1)
    a_step, b_step = inner_stride(state, SPACE, 2), inner_stride(state, SPACE, 3)
    new_p, new_a = inner_stride(state, SPACE, 4), inner_stride(state, SPACE, 5)
    new_b = inner_stride(state, SPACE, 6)
    begin, end = first_unit(state, chunk), first_unit(state, chunk + 1)
    while begin < end:
        n = min(inner - begin % inner, end - begin)
        p = operand(state, args, 0) + 4 * offset_at(state, SPACE, 0, begin)
        g = operand(state, args, 1) + 4 * offset_at(state, SPACE, 1, begin)
        a = b = to_a = to_b = p
        if states > 0:
            a = operand(state, args, 2) + 4 * offset_at(state, SPACE, 2, begin)
            to_a = operand(state, args, new + 1) + 4 * offset_at(state, SPACE, 5, begin)
        if states > 1:
            b = operand(state, args, 3) + 4 * offset_at(state, SPACE, 3, begin)
            to_b = operand(state, args, new + 2) + 4 * offset_at(state, SPACE, 6, begin)
        to_p = operand(state, args, new) + 4 * offset_at(state, SPACE, 4, begin)
        for i in range(n):
            x = _read(p, i, p_step)
            slope = _read(g, i, g_step) + decay * x
            if code == SGD:
                _write(to_p, i, new_p, x - rate * slope)
                continue
            old_b = _read(b, i, b_step)
            own_a, own_b = _moved(code, slope, _read(a, i, a_step), old_b, first, second)
            if code == MOMENTUM:
                move = slope + first * own_a if word(state, NESTEROV) else own_a
            elif code in (ADAM, ADAMW):
                move = own_a / whole_mean / (math.sqrt(own_b / whole_square) + epsilon)
            else:
                move = slope / (math.sqrt(own_a) + epsilon)
            _write(to_p, i, new_p, shrunk * x - rate * move)
            _write(to_a, i, new_a, own_a)
            if states > 1:
                _write(to_b, i, new_b, own_b)
        begin += n
    return 0
