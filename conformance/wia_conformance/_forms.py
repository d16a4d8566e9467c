"""How a case lays its operands out in memory, and in which way it calls.

A layout is a way from a flat piece of memory to a view of some shape. It is written once, with what
numpy arrays and device tensors have in common, so that host and device agree on every element.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = ["FORMS", "GUARD", "applies", "elements", "lay_out", "layout_of", "room"]

FORMS: dict[str, str] = {
    "packed": "row-major operands, each at the begin of an allocation",
    "offset": "row-major operands at an odd element of an allocation",
    "gaps": "every second or third element of a larger array, in each dimension",
    "transposed": "dimensions in reverse order in memory",
    "reversed": "all strides negative",
    "repeated": "inputs that repeat one element or row: the stride of their first dimension is 0",
    "in-place": "the output is exactly the input that is named, where the driver allows that",
    "stream": "enqueued on a stream",
    "again": "one plan that is run twice, with other inputs and scalars the second time",
    "support": "what the device says that it supports is what it has kernels for",
}

GUARD = 67
"""Elements behind each operand that nobody may change: more than the widest vector has."""
_FRONT = 17

Shape = tuple[int, ...]


def elements(shape: Shape) -> int:
    """The number of elements of a shape."""
    return math.prod(shape)


def layout_of(form: str, *, is_output: bool) -> str:
    """The layout of the operands of a form."""
    if form == "repeated" and is_output:
        return "packed"
    return form if form in ("offset", "gaps", "transposed", "reversed", "repeated") else "packed"


def applies(form: str, inputs: tuple[Shape, ...], outputs: tuple[Shape, ...]) -> bool:
    """Whether a layout makes a difference to operands of these shapes."""
    shapes = (*inputs, *outputs)
    if not all(elements(shape) for shape in shapes):
        return form in ("packed", "offset")
    if form == "transposed":
        return any(len(shape) > 1 for shape in shapes)
    if form == "repeated":
        return any(_repeats(shape) for shape in inputs)
    return form not in ("gaps", "reversed") or any(shapes)


def room(shape: Shape, layout: str) -> int:
    """Elements that the memory of an operand has, those that guard it included."""
    return _front(layout) + elements(_stored(shape, layout)) + GUARD


def lay_out(flat: Any, shape: Shape, layout: str) -> Any:
    """The view of a flat array or tensor of room() elements that is the operand."""
    stored = _stored(shape, layout)
    front = _front(layout)
    view = flat[front : front + elements(stored)].reshape(stored)
    if layout == "transposed":
        return view.T
    if layout == "gaps" and shape:
        return view[tuple(slice(None, None, step) for step in _steps(shape))]
    if layout == "reversed" and shape:
        return view[(slice(None, None, -1),) * len(shape)]
    return view


def _front(layout: str) -> int:
    """Elements before those of an operand: all but packed ones begin at an odd one."""
    return 0 if layout == "packed" else _FRONT


def _repeats(shape: Shape) -> bool:
    return bool(shape) and shape[0] > 1


def _steps(shape: Shape) -> list[int]:
    return [2 + axis % 2 for axis in range(len(shape))]


def _stored(shape: Shape, layout: str) -> Shape:
    """The shape of the row-major array that a view is taken of.

    That of a repeated operand is what is to be repeated.
    """
    if layout == "transposed":
        return shape[::-1]
    if layout == "gaps":
        return tuple(size * step for size, step in zip(shape, _steps(shape), strict=True))
    if layout == "repeated" and _repeats(shape):
        return (1, *shape[1:])
    return shape
