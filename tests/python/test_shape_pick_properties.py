"""Rules of operations that pick, store, sort, arrange and resample, against the semantics.

What a rule accepts the semantics give in the same shape and dtype; what it refuses they can't do,
or what is refused follows from the words of the entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_shape_properties import Shape, flags, nonempty, property_test, shapes

import wia
from wia.catalog import BY_NAME, evaluate

axes = st.integers(-4, 3)
Outputs = list[tuple[Shape, str]]


@pytest.fixture(scope="module")
def ctx() -> Iterator[wia.Context]:
    """Any context: rules don't ask the device."""
    with wia.Context("reference") as context:
        yield context


def infer(
    ctx: wia.Context, name: str, inputs: list[tuple[Shape, str]], **values: Any
) -> Outputs | None:
    """Shapes and dtypes by the rule, which are those of the semantics; None when it refuses."""
    try:
        tensors = [ctx.empty(shape, dtype) for shape, dtype in inputs]
        outputs = ctx._new_outputs(BY_NAME[name].number, tuple(tensors), values)
    except wia.InvalidArgumentError:
        return None
    found = [(output.shape, output.dtype.name) for output in outputs]
    arrays = [np.zeros(shape, dtype) for shape, dtype in inputs]
    operands = [*arrays, *[None] * (len(BY_NAME[name].inputs) - len(arrays))]
    results = evaluate(np, BY_NAME[name], operands, {**BY_NAME[name].defaults(), **values})
    assert [(result.shape, result.dtype.name) for result in results] == found
    return found


@property_test
@given(x=nonempty, indices=nonempty, axis=axes)
def test_elements(ctx: wia.Context, x: Shape, indices: Shape, axis: int) -> None:
    """Indices of the same rank that fit; scatter takes what gather gives."""
    got = infer(ctx, "gather_elements", [(x, "int8"), (indices, "int64")], axis=axis)
    fits = len(x) == len(indices) and -len(x) <= axis < len(x)
    fits = fits and all(i == axis % len(x) or size <= x[i] for i, size in enumerate(indices))
    assert (got is not None) == fits
    operands = [(x, "int8"), (indices, "int64"), (indices, "int8")]
    stored = infer(ctx, "scatter_elements", operands, axis=axis)
    assert stored == ([(x, "int8")] if fits else None)


@property_test
@given(x=nonempty, front=shapes, length=st.integers(0, 4), batch=st.integers(0, 2))
def test_tuples(ctx: wia.Context, x: Shape, front: Shape, length: int, batch: int) -> None:
    """Tuples that aren't longer than what is left of the input; scatter takes what gather gives."""
    indices = (*x[:batch], *front, length)
    got = infer(ctx, "gather_nd", [(x, "int8"), (indices, "int32")], batch_dims=batch)
    fits = batch < len(x) and batch + length <= len(x)
    expected = (*indices[:-1], *x[batch + length :])
    assert got == ([(expected, "int8")] if fits else None)
    if batch == 0 and fits:
        operands = [(x, "int8"), (indices, "int32"), (expected, "int8")]
        assert infer(ctx, "scatter_nd", operands, reduction=1) == [(x, "int8")]


@property_test
@given(x=shapes, axis=axes, k=st.integers(0, 4))
def test_orders(ctx: wia.Context, x: Shape, axis: int, k: int) -> None:
    """Along a dimension that is there, and no more of it than there are."""
    there = -len(x) <= axis < len(x)
    assert infer(ctx, "sort", [(x, "int8")], axis=axis) == ([(x, "int8")] if there else None)
    assert infer(ctx, "argsort", [(x, "int8")], axis=axis) == ([(x, "int64")] if there else None)
    got = infer(ctx, "top_k", [(x, "int8")], axis=axis, k=k, largest=1, sorted=1)
    assert (got is not None) == (there and k <= x[axis])


