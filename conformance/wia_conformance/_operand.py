"""Operands of a case on a device, with elements around them that nobody may change."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

import wia
from wia_conformance._forms import lay_out, room
from wia_conformance._values import packed_bits

__all__ = ["Operand"]

Array = np.ndarray[Any, Any]


class Operand:
    """A view of a larger allocation. The host has a copy of all of it, to compare with later.

    What surrounds the view is random bytes: a kernel that reads there gets a wrong result, and one
    that writes there is found by count_changes().
    """

    def __init__(
        self,
        context: wia.Context,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        layout: str,
    ) -> None:
        self._shape, self._layout = shape, layout
        count = room(shape, layout)
        self._host: Array = _random_elements(count, dtype).copy()
        self._now = self._host
        self._flat = context.empty(count, dtype)
        view: wia.Tensor = lay_out(self._flat, shape, layout)
        self.tensor = view if view.shape == shape else view.broadcast_to(shape)

    def write(self, values: Array | None) -> None:
        """Sets the elements of the view; None: to what an output has that was never written to."""
        view = lay_out(self._host, self._shape, self._layout)
        if values is None:
            view[...] = _blank(self._host.dtype)
        elif view.shape == self._shape:
            view[...] = values
        else:
            view[...] = values[:1]
        self._flat.write(self._host)

    def fetch(self) -> None:
        """Takes from the device what elements() and the counts of changes are about."""
        self._now = self._flat.numpy()

    def elements(self) -> Array:
        """The elements of the view, as they were at the last fetch()."""
        return np.array(lay_out(self._now, self._shape, self._layout), order="C")

    def count_changes(self, *, outside: bool) -> int:
        """Elements that are not as the last write() left them: of all, or of those outside."""
        width = self._host.dtype.itemsize
        now, then = self._now.view(np.uint8), self._host.view(np.uint8)
        changed = now != then
        if not changed.any():
            return 0
        changed = changed.reshape(-1, width).any(axis=1)
        if outside:
            lay_out(changed, self._shape, self._layout)[...] = False
        return int(np.count_nonzero(changed))


@lru_cache(maxsize=512)
def _random_elements(count: int, dtype: np.dtype[Any]) -> Array:
    """Elements of random bytes; the same ones for each operand of that size and dtype."""
    surrounding = np.random.default_rng(count).integers(0, 256, count * dtype.itemsize, np.uint8)
    surrounding &= 1 if dtype.kind == "b" else 2 ** packed_bits(dtype) - 1
    return surrounding.view(dtype)


@lru_cache
def _blank(dtype: np.dtype[Any]) -> Any:
    """NaN where there is one, so that a result which depends on it shows; else all bits set."""
    if dtype.kind == "b":
        return True
    bits = packed_bits(dtype)
    return np.full(dtype.itemsize, 2**bits - 1, np.uint8).view(dtype)[0]
