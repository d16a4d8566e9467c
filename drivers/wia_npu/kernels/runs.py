"""Elements of any dtype of whole bytes at constant strides: what moves are made of."""

from __future__ import annotations

from typing import Any

import numba

from wia.driver.numba import pointer
from wia_npu.kernels.common import serial

__all__ = ["copy_run"]


@serial
def copy_run(width: Any, x: Any, x_step: Any, y: Any, y_step: Any, n: Any) -> None:
    """n elements at constant strides; complex numbers of 16 bytes are two words."""
    if width == 1:
        x1, y1 = pointer(x, numba.uint8), pointer(y, numba.uint8)
        for i in range(n):
            y1[i * y_step] = x1[i * x_step]
    elif width == 2:
        x2, y2 = pointer(x, numba.uint16), pointer(y, numba.uint16)
        for i in range(n):
            y2[i * y_step] = x2[i * x_step]
    elif width == 4:
        x4, y4 = pointer(x, numba.uint32), pointer(y, numba.uint32)
        for i in range(n):
            y4[i * y_step] = x4[i * x_step]
    else:
        words = width // 8
        x8, y8 = pointer(x, numba.uint64), pointer(y, numba.uint64)
        for i in range(n):
            for j in range(words):
                y8[i * y_step * words + j] = x8[i * x_step * words + j]