@property_test
@given(x=shapes, axis=st.lists(axes, max_size=1), length=st.integers(0, 3))
def test_rows(ctx: wia.Context, x: Shape, axis: list[int], length: int) -> None:
    """Sizes that the data decide: the largest ones."""
    there = not axis or -len(x) <= axis[0] < len(x)
    values = {"axis": axis}
    assert (infer(ctx, "unique", [(x, "int8")], **values, sorted=1) is not None) == there
    rows = x[axis[0]] if axis and there else int(np.prod(x))
    got = infer(ctx, "compress", [(x, "int8"), ((length,), "bool")], **values)
    assert (got is not None) == (there and length <= rows)
    assert infer(ctx, "nonzero", [(x, "int8")]) is not None


@property_test
@given(x=shapes, axis=axes, numbers=st.lists(st.integers(0, 3), max_size=3), k=axes)
def test_arrangements(ctx: wia.Context, x: Shape, axis: int, numbers: list[int], k: int) -> None:
    """New dimensions, repetitions, moves and diagonals."""
    got = infer(ctx, "stack", [(x, "int8"), (x, "int8")], axis=axis)
    assert (got is not None) == (-len(x) - 1 <= axis <= len(x))
    assert (infer(ctx, "tile", [(x, "int8")], repeats=numbers) is not None) == (
        len(numbers) == len(x)
    )
    there = -len(x) <= axis < len(x)
    assert (infer(ctx, "flip", [(x, "int8")], axes=[axis]) is not None) == there
    got = infer(ctx, "roll", [(x, "int8")], shifts=[k], axes=[axis])
    assert (got is not None) == there
    assert (infer(ctx, "diag", [(x, "int8")], k=k) is not None) == (len(x) >= 1)
    assert (infer(ctx, "trilu", [(x, "int8")], k=k, upper=1) is not None) == (len(x) >= 2)


@property_test
@given(
    x=shapes,
    scales=st.lists(st.sampled_from([0.1, 0.5, 0.7, 1.0, 1.3, 2.0, 3.7]), max_size=4),
    sizes=st.lists(st.integers(0, 9), max_size=4),
    aspect=st.integers(0, 2),
    mode=st.integers(0, 2),
    antialias=flags,
)
def test_resize(
    ctx: wia.Context,
    x: Shape,
    scales: list[float],
    sizes: list[int],
    aspect: int,
    mode: int,
    antialias: bool,
) -> None:
    """Sizes or scales for every dimension; from no element only none is made."""
    given_ = {"sizes": sizes, "scales": scales, "keep_aspect": aspect, "mode": mode}
    got = infer(ctx, "resize", [(x, "float32")], **given_, antialias=int(antialias))
    fits = bool(sizes) + bool(scales) < 2 and len(sizes) + len(scales) == len(x)
    if fits and sizes and aspect == 0:
        assert got == (
            None
            if any(old == 0 and new for old, new in zip(x, sizes, strict=True))
            else [(tuple(sizes), "float32")]
        )
    elif fits and scales:
        expected = tuple(int(old * scale) for old, scale in zip(x, scales, strict=True))
        assert got == [(expected, "float32")]
    else:
        assert (got is not None) <= fits


@property_test
@given(
    x=shapes,
    parts=st.integers(1, 2),
    axis=axes,
    length=st.integers(0, 5),
    inverse=flags,
    onesided=flags,
)
def test_dft(
    ctx: wia.Context, x: Shape, parts: int, axis: int, length: int, inverse: bool, onesided: bool
) -> None:
    """Along a dimension before the last one, of one element or more."""
    shape = (*x, parts)
    values = {"axis": axis, "length": length, "inverse": int(inverse), "onesided": int(onesided)}
    got = infer(ctx, "dft", [(shape, "float64")], **values)
    there = -len(shape) <= axis < len(shape) and axis % len(shape) < len(x)
    fits = there and bool(x) and (parts == 2 or not (inverse and onesided))
    if fits and not length:
        fits = shape[axis] > (1 if inverse and onesided else 0)
    assert (got is not None) == fits
