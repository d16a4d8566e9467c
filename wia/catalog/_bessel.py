"""Bessel functions of the orders 0 and 1 in float64.

Section numbers are those of the Digital Library of Mathematical Functions, https://dlmf.nist.gov.
Over a whole period the rule of equal steps converges faster than any power of the step, so a
few dozen terms of an integral give all digits of float64.
"""

from __future__ import annotations

import math
from typing import Any

_FAR = 25.0
"""From here on the expansion for large arguments has all digits."""
_STEPS, _STEPS_MODIFIED = 32, 128
"""Steps in half a period: the error is about J_64(25) and I_256(714) / I_0(714)."""
_TERMS = 10
_OVERFLOWS = 2000.0


def modified(np: Any, order: int, wide: Any) -> Any:
    """I_0 or I_1: the integral 10.32.3, with exp(|x|) taken out so that it can't overflow early."""
    size = np.minimum(np.abs(wide), _OVERFLOWS)[..., None]
    angles = (np.arange(_STEPS_MODIFIED // 2) + 0.5) * (math.pi / _STEPS_MODIFIED)
    cosine = np.cos(angles)
    falling = np.exp(-2.0 * size * np.sin(0.5 * angles) ** 2)
    if order == 0:
        terms = 0.5 * falling * (1.0 + np.exp(-2.0 * size * cosine))
    else:
        terms = -0.5 * falling * np.expm1(-2.0 * size * cosine) * cosine
    half = np.exp(0.5 * size[..., 0])
    result = half * (half * terms.mean(axis=-1))
    result = np.where(np.isnan(wide), wide, result)
    return np.copysign(result, wide) if order else result


def bessel(np: Any, order: int, wide: Any) -> Any:
    """J_0 or J_1: the integral 10.9.1 near zero, Hankel's expansion 10.17.3 far from it."""
    size = np.abs(wide)
    near = _near(np, order, np.where(size < _FAR, size, 0.0))
    far = _far(np, order, np.where((size >= _FAR) & np.isfinite(size), size, _FAR))
    result = np.where(size < _FAR, near, np.where(np.isinf(size), 0.0, far))
    result = np.where(np.isnan(wide), wide, result)
    return np.where(wide < 0, -result, result) if order else result


def _near(np: Any, order: int, size: Any) -> Any:
    angles = (np.arange(_STEPS // 2) + 0.5) * (math.pi / _STEPS)
    sine = np.sin(angles)
    phase = size[..., None] * sine
    terms = np.sin(phase) * sine if order else np.cos(phase)
    return terms.mean(axis=-1)


def _far(np: Any, order: int, size: Any) -> Any:
    # The factors a_k of 10.17.1, and the sums over even and over odd ones.
    factor = np.ones_like(size)
    even, odd = factor, np.zeros_like(size)
    for k in range(1, 2 * _TERMS):
        factor = factor * ((4.0 * order**2 - (2 * k - 1) ** 2) / (8.0 * k)) / size
        sign = -1.0 if k // 2 % 2 else 1.0
        even, odd = (even, odd + sign * factor) if k % 2 else (even + sign * factor, odd)
    sine, cosine = np.sin(size), np.cos(size)
    # cos and sin of x - pi/4, or of x - 3 pi/4, times sqrt(2).
    first, second = (sine - cosine, -(sine + cosine)) if order else (cosine + sine, sine - cosine)
    return (even * first - odd * second) / np.sqrt(math.pi * size)
