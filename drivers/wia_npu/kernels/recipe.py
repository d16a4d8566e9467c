"""Recipes: the words of a program for any shape, made at each launch on the caller's stack."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import operand_size, operand_stride, pointer
from wia_npu._terms import CONSTANT, DIMENSION_BITS, END, KIND_BITS, PRODUCT, SIZE, SPACE, STEP
from wia_npu._words import CHUNKS, CHUNKS_A_THREAD, HEADER, RANK, THREADS, UNITS, WORTH_A_CHUNK
from wia_npu.kernels.common import serial, word

__all__ = ["make_words"]

_KIND, _DIMENSION = (1 << KIND_BITS) - 1, (1 << DIMENSION_BITS) - 1


@serial
def _low(code: Any) -> Any:
    return code >> KIND_BITS & _DIMENSION


@serial
def _high(code: Any) -> Any:
    return code >> KIND_BITS + DIMENSION_BITS


@serial
def _look_up(args: Any, code: Any) -> Any:
    """The value of a term."""
    kind = code & _KIND
    if kind == CONSTANT:
        return code >> KIND_BITS
    size = operand_size(args, _high(code), _low(code))
    if kind == SIZE:
        return size
    if kind == STEP and size == 1:
        return 0
    return operand_stride(args, _high(code), _low(code))


@serial
def _product(recipe: Any, args: Any, at: Any) -> Any:
    """Of the terms behind a word PRODUCT."""
    total = 1
    for i in range(_low(recipe[at])):
        total *= _look_up(args, recipe[at + 1 + i])
    return total


@serial
def _follows(recipe: Any, args: Any, at: Any, operands: Any, size: Any, space: Any) -> Any:
    """Whether a dimension, whose terms are at `at`, can be joined to the last one of a space."""
    for i in range(operands):
        stride = _look_up(args, recipe[at + 1 + i])
        if space[space[0] + RANK * (1 + i)] != stride * size:
            return False
    return True


@serial
def _make_space(recipe: Any, args: Any, at: Any, space: Any) -> None:
    """As wia_npu._words.simplify, of the terms behind a word SPACE."""
    operands = _high(recipe[at])
    space[0] = 0
    for dimension in range(_low(recipe[at])):
        own = at + 1 + dimension * (1 + operands)
        size = _look_up(args, recipe[own])
        if size == 1:
            continue
        if space[0] > 0 and _follows(recipe, args, own, operands, size, space):
            space[space[0]] *= size
        else:
            space[0] += 1
            space[space[0]] = size
        for i in range(operands):
            space[space[0] + RANK * (1 + i)] = _look_up(args, recipe[own + 1 + i])
    if space[0] == 0:
        space[0] = space[1] = 1
        for i in range(operands):
            space[1 + RANK * (1 + i)] = 0


@serial
def make_words(state: Any, args: Any, words: Any) -> None:
    """Those of the program of a recipe, for the operands of a launch, at an address."""
    target = pointer(words, numba.int64)
    for i in range(HEADER):
        target[i] = word(state, i)
    recipe = pointer(state, numba.int64)
    at = HEADER
    units = _product(recipe, args, at)
    at += 1 + _low(recipe[at])
    work = max(1, _product(recipe, args, at))
    at += 1 + _low(recipe[at])
    wanted = units * work // WORTH_A_CHUNK
    target[UNITS] = units
    target[CHUNKS] = max(1, min(units, wanted, CHUNKS_A_THREAD * word(state, THREADS)))
    to = HEADER
    while recipe[at] != END:
        kind = recipe[at] & _KIND
        if kind == PRODUCT:
            target[to] = _product(recipe, args, at)
            at += 1 + _low(recipe[at])
            to += 1
        elif kind == SPACE:
            operands = _high(recipe[at])
            _make_space(recipe, args, at, pointer(words + 8 * to, numba.int64))
            at += 1 + _low(recipe[at]) * (1 + operands)
            to += 1 + RANK * (1 + operands)
        else:
            target[to] = _look_up(args, recipe[at])
            at += 1
            to += 1
