"""Rules of operations that join, cut, pick, pad and choose, against numpy and the semantics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_shape_properties import (
    Shape,
    flags,
    infer,
    nonempty,
    numpy_shape,
    paddings,
    pairs,
    property_test,
    shapes,
    zeros,
)

import wia
from wia.catalog import BY_NAME, evaluate

places = st.integers(-7, 7)


@pytest.fixture(scope="module")
def ctx() -> Iterator[wia.Context]:
    """Any context: rules don't ask the device."""
    with wia.Context("reference") as context:
        yield context


def infer_of(
    ctx: wia.Context, op: str, inputs: list[tuple[Shape, str]], **attributes: Any
) -> tuple[Shape, str] | None:
    """Shape and dtype that the rule gives for inputs of these; None when it refuses."""
    try:
        tensors = [ctx.empty(shape, dtype) for shape, dtype in inputs]
        (output,) = (ctx._new_output(BY_NAME[op].number, tuple(tensors), attributes),)
    except wia.InvalidArgumentError:
        return None
    return output.shape, output.dtype.name


@property_test
@given(a=shapes, b=shapes, c=shapes)
def test_where(ctx: wia.Context, a: Shape, b: Shape, c: Shape) -> None:
    """As numpy.where; the dtype is that of what is chosen from."""
    expected = numpy_shape(np.where, zeros(a), zeros(b), zeros(c))
    got = infer_of(ctx, "where", [(a, "bool"), (b, "int16"), (c, "int16")])
    assert got == (None if expected is None else (expected, "int16"))


@property_test
@given(a=shapes, b=shapes)
def test_comparisons(ctx: wia.Context, a: Shape, b: Shape) -> None:
    """As numpy.less."""
    expected = numpy_shape(np.less, zeros(a), zeros(b))
    got = infer_of(ctx, "less", [(a, "int8"), (b, "int8")])
    assert got == (None if expected is None else (expected, "bool"))


@property_test
@given(
    base=shapes,
    lengths=st.lists(st.integers(0, 3), min_size=1, max_size=4),
    axis=st.integers(-5, 4),
    odd=flags,
)
def test_concat(ctx: wia.Context, base: Shape, lengths: list[int], axis: int, odd: bool) -> None:
    """As numpy.concatenate, on shapes that fit but for the last one, sometimes."""
    items = []
    for length in lengths:
        sizes = list(base)
        if -len(sizes) <= axis < len(sizes):
            sizes[axis] = length
        items.append(tuple(sizes))
    if odd:
        items[-1] = (*items[-1], 1)
    expected = numpy_shape(np.concatenate, [zeros(item) for item in items], axis=axis)
    assert infer(ctx, "concat", *items, axis=axis) == expected


@property_test
@given(
    base=shapes,
    lengths=st.lists(st.integers(0, 3), min_size=1, max_size=8),
    axis=st.integers(-5, 4),
    odd=flags,
)
def test_split(ctx: wia.Context, base: Shape, lengths: list[int], axis: int, odd: bool) -> None:
    """As numpy.split, at the ends of the parts; sizes that don't add up are refused."""
    sizes = list(base)
    fits = -len(sizes) <= axis < len(sizes) and not odd
    if -len(sizes) <= axis < len(sizes):
        sizes[axis] = sum(lengths) + int(odd)
    tensor = ctx.empty(tuple(sizes))
    try:
        found = ctx._infer(BY_NAME["split"].number, (tensor,), {"axis": axis, "sizes": lengths})
    except wia.InvalidArgumentError:
        assert not fits
        return
    assert fits
    ends = np.cumsum(lengths)[:-1].tolist()
    expected = [part.shape for part in np.split(zeros(tuple(sizes)), ends, axis=axis)]
    assert [shape for shape, _ in found] == expected


@property_test
@given(
    shape=shapes,
    parts=st.lists(st.tuples(st.integers(-5, 4), places, places, st.integers(-3, 3)), max_size=3),
)
def test_slice(ctx: wia.Context, shape: Shape, parts: list[tuple[int, ...]]) -> None:
    """As numpy's slices; no step of 0, no dimension that isn't there or is named twice."""
    axes, starts, ends, steps = ([part[i] for part in parts] for i in range(4))
    got = infer(ctx, "slice", shape, starts=starts, ends=ends, axes=axes, steps=steps)
    named = [axis % len(shape) for axis in axes if -len(shape) <= axis < len(shape)]
    if len(named) < len(axes) or len(set(named)) < len(named) or 0 in steps:
        assert got is None
        return
    key = [slice(None)] * len(shape)
    for axis, start, end, step in zip(named, starts, ends, steps, strict=True):
        key[axis] = slice(start, end, step)
    assert got == zeros(shape)[tuple(key)].shape


@property_test
@given(shape=shapes, indices=shapes, axis=st.integers(-5, 4))
def test_gather(ctx: wia.Context, shape: Shape, indices: Shape, axis: int) -> None:
    """As numpy.take; a dimension of size 0 may be picked from when nothing is picked."""
    expected = None
    if -len(shape) <= axis < len(shape):
        place = axis % len(shape)
        expected = (*shape[:place], *indices, *shape[place + 1 :])
    got = infer_of(ctx, "gather", [(shape, "float32"), (indices, "int32")], axis=axis)
    assert got == (None if expected is None else (expected, "float32"))
    if expected is not None and shape[axis]:
        result = np.take(zeros(shape), np.zeros(indices, np.int32), axis=axis)
        assert result.shape == expected


@property_test
@given(
    shape=shapes,
    pads=st.lists(st.integers(-3, 4), min_size=8, max_size=8),
    mode=st.sampled_from(["constant", "reflect", "edge", "wrap"]),
)
def test_pad(ctx: wia.Context, shape: Shape, pads: list[int], mode: str) -> None:
    """Sizes add up and are not below 0; from no element nothing comes but the constant."""
    rank = len(shape)
    widths = (*pads[:rank], *pads[4 : 4 + rank])
    expected = tuple(size + widths[i] + widths[rank + i] for i, size in enumerate(shape))
    got = infer(ctx, "pad", shape, pads=list(widths), mode=mode)
    refused = any(size < 0 for size in expected)
    for i, size in enumerate(shape):
        refused |= mode != "constant" and size == 0 and max(widths[i], widths[rank + i]) > 0
    assert got == (None if refused else expected)
    if got is not None:
        values = {"pads": widths, "value": 0.0}
        values["mode"] = ["constant", "reflect", "edge", "wrap"].index(mode)
        assert evaluate(np, BY_NAME["pad"], [zeros(shape)], values)[0].shape == got


@property_test
@given(
    image=nonempty,
    kernel=pairs,
    stride=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    padding=paddings,
    dilation=pairs,
    ceil_mode=flags,
    count_include_pad=flags,
)
def test_avg_pool2d(ctx: wia.Context, image: Shape, **values: Any) -> None:
    """The shape is that of max_pool2d; means lie between the least and the largest element."""
    got = infer(ctx, "avg_pool2d", image, **values)
    others = {name: value for name, value in values.items() if name != "count_include_pad"}
    assert got == infer(ctx, "max_pool2d", image, **others)
    if got is None:
        return
    (result,) = evaluate(np, BY_NAME["avg_pool2d"], [zeros(image) + 1], values)
    assert got == result.shape
    if values["dilation"] == (1, 1):
        assert (result > 0).all()
        assert (result <= 1).all()
    if not values["count_include_pad"]:
        assert np.isin(result[~np.isnan(result)], [1.0]).all()
