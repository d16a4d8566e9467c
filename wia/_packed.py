"""Elements below 8 bits: a byte each in numpy, several per byte on devices, low bits first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

__all__ = ["pack", "unpack"]


def pack(array: np.ndarray[Any, Any], bits: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The packed bytes [ceil(size * bits / 8)] of an array of a dtype of 2 or 4 bits."""
    import numpy as np

    per_byte = 8 // bits
    elements = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    padded = np.zeros(-(-elements.size // per_byte) * per_byte, np.uint8)
    padded[: elements.size] = elements
    shifts = np.arange(per_byte, dtype=np.uint8) * bits
    shifted: np.ndarray[Any, np.dtype[np.uint8]] = padded.reshape(-1, per_byte) << shifts
    packed: np.ndarray[Any, np.dtype[np.uint8]] = np.bitwise_or.reduce(shifted, axis=1)
    return packed


def unpack(
    data: np.ndarray[Any, np.dtype[np.uint8]],
    dtype: np.dtype[Any],
    bits: int,
    shape: tuple[int, ...],
) -> np.ndarray[Any, Any]:
    """The elements of packed bytes as an array of that shape, one byte each."""
    import math

    import numpy as np

    shifts = np.arange(8 // bits, dtype=np.uint8) * bits
    elements = (data[:, None] >> shifts).reshape(-1)[: math.prod(shape)] & ((1 << bits) - 1)
    return elements.astype(np.uint8).view(dtype).reshape(shape)
