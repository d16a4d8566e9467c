"""Remainders, rounded quotients and common divisors."""

from __future__ import annotations

import math
from typing import Any

from ._forms import (
    EXACT,
    PAIR_SAMPLES,
    PAIRS_OF_ENDS,
    PAIRS_OF_HALVES,
    STEPS,
    binary,
    flag,
    onnx,
    valued,
)
from ._model import FLOATS, INTEGERS
from ._numeric import each, is_integer, is_unsigned, narrow, widen

_SAMPLES = (*PAIR_SAMPLES, PAIRS_OF_HALVES)
_WHOLE = (*PAIR_SAMPLES, PAIRS_OF_ENDS)
_BY_ZERO = "By 0 integers give 0, and floats what IEEE 754 says."


def mod(np: Any, a: Any, b: Any, *, fmod: int) -> Any:
    """What is left of a, with the sign of b, or with that of a for fmod."""
    first, second, safe = _operands(np, a, b)
    rest = np.fmod(first, safe) if fmod else np.mod(first, safe)
    if is_integer(a.dtype):
        rest = np.where(safe == second, rest, 0)
    return narrow(np, rest, a.dtype)


def floor_div(np: Any, a: Any, b: Any) -> Any:
    """The quotient, rounded down."""
    first, second, safe = _operands(np, a, b)
    quotient = np.floor_divide(first, safe)
    if is_integer(a.dtype):
        opposite = (second == -1) & (not is_unsigned(a.dtype))
        quotient = np.where(opposite, 0 - first, np.where(second == 0, 0, quotient))
    return narrow(np, quotient, a.dtype)


def _operands(np: Any, a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Both, wide, and the second without the integers that can't divide every other one."""
    first, second = np.broadcast_arrays(widen(np, a), widen(np, b))
    if not is_integer(a.dtype):
        return first, second, second
    wrong = second == 0
    if not is_unsigned(a.dtype):
        wrong = wrong | (second == -1)
    return first, second, np.where(wrong, np.ones((), second.dtype), second)


def remainder(np: Any, a: Any, b: Any) -> Any:
    """What is left of a by the nearest multiple of b."""
    return narrow(np, each(np, math.remainder, a, b), a.dtype)


def gcd(np: Any, a: Any, b: Any) -> Any:
    """Greatest common divisor."""
    return narrow(np, np.gcd(widen(np, a), widen(np, b)), a.dtype)


def lcm(np: Any, a: Any, b: Any) -> Any:
    """Least common multiple."""
    return narrow(np, np.lcm(widen(np, a), widen(np, b)), a.dtype)


MOD = binary(
    67,
    "mod",
    "Remainder of a division.",
    "output = a - b * floor(a / b), or a - b * trunc(a / b) with fmod",
    mod,
    notes=(
        "The quotient is that of exact numbers, and a remainder of floats is rounded once; with "
        "fmod it needs no rounding.",
        "The remainder of an integer by 0 is 0; that of a float is NaN. That of the least integer "
        "by -1 is 0.",
        "A remainder of 0 of floats has the sign of b, or that of a with fmod.",
    ),
    attributes=(
        flag("fmod", "1: the remainder has the sign of a, as in C; 0: that of b, as in Python."),
    ),
    standard=onnx("Mod", 13),
    samples=(*_SAMPLES, PAIRS_OF_ENDS, *valued((*_SAMPLES[-3:], PAIRS_OF_ENDS), fmod=1)),
    source="ONNX node tests mod_*; division by 0 and of the least integer by hand",
    config="wia_mod_config_t",
)
FLOOR_DIV = binary(
    68,
    "floor_div",
    "Quotient, rounded down.",
    "output = floor(a / b)",
    floor_div,
    notes=(
        f"The quotient is that of exact numbers. {_BY_ZERO}",
        "The least integer by -1 gives itself.",
    ),
    source="Python's //; division by 0 and of the least integer by hand",
    samples=(*_SAMPLES, PAIRS_OF_ENDS),
    no_gradient=STEPS,
)
REMAINDER = binary(
    69,
    "remainder",
    "Remainder by the nearest multiple, as in IEEE 754.",
    "output = a - n * b, with n the whole number nearest to a / b, the even one of two",
    remainder,
    notes=(
        "The result is exact. It lies between -|b| / 2 and |b| / 2; a remainder of 0 has the sign "
        "of a. Infinite a and b of 0 give NaN; NaN stays. mod has those of other roundings.",
    ),
    tolerance=EXACT,
    source="values worked by hand",
    dtypes=FLOATS,
    samples=_SAMPLES,
)
GCD = binary(
    83,
    "gcd",
    "Greatest common divisor.",
    "output = the largest number that divides a and b",
    gcd,
    dtypes=INTEGERS,
    notes=("Never negative, but for the least integer with itself or 0. That of 0 and 0 is 0.",),
    tolerance=EXACT,
    source="Python's math.gcd",
    samples=_WHOLE,
)
LCM = binary(
    84,
    "lcm",
    "Least common multiple.",
    "output = the least number, 0 aside, that a and b divide",
    lcm,
    dtypes=INTEGERS,
    notes=("0 where a or b is 0. Too large wraps.",),
    tolerance=EXACT,
    source="Python's math.lcm",
    samples=_WHOLE,
)

OPERATIONS = (MOD, FLOOR_DIV, REMAINDER, GCD, LCM)
