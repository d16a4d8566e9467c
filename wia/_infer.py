"""Shapes and dtypes of outputs, without tensors and without a device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from wia._attributes import find_operation, pack_attributes
from wia._dtype import NAMES, dtype_code
from wia._errors import check
from wia._explain import explained
from wia._native import ffi, lib

__all__ = ["Described", "TensorSpec", "infer", "infer_outputs"]

Described = tuple[tuple[int, ...], int]
"""Shape and dtype number of a tensor to be."""


class TensorSpec(NamedTuple):
    """Shape and dtype, by name, of a tensor that need not be there."""

    shape: tuple[int, ...]
    dtype: str


def infer(
    op: str | int, inputs: Sequence[Described | None], attributes: Mapping[str, object]
) -> tuple[Described, ...]:
    """The outputs of an operation by the rule of its family: those that such a call has."""
    entry = find_operation(op)
    shapes = ffi.new("wia_shape_t[]", len(inputs))
    for shape, given in zip(shapes, inputs, strict=True):
        if given is not None:
            shape.shape, shape.dtype = given
            shape.rank = len(given[0])
    packed, count, kept = pack_attributes(entry, attributes)
    outputs = len(entry.outputs)
    out = ffi.new("wia_shape_t[]", outputs)
    check(lib.wia_infer_outputs(entry.number, shapes, len(inputs), packed, count, out, outputs))
    del kept
    return tuple((tuple(item.shape[0 : item.rank]), item.dtype) for item in out if item.dtype)


@explained
def infer_outputs(
    op: str, inputs: Sequence[TensorSpec | None], **attributes: object
) -> tuple[TensorSpec, ...]:
    """Shapes and dtypes of what an operation gives, of inputs that need not be there.

    None stands for an input that is left out. Raises NotFoundError for an unknown operation, and
    InvalidArgumentError where a call would: shapes or dtypes that don't fit, attributes that the
    operation doesn't have.

    >>> import wia
    >>> a, b = wia.TensorSpec((2, 3), "float32"), wia.TensorSpec((3, 4), "float32")
    >>> wia.infer_outputs("matmul", [a, b])
    (TensorSpec(shape=(2, 4), dtype='float32'),)
    """
    given = [None if item is None else (item.shape, dtype_code(item.dtype)) for item in inputs]
    found = infer(op, given, attributes)
    return tuple(TensorSpec(shape, NAMES[code]) for shape, code in found)
