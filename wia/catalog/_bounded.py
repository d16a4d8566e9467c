"""Numbers with how far off a driver may have them: errors carried from one operation to the next.

An error is in roundings of the accumulator. Each sum, difference and product adds one, relative to
its result; a matrix product of length k adds min(k, 8 sqrt(k)) and one more, relative to the sum of
absolute products (see :mod:`wia.catalog._tolerance`). Products of two errors are left out: they are
below the roundings themselves by 2**-24.
"""

from __future__ import annotations

from typing import Any


class Bounded:
    """An array and the errors of its elements, which sums and products carry on."""

    __slots__ = ("error", "value")
    __array_ufunc__ = None  # numpy leaves its operators to those of this class

    def __init__(self, value: Any, error: Any = 0.0) -> None:
        self.value = value
        self.error = error

    def __getitem__(self, place: Any) -> Bounded:
        return Bounded(self.value[place], self.error[place])

    def __add__(self, other: Any) -> Bounded:
        other = _bounded(other)
        value = self.value + other.value
        return Bounded(value, self.error + other.error + abs(value))

    def __rsub__(self, other: Any) -> Bounded:
        value = other - self.value
        return Bounded(value, self.error + abs(value))

    def __mul__(self, other: Any) -> Bounded:
        other = _bounded(other)
        value = self.value * other.value
        carried = abs(self.value) * other.error + abs(other.value) * self.error
        return Bounded(value, carried + abs(value))

    __radd__ = __add__
    __rmul__ = __mul__


def _bounded(other: Any) -> Bounded:
    return other if isinstance(other, Bounded) else Bounded(other)


def roundings(length: int) -> float:
    """Those of a sum of so many products."""
    return float(min(length, 8 * length**0.5) + 1)


def bounded_product(np: Any, a: Bounded, b: Any) -> Bounded:
    """The matrix product with an exact b."""
    sizes = abs(a.value) * roundings(b.shape[0]) + a.error
    return Bounded(np.matmul(a.value, b), np.matmul(sizes, abs(b)))


CARRIED = (
    "One rounding of the result, and errors in the accumulator that are carried on: a rounding of "
    "each sum and product of elements, min(k, 8 sqrt(k)) + 1 relative to the absolute sums of a "
    "matrix product of length k, four of an activation, each with the steepness that it has there"
)
"""Tolerance.reason of what is computed so."""
