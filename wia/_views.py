"""Arithmetic of views: from numpy's way to say one to offset, shape and strides in elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from types import EllipsisType
from typing import NamedTuple

from wia._errors import ArgumentTypeError, InvalidArgumentError, OutOfRangeError

__all__ = ["View", "broadcast", "index", "permute", "reshape", "row_major"]

Shape = tuple[int, ...]


class View(NamedTuple):
    """Where a view's element 0 lies, in elements from that of the tensor, and its form."""

    offset: int
    shape: Shape
    strides: Shape


@lru_cache(4096)
def row_major(shape: Shape) -> Shape:
    """The strides of a tensor without gaps."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 1, 0, -1):
        strides[i - 1] = strides[i] * max(shape[i], 1)
    return tuple(strides)


def index(shape: Shape, strides: Shape, key: object) -> View:
    """Basic indexing: integers, slices with any step, None for a new dimension, an Ellipsis."""
    items = list(key) if isinstance(key, tuple) else [key]
    used = sum(item is not None and item is not Ellipsis for item in items)
    if used > len(shape):
        raise OutOfRangeError(f"{used} indices were given for a tensor of rank {len(shape)}.")
    ellipses = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        raise InvalidArgumentError("More than one Ellipsis was given in an index.")
    rest = [slice(None)] * (len(shape) - used)
    at = ellipses[0] if ellipses else len(items)
    items[at : at + 1] = rest
    offset, new_shape, new_strides, axis = 0, list[int](), list[int](), 0
    for item in items:
        if item is None:
            new_shape.append(1)
            new_strides.append(0)
            continue
        size, stride = shape[axis], strides[axis]
        if isinstance(item, slice):
            start, count, step = _read_slice(item, size)
            # The start of an empty slice may lie behind the last element.
            offset += start * stride if count else 0
            new_shape.append(count)
            new_strides.append(step * stride)
        else:
            offset += _read_integer(item, size, axis) * stride
        axis += 1
    return View(offset, tuple(new_shape), tuple(new_strides))


def _read_slice(item: slice, size: int) -> tuple[int, int, int]:
    try:
        start, stop, step = item.indices(size)
    except TypeError as error:
        raise ArgumentTypeError(f"{item!r} was given as index: {error}.") from None
    except ValueError as error:
        raise InvalidArgumentError(f"{item!r} was given as index: {error}.") from None
    return start, len(range(start, stop, step)), step


def _read_integer(item: object, size: int, axis: int) -> int:
    if isinstance(item, bool | EllipsisType) or not hasattr(item, "__index__"):
        raise ArgumentTypeError(
            f"{item!r} was given as index; a view takes integers, slices, None and Ellipsis. "
            "For others index t.numpy()."
        )
    position = int(item.__index__())
    if not -size <= position < size:
        raise OutOfRangeError(f"Index {position} was given for dimension {axis} of size {size}.")
    return position % size


def permute(shape: Shape, strides: Shape, axes: Sequence[int]) -> View:
    """The dimensions in another order."""
    rank = len(shape)
    order = [axis + rank if axis < 0 else axis for axis in axes]
    if sorted(order) != list(range(rank)):
        raise InvalidArgumentError(
            f"The axes {tuple(axes)} were given; expected each of the {rank} dimensions once."
        )
    return View(0, tuple(shape[i] for i in order), tuple(strides[i] for i in order))


def broadcast(shape: Shape, strides: Shape, target: Shape) -> View:
    """Dimensions of size 1, and those that are missing at the front, repeated."""
    lead = len(target) - len(shape)
    old = (1,) * lead + shape
    fits = lead >= 0 and all(a in (1, b) for a, b in zip(old, target, strict=True))
    if not fits:
        raise InvalidArgumentError(f"A tensor of shape {shape} doesn't broadcast to {target}.")
    steps = (0,) * lead + strides
    new = tuple(0 if a != b else s for a, b, s in zip(old, target, steps, strict=True))
    return View(0, target, new)


def reshape(shape: Shape, strides: Shape, target: Shape) -> tuple[Shape, View | None]:
    """The target with its -1 worked out, and the view of that shape, None if it takes a copy."""
    target = _complete(shape, target)
    if math.prod(shape) == 0:
        return target, View(0, target, row_major(target))
    # Dimensions of size 1 say nothing; others merge where they follow without a gap.
    runs: list[list[int]] = []
    for size, stride in zip(shape, strides, strict=True):
        if size == 1:
            continue
        if runs and runs[-1][1] == size * stride:
            runs[-1] = [runs[-1][0] * size, stride]
        else:
            runs.append([size, stride])
    new: list[int] = [0] * len(target)
    axis = len(target) - 1
    for size, stride in reversed(runs):
        filled = 1
        while filled < size:
            if axis < 0 or size % (filled * target[axis]):
                return target, None
            new[axis] = stride * filled
            filled *= target[axis]
            axis -= 1
    return target, View(0, target, tuple(new))


def _complete(shape: Shape, target: Shape) -> Shape:
    count, known = math.prod(shape), math.prod(size for size in target if size != -1)
    holes = target.count(-1)
    if holes == 1 and known and count % known == 0:
        return tuple(count // known if size == -1 else size for size in target)
    if holes or known != count or any(size < 0 for size in target):
        raise InvalidArgumentError(
            f"A tensor of shape {shape} has {count} elements; it can't take the shape {target}."
        )
    return target
