"""Indices in operands: checked, and turned into positions of elements."""

from __future__ import annotations

from typing import Any

from ._numeric import OperandError, narrow, widen


def checked(np: Any, operation: str, indices: Any, size: int, where: str) -> Any:
    """Indices as int64 from 0 on, row-major; those below 0 count from the end.

    ``where`` says in words what has ``size`` elements. Raises OperandError for one out of range.
    """
    wrong = (indices < -size) | (indices >= size)
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        given = f"{operation}: indices{list(place)} is {int(indices[place])}"
        raise OperandError(
            f"{given}; expected {-size} to {size - 1}, since {where} has {size} elements"
            if size
            else f"{given}, but {where} has no element"
        )
    indices = np.asarray(indices, dtype=np.int64, order="C")
    return np.where(indices < 0, indices + size, indices)


def positions(np: Any, shape: tuple[int, ...]) -> Any:
    """The row-major number of each element: what is picked from it says where elements lie."""
    return np.arange(np.prod(shape, dtype=np.int64)).reshape(shape)


def store(np: Any, x: Any, places: Any, updates: Any, reduction: int) -> Any:
    """A copy of x with updates stored at row-major places, or combined with what is there.

    In the row-major order of updates: of several for one place the last is kept. Combined ones are
    rounded once. ``reduction``: 0 none, 1 add, 2 mul, 3 max, 4 min.
    """
    result = np.array(x, order="C")
    flat, places, updates = result.reshape(-1), places.reshape(-1), updates.reshape(-1)
    if reduction == 0:
        flat[places] = updates
        return result
    wide = widen(np, flat).copy()
    combine = (np.add, np.multiply, np.maximum, np.minimum)[reduction - 1]
    combine.at(wide, places, widen(np, updates))
    flat[places] = narrow(np, wide[places], x.dtype)
    return result
