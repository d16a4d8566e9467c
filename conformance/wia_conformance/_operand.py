"""Operands of a case on a device, with elements around them that nobody may change."""

from __future__ import annotations

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
    that writes there is found by check().
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
        random = np.random.default_rng(count)
        surrounding = random.integers(0, 256, count * dtype.itemsize, np.uint8)
        surrounding &= 1 if dtype.kind == "b" else 2 ** packed_bits(dtype) - 1
        self._host: Array = surrounding.view(dtype)
        self._flat = context.empty(count, dtype)
        view: wia.Tensor = lay_out(self._flat, shape, layout)
        self.tensor = view if view.shape == shape else view.broadcast_to(shape)

    def write(self, values: Array | None) -> None:
        """Sets the elements of the view; None: to what an output has that was never written to."""
        view = lay_out(self._host, self._shape, self._layout)
        if values is None:
            # NaN where there is one: a result that depends on it shows.
            bits = packed_bits(self._host.dtype)
            blank = np.full(self._host.dtype.itemsize, 2**bits - 1, np.uint8)
            is_bool = self._host.dtype.kind == "b"
            view[...] = True if is_bool else blank.view(self._host.dtype)[0]
        elif view.shape == self._shape:
            view[...] = values
        else:
            view[...] = values[:1]
        self._flat.write(self._host)

    def read(self) -> Array:
        """The elements of the view, as they are on the device."""
        return np.array(lay_out(self._flat.numpy(), self._shape, self._layout), order="C")

    def count_changes(self, *, outside: bool) -> int:
        """Elements that are not as the last write() left them: of all, or of those outside."""
        width = self._host.dtype.itemsize
        now, then = self._flat.numpy().view(np.uint8), self._host.view(np.uint8)
        changed = (now != then).reshape(-1, width).any(axis=1)
        if outside:
            lay_out(changed, self._shape, self._layout)[...] = False
        return int(changed.sum())
