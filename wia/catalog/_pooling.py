"""Largest elements and means in windows over images of one to three dimensions."""

from __future__ import annotations

from typing import Any

from ._model import Shape
from ._numeric import lowest, narrow, widen
from ._windows import Windows

_COLUMN_MAJOR = 1


def max_pool(np: Any, x: Any, **values: Any) -> Any:
    """Largest element under the kernel; a NaN there wins."""
    windows, least = Windows.of_pooling(x.shape, values), lowest(np, x.dtype)
    wide = windows.extend(np, widen(np, x), least)
    result = np.full(windows.shape, least, wide.dtype)
    for window in windows.taps(wide):
        result = np.maximum(result, window)
    return result.astype(x.dtype)


def max_pool_indices(np: Any, x: Any, *, storage_order: int, **values: Any) -> tuple[Any, Any]:
    """Largest elements, and where the first of each is in the whole input; -1 for none."""
    windows, least = Windows.of_pooling(x.shape, values), lowest(np, x.dtype)
    images = x.shape[:2]
    places = np.arange(x.size, dtype=np.int64).reshape(x.shape)
    if storage_order == _COLUMN_MAJOR:
        size = x.size // max(1, images[0] * images[1])
        inside = np.arange(size, dtype=np.int64).reshape(x.shape[:1:-1]).T
        places = places.reshape(*images, -1)[:, :, :1].reshape(*images, *([1] * (x.ndim - 2)))
        places = places + inside
    wide = windows.extend(np, widen(np, x), least)
    places = windows.extend(np, places, -1)
    result = np.full(windows.shape, least, wide.dtype)
    indices = np.full(windows.shape, -1, np.int64)
    for window, at in zip(windows.taps(wide), windows.taps(places), strict=True):
        better = (window > result) | ((window != window) & (result == result)) | (indices < 0)
        better &= at >= 0
        result, indices = np.where(better, window, result), np.where(better, at, indices)
    return result.astype(x.dtype), indices


def avg_pool(np: Any, x: Any, *, count_include_pad: int, **values: Any) -> Any:
    """Mean of the elements under the kernel, summed row by row."""
    windows = Windows.of_pooling(x.shape, values)
    total, count = windows.zeros(np, np.float64), windows.zeros(np, np.float64)
    inside = np.ones(x.shape, np.float64)
    if count_include_pad:
        inside = windows.extend(np, inside, 1.0, overhang=0.0)
    else:
        inside = windows.extend(np, inside, 0.0)
    wide = windows.extend(np, widen(np, x), 0.0)
    for window, counted in zip(windows.taps(wide), windows.taps(inside), strict=True):
        # What padding holds is 0, so that infinities and NaN of the input are counted once.
        total, count = total + window, count + counted
    return narrow(np, total / count, x.dtype)


def lp_pool(np: Any, x: Any, *, p: int, **values: Any) -> Any:
    """The p-norm of the elements under the kernel."""
    windows = Windows.of_pooling(x.shape, values)
    total = windows.zeros(np, np.float64)
    for window in windows.taps(windows.extend(np, widen(np, x), 0.0)):
        total = total + np.abs(window) ** p
    return narrow(np, total ** (1.0 / p), x.dtype)


def _rows(np: Any, x: Any) -> tuple[Any, Shape]:
    """A row of elements for each image and channel, and the shape of one result for each."""
    count = 1
    for size in x.shape[2:]:
        count *= size
    shape = (*x.shape[:2], *([1] * (x.ndim - 2)))
    return widen(np, x).reshape(*x.shape[:2], count), shape


def global_avg_pool(np: Any, x: Any) -> Any:
    """Mean of each image."""
    rows, shape = _rows(np, x)
    total = rows.sum(axis=-1) / np.float64(rows.shape[-1])
    return narrow(np, total, x.dtype).reshape(shape)


def global_max_pool(np: Any, x: Any) -> Any:
    """Largest element of each image; NaN wins."""
    rows, shape = _rows(np, x)
    if x.size == 0:
        return np.empty(shape, x.dtype)
    return rows.max(axis=-1).astype(x.dtype).reshape(shape)


def global_lp_pool(np: Any, x: Any, *, p: int) -> Any:
    """The p-norm of each image."""
    rows, shape = _rows(np, x)
    total = (np.abs(rows) ** p).sum(axis=-1) ** (1.0 / p)
    return narrow(np, total, x.dtype).reshape(shape)
