"""The error function's inverse and the functions around gamma, in float64."""

from __future__ import annotations

import math
from typing import Any

from ._numeric import each

_BERNOULLI = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
"""B_2k / 2k for k from 1."""
_EXPANSION = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
"""B_2k for k from 1."""
_LARGE = 10


def inverse_error(np: Any, value: Any, rest: Any) -> Any:
    """The t >= 0 with erf(t) = value and erfc(t) = rest, two numbers that add up to 1.

    Begins with Winitzki's approximation (A handy approximation for the error function and its
    inverse, 2008), whose error is below 0.003, and takes three of Halley's steps, which cube it.
    """
    inside = (rest > 0) & (value >= 0)
    value, rest = np.where(inside, value, 0.5), np.where(inside, rest, 0.5)
    log = np.log(rest * (1.0 + value))
    middle = 2.0 / (math.pi * 0.147) + 0.5 * log
    t = np.sqrt(np.sqrt(middle * middle - log / 0.147) - middle)
    for _ in range(3):
        # The smaller one of both has all its digits.
        error = np.where(value < 0.5, each(np, math.erf, t) - value, rest - each(np, math.erfc, t))
        step = error * (0.5 * math.sqrt(math.pi)) * np.exp(t * t)
        t = t - step / (1.0 + t * step)
    return np.where(inside, t, np.nan)


def gamma(np: Any, wide: Any) -> Any:
    """math.gamma, but infinite at zeros of either sign and beside them."""
    small = np.abs(wide) < 2.0**-1000
    return np.where(small, 1.0 / wide, each(np, math.gamma, np.where(small, 1.0, wide)))


def digamma(np: Any, wide: Any) -> Any:
    """The derivative of the logarithm of gamma.

    Abramowitz and Stegun, Handbook of Mathematical Functions: the reflection 6.3.7, the recurrence
    6.3.6 up to 10, and the expansion 6.3.18 from there.
    """
    reflected = wide < -0.5
    x = np.where(reflected, 1.0 - wide, wide)
    total = np.zeros_like(x)
    for _ in range(_LARGE + 1):
        low = x < _LARGE
        total = total - np.where(low, 1.0 / np.where(low, x, 1.0), 0.0)
        x = x + low
    inverse = 1.0 / x
    square = inverse * inverse
    power = np.ones_like(x)
    for factor in _BERNOULLI:
        power = power * square
        total = total - factor * power
    total = total + np.log(x) - 0.5 * inverse
    part = wide - np.round(wide)
    pole = reflected & (part == 0)
    turn = math.pi / np.tan(math.pi * np.where(reflected & ~pole, part, 0.25))
    return np.where(pole, np.nan, np.where(reflected, total - turn, total))


def polygamma(np: Any, order: int, wide: Any) -> Any:
    """A derivative of digamma, of an order of 1 or more.

    Abramowitz and Stegun, Handbook of Mathematical Functions: the reflection 6.4.7, the recurrence
    6.4.6 up to 20 + order, and the expansion 6.4.11 from there.
    """
    reflected = wide < -0.5
    total = _polygamma_above(np, order, np.where(reflected, 1.0 - wide, wide))
    part = wide - np.round(wide)
    pole = reflected & (part == 0)
    turn = _turn(np, order, np.where(reflected & ~pole, part, 0.25))
    sign = -1.0 if order % 2 else 1.0
    at_pole = np.inf if order % 2 else np.nan
    return np.where(pole, at_pole, np.where(reflected, sign * total - turn, total))


def polygamma_parts(np: Any, order: int, wide: Any) -> Any:
    """What is added up in polygamma, as absolute values."""
    reflected = wide < -0.5
    total = np.abs(_polygamma_above(np, order, np.where(reflected, 1.0 - wide, wide)))
    part = np.where(reflected, wide - np.round(wide), 0.25)
    return np.where(reflected, total + np.abs(_turn(np, order, part)), total)


def _polygamma_above(np: Any, order: int, x: Any) -> Any:
    """Above -0.5. All terms have one sign, so nothing cancels."""
    total, low = np.zeros_like(x), 20 + order
    for _ in range(low + 1):
        more = x < low
        total = total + np.where(more, np.where(more, x, 1.0) ** -(order + 1.0), 0.0)
        x = x + more
    inverse = 1.0 / x
    tail, power = 1.0 / order + 0.5 * inverse, inverse * inverse
    for k, number in enumerate(_EXPANSION, 1):
        # (2k + order - 1)! / ((2k)! order!)
        factor = math.comb(2 * k + order - 1, order) / (2 * k)
        tail = tail + number * factor * power
        power = power * inverse * inverse
    sign = 1.0 if order % 2 else -1.0
    return sign * math.factorial(order) * (total + tail * inverse**order)


def _turn(np: Any, order: int, x: Any) -> Any:
    """The derivative of that order of pi cot(pi x)."""
    # In c = cot(pi x), whose derivative is -pi (1 + c^2).
    factors = np.array([0.0, 1.0])
    for _ in range(order):
        slope = factors[1:] * np.arange(1, len(factors))
        factors = -np.concatenate([slope, [0.0, 0.0]]) - np.concatenate([[0.0, 0.0], slope])
    cotangent, total = 1.0 / np.tan(math.pi * x), np.zeros_like(x)
    for factor in factors[::-1]:
        total = total * cotangent + factor
    return math.pi ** (order + 1) * total
