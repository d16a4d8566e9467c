"""Samples at sizes around the widths of vectors, of any operation: made from its own samples."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from wia import InvalidArgumentError, TensorSpec, infer_outputs
from wia.catalog import Operation, Sample, input_dtypes, sample_values

__all__ = ["WIDTHS", "infer_of", "sized_samples"]

WIDTHS = (1, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65)
_ENOUGH = 9
_MOST = 1 << 15
"""Elements of the largest operand."""
_ODD = {"ends", "special", "wide"}
_LEAST = {"max_unpool": 7}
"""Where the indices of a sample lie beyond smaller tensors."""

Shape = tuple[int, ...]


def infer_of(operation: Operation, dtype: str, sample: Sample) -> tuple[TensorSpec, ...]:
    """Shapes and dtypes of the outputs of a sample. Raises InvalidArgumentError."""
    dtypes = input_dtypes(operation, dtype, sample)
    specs = [
        None if shape is None else TensorSpec(shape, name)
        for shape, name in zip(sample.shapes, dtypes, strict=True)
    ]
    listed = {item.name for item in operation.attributes}
    values = sample_values(operation, sample, dtype)
    return infer_outputs(operation.name, specs, **{k: v for k, v in values.items() if k in listed})


def sized_samples(operation: Operation) -> tuple[Sample, ...]:
    """A sample with one of its sizes changed to each of WIDTHS that the rule of its shapes takes.

    The first way to change one that gives most of them: the last dimension of the first operand,
    where it can be changed alone or with others that are equal.
    """
    best: tuple[Sample, ...] = ()
    sizes = [size for size in WIDTHS if size >= _LEAST.get(operation.name, 1)]
    for way in _ways(operation):
        found = tuple(item for item in map(way, sizes) if _is_good(operation, item))
        if len(found) > len(best):
            best = found
        if len(best) >= _ENOUGH:
            break
    return best


def _ways(operation: Operation) -> Iterator[Any]:
    """Functions from a size to a sample; plain samples first, the last dimensions first."""
    plain = sorted(operation.samples, key=lambda sample: bool(_ODD & set(sample.fills)))
    for sample in plain:
        shapes = [shape or () for shape in sample.shapes]
        if any(shape is not None and 0 in shape for shape in sample.shapes):
            continue
        for place, shape in enumerate(shapes):
            for axis in reversed(range(len(shape))):
                yield lambda size, s=sample, at=(place, axis): _resized(s, at, size)
                yield lambda size, s=sample, old=shape[axis]: _replaced(s, old, size)
        if not operation.inputs:
            for old in dict.fromkeys(_numbers(sample.values)):
                yield lambda size, s=sample, old=old: _replaced(s, old, size)


def _resized(sample: Sample, at: tuple[int, int], size: int) -> Sample:
    """One dimension of one operand."""
    place, axis = at
    shape = sample.shapes[place]
    assert shape is not None
    other = (*shape[:axis], size, *shape[axis + 1 :])
    shapes = (*sample.shapes[:place], other, *sample.shapes[place + 1 :])
    return replace(sample, shapes=shapes, fills=_filled(sample, shape[axis], size))


def _replaced(sample: Sample, old: int, size: int) -> Sample:
    """Every dimension of that size, and numbers of lists of attributes."""
    shapes = tuple(
        None if shape is None else tuple(size if n == old else n for n in shape)
        for shape in sample.shapes
    )
    values = {name: _changed(value, old, size) for name, value in sample.values.items()}
    return replace(sample, shapes=shapes, values=values, fills=_filled(sample, old, size))


def _changed(value: Any, old: int, size: int) -> Any:
    if isinstance(value, tuple):
        return tuple(size if n == old else n for n in value)
    return value


def _filled(sample: Sample, old: int, size: int) -> tuple[str, ...]:
    """Fills whose numbers end at the size that is changed."""
    return tuple(re.sub(rf"(?<=\D){old}$", str(size), fill) for fill in sample.fills)


def _numbers(values: Mapping[str, Any]) -> Iterator[int]:
    for value in values.values():
        if isinstance(value, tuple):
            yield from (n for n in reversed(value) if isinstance(n, int))


def _is_good(operation: Operation, sample: Sample) -> bool:
    dtype = (sample.dtypes or operation.dtypes)[0]
    try:
        outputs = infer_of(operation, dtype, sample)
    except InvalidArgumentError:
        return False
    shapes = itertools.chain(filter(None, sample.shapes), (output.shape for output in outputs))
    return all(0 < math.prod(shape) <= _MOST for shape in shapes)
