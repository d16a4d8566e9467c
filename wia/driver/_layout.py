"""Layouts of operands, and numpy arrays over their memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wia._dtype import BITS, NAMES, numpy_dtype
from wia._native import ffi
from wia._packed import pack, unpack

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Layout"]


class Layout:
    """Dtype, shape and strides of one operand. Strides are in elements, as in C.

    `packed` is true for dtypes below 8 bits, whose elements share bytes, low bits first.
    """

    __slots__ = ("_begin", "_byte_strides", "_size", "code", "contiguous", "shape", "strides")

    def __init__(self, layout: Any) -> None:
        """Copies a `const wia_tensor_layout_t *`."""
        self.code: int = layout.dtype
        self.shape: tuple[int, ...] = tuple(ffi.unpack(layout.shape, layout.rank))
        self.strides: tuple[int, ...] = tuple(ffi.unpack(layout.strides, layout.rank))
        self.contiguous = bool(layout.contiguous)
        self._begin: int = layout.span_begin
        self._size: int = layout.span_end - layout.span_begin
        width = BITS[self.code] // 8
        self._byte_strides = tuple(stride * width for stride in self.strides)

    @property
    def dtype(self) -> str:
        """The dtype's name, "float32"."""
        return NAMES[self.code]

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """The dtype as numpy or ml_dtypes object."""
        return numpy_dtype(self.code)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def packed(self) -> bool:
        """Whether several elements share a byte."""
        return BITS[self.code] < 8

    def array(self, address: int) -> np.ndarray[Any, np.dtype[Any]]:
        """An array over an operand with this layout whose element 0 is at a host address.

        It is valid as long as the memory is. A packed operand gives its bytes, as uint8 [nbytes].
        """
        import numpy as np

        if self._size == 0:
            if self.packed:
                return np.empty(0, np.uint8)
            return np.empty(self.shape, numpy_dtype(self.code))
        start = ffi.cast("char *", address + self._begin)
        buffer = ffi.buffer(start, self._size)
        if self.packed:
            return np.frombuffer(buffer, np.uint8)
        return np.ndarray(
            self.shape, numpy_dtype(self.code), buffer, -self._begin, self._byte_strides
        )

    def unpack(self, data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The elements of a packed operand, which is given as its bytes: one byte each."""
        return unpack(data, numpy_dtype(self.code), BITS[self.code], self.shape)

    def store(self, data: np.ndarray[Any, Any], elements: np.ndarray[Any, Any]) -> None:
        """Writes elements into the bytes of a packed operand.

        Bits of the last byte that belong to no element stay: a neighbour may have them.
        """
        bits = BITS[self.code]
        packed = pack(elements, bits)
        used = elements.size * bits % 8
        if used:
            mask = (1 << used) - 1
            packed[-1] = (packed[-1] & mask) | (data[-1] & (0xFF - mask))
        data[...] = packed

    def __repr__(self) -> str:
        return f"Layout({self.dtype}, shape={self.shape}, strides={self.strides})"
