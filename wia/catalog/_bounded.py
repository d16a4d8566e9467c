"""Numbers with how far off a driver may have them: errors carried from one operation to the next.

Each sum, difference and product adds a rounding of the accumulator, relative to its result, and a
matrix product of length k as many as sqrt(k) independent ones, relative to the sum of absolute
products. What an error becomes later is its derivative: of that of the state before, element by
element, so that errors cancel or fade as they do in the layer. Errors of different roundings are
independent, so their squares add up, and 8 of the root of that is allowed, as in
:mod:`wia.catalog._tolerance`. Products of two errors are left out: they are below roundings by
2**-24.
"""

from __future__ import annotations

from typing import Any


class Bounded:
    """An array [b, n] of numbers, with errors.

    ``noise`` is [b, n, q]: what each of q independent errors that came in does to each element.
    ``fresh`` is [b, n]: the sum of squares of errors that each element got since.
    """

    __slots__ = ("fresh", "noise", "value")
    __array_ufunc__ = None  # numpy leaves its operators to those of this class

    def __init__(self, value: Any, noise: Any, fresh: Any) -> None:
        self.value = value
        self.noise = noise
        self.fresh = fresh

    def __getitem__(self, place: Any) -> Bounded:
        return Bounded(self.value[place], self.noise[place], self.fresh[place])

    def __add__(self, other: Any) -> Bounded:
        if isinstance(other, Bounded):
            value = self.value + other.value
            return Bounded(
                value, self.noise + other.noise, self.fresh + other.fresh + value * value
            )
        value = self.value + other
        return Bounded(value, self.noise, self.fresh + value * value)

    def __rsub__(self, other: Any) -> Bounded:
        value = other - self.value
        return Bounded(value, -self.noise, self.fresh + value * value)

    def __mul__(self, other: Any) -> Bounded:
        if not isinstance(other, Bounded):
            made = self.scaled(other, self.value * other)
        else:
            left, right = self.scaled(other.value, 0.0), other.scaled(self.value, 0.0)
            noise, fresh = left.noise + right.noise, left.fresh + right.fresh
            made = Bounded(self.value * other.value, noise, fresh)
        return made.rounded(made.value)

    __radd__ = __add__
    __rmul__ = __mul__

    def scaled(self, slope: Any, value: Any) -> Bounded:
        """Another value, which a change of this one moves by the slope."""
        slope = slope + 0.0 * self.value
        return Bounded(value, self.noise * slope[..., None], self.fresh * slope * slope)

    def rounded(self, size: Any) -> Bounded:
        """With one error more, of that size in roundings."""
        return Bounded(self.value, self.noise, self.fresh + size * size)


def exact(np: Any, value: Any, count: int) -> Bounded:
    """Numbers without an error, beside ``count`` errors of others."""
    return Bounded(value, np.zeros((*value.shape, count)), np.zeros(value.shape))


def bounded_product(np: Any, a: Bounded, b: Any) -> Bounded:
    """The matrix product with an exact b [k, n]."""
    size = np.matmul(abs(a.value), abs(b)) * (b.shape[0] + 1) ** 0.5
    noise = np.swapaxes(np.matmul(np.swapaxes(a.noise, 1, 2), b), 1, 2)
    return Bounded(np.matmul(a.value, b), noise, np.matmul(a.fresh, b * b) + size * size)


def errors_of(np: Any, states: Any) -> Any:
    """The errors of some arrays [b, n] as [b, count, n, count * n], ready to come in as noise."""
    noise = np.concatenate([item.noise for item in states], axis=1)
    fresh = np.sqrt(np.concatenate([item.fresh for item in states], axis=1))
    size = fresh.shape[1]
    # R of a QR decomposition has the same sums of products as all errors together.
    rows = np.concatenate([np.swapaxes(noise, 1, 2), fresh[:, :, None] * np.eye(size)], axis=1)
    root = np.swapaxes(np.linalg.qr(rows, mode="r"), 1, 2)
    return root.reshape(len(fresh), len(states), size // len(states), size)


def allowance(np: Any, errors: Any) -> Any:
    """The allowed error of each element, in roundings."""
    return 8.0 * np.sqrt((errors * errors).sum(axis=-1))


CARRIED = (
    "One rounding of the result, and errors in the accumulator that are carried on: a rounding of "
    "each sum and product of elements, sqrt(k + 1) of a matrix product of length k, relative to "
    "its absolute sum, four of an activation, each with the derivative that it has there; taken "
    "as independent, and 8 of the root of their squares"
)
"""Tolerance.reason of what is computed so."""
