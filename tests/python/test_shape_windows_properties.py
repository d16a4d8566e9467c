"""Rules of windows, attention, layers and einsum against what the semantics give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from catalog_calls import run
from hypothesis import given, settings
from hypothesis import strategies as st

import wia
from wia.catalog import BY_NAME

Shape = tuple[int, ...]

property_test = settings(max_examples=100, deadline=None, derandomize=True)
sizes = st.integers(1, 5)
ranks = st.integers(1, 3)


@pytest.fixture(scope="module")
def ctx() -> Iterator[wia.Context]:
    """Any context: rules don't ask the device."""
    with wia.Context("reference") as context:
        yield context


def infer(ctx: wia.Context, op: str, *inputs: Shape | None, **values: Any) -> list[Shape] | None:
    """The shapes that the rule gives; None when it refuses."""
    try:
        tensors = tuple(None if shape is None else ctx.empty(shape) for shape in inputs)
        return [item[0] for item in ctx._infer(BY_NAME[op].number, tensors, values)]
    except wia.InvalidArgumentError:
        return None


def semantics(op: str, *inputs: Shape | None, **values: Any) -> list[Shape]:
    """The shapes of what the semantics give for zeros."""
    arrays = [None if shape is None else np.zeros(shape, np.float32) for shape in inputs]
    results = run(op, *arrays, **values)
    return [item.shape for item in (results if isinstance(results, tuple) else (results,))]


def some(data: Any, rank: int, low: int, high: int) -> tuple[int, ...]:
    """None, one value for all dimensions, or one for each."""
    count = data.draw(st.sampled_from([0, 1, rank]))
    return tuple(data.draw(st.lists(st.integers(low, high), min_size=count, max_size=count)))


def spread(given: tuple[int, ...], rank: int, default: int) -> tuple[int, ...]:
    """A value for each dimension."""
    return given if len(given) == rank else (given or (default,)) * rank


def window(data: Any, rank: int) -> dict[str, tuple[int, ...]]:
    """Stride, padding and dilation."""
    return {
        "stride": some(data, rank, 1, 3),
        "padding": some(data, 2 * rank, 0, 2),
        "dilation": some(data, rank, 1, 2),
    }


@property_test
@given(rank=ranks, data=st.data())
def test_conv(ctx: wia.Context, rank: int, data: Any) -> None:
    """The rule accepts what fits, and no more."""
    image = tuple(data.draw(st.lists(sizes, min_size=rank, max_size=rank)))
    kernel = tuple(data.draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank)))
    values = window(data, rank)
    shapes = ((2, 4, *image), (2, 2, *kernel), (2,))
    got = infer(ctx, "conv", *shapes, groups=2, **values)
    padding = spread(values["padding"], 2 * rank, 0)
    dilation = spread(values["dilation"], rank, 1)
    fits = all(
        (kernel[i] - 1) * dilation[i] < image[i] + padding[i] + padding[rank + i]
        for i in range(rank)
    )
    assert (got is not None) == fits
    if got is not None:
        assert got == semantics("conv", *shapes, groups=2, **values)


@property_test
@given(rank=ranks, data=st.data())
def test_conv_transpose(ctx: wia.Context, rank: int, data: Any) -> None:
    """Where the padding leaves something, the semantics give the shape."""
    image = tuple(data.draw(st.lists(sizes, min_size=rank, max_size=rank)))
    kernel = tuple(data.draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank)))
    values = {**window(data, rank), "output_padding": some(data, rank, 0, 2)}
    shapes = ((2, 4, *image), (4, 3, *kernel), (6,))
    got = infer(ctx, "conv_transpose", *shapes, groups=2, **values)
    stride, dilation = (spread(values[name], rank, 1) for name in ("stride", "dilation"))
    padding, more = (
        spread(values["padding"], 2 * rank, 0),
        spread(values["output_padding"], rank, 0),
    )
    left = [
        (image[i] - 1) * stride[i]
        + (kernel[i] - 1) * dilation[i]
        + 1
        + more[i]
        - padding[i]
        - padding[rank + i]
        for i in range(rank)
    ]
    assert (got is not None) == (min(left) >= 1)
    if got is not None:
        assert got == [(2, 6, *left)] == semantics("conv_transpose", *shapes, groups=2, **values)


@property_test
@given(rank=ranks, data=st.data(), ceil_mode=st.booleans())
def test_pools(ctx: wia.Context, rank: int, data: Any, ceil_mode: bool) -> None:
    """Values and indices have one shape, that of the semantics."""
    image = tuple(data.draw(st.lists(sizes, min_size=rank, max_size=rank)))
    kernel = tuple(data.draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank)))
    values = {**window(data, rank), "kernel": kernel, "ceil_mode": int(ceil_mode)}
    values["stride"] = some(data, rank, 0, 3)
    got = infer(ctx, "max_pool", (2, 3, *image), **values)
    if got is not None:
        assert got == semantics("max_pool", (2, 3, *image), **values)
        assert infer(ctx, "lp_pool", (2, 3, *image), **values) == got[:1]


@property_test
@given(rank=ranks, data=st.data())
def test_columns(ctx: wia.Context, rank: int, data: Any) -> None:
    """im2col as the semantics; col2im accepts its result and gives the image back."""
    image = tuple(data.draw(st.lists(sizes, min_size=rank, max_size=rank)))
    kernel = tuple(data.draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank)))
    values = {**window(data, rank), "kernel": kernel}
    got = infer(ctx, "im2col", (2, 3, *image), **values)
    if got is not None:
        assert got == semantics("im2col", (2, 3, *image), **values)
        assert infer(ctx, "col2im", got[0], image=image, **values) == [(2, 3, *image)]


LETTERS = {"a": 2, "b": 3, "c": 1, "D": 4}


@property_test
@given(data=st.data())
def test_einsum(ctx: wia.Context, data: Any) -> None:
    """As numpy.einsum, where equal labels have equal sizes."""
    word = st.text(st.sampled_from([*LETTERS, "."]), max_size=4)
    terms = data.draw(st.lists(word, min_size=1, max_size=3))
    terms = [term.replace(".", "...", 1).replace("....", "...") for term in terms]
    result = data.draw(st.one_of(st.none(), word))
    equation = ",".join(terms)
    if result is not None:
        equation += "->" + result.replace(".", "...", 1)
    dots = data.draw(st.sampled_from([(), (2,), (1,), (3, 2)]))
    shapes = []
    for term in terms:
        before, found, after = term.partition("...")
        middle = dots if found else ()
        shapes.append(
            (*(LETTERS.get(c, 1) for c in before), *middle, *(LETTERS.get(c, 1) for c in after))
        )
    try:
        expected = [np.einsum(equation, *map(np.zeros, shapes)).shape]
    except ValueError:
        expected = None
    assert infer(ctx, "einsum", *shapes, equation=equation) == expected


@pytest.mark.parametrize("op", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("direction", [0, 1, 2])
@pytest.mark.parametrize("layout", [0, 1])
def test_layers(ctx: wia.Context, op: str, direction: int, layout: int) -> None:
    """All outputs have the shapes that the semantics give."""
    gates = {"rnn": 1, "gru": 3, "lstm": 4}[op]
    count = 2 if direction == 2 else 1
    shapes = ((3, 2, 5), (count, gates * 4, 5), (count, gates * 4, 4))
    values = {"direction": direction, "layout": layout}
    assert infer(ctx, op, *shapes, **values) == semantics(op, *shapes, **values)


@pytest.mark.parametrize("past", [None, 0, 3])
@pytest.mark.parametrize("flat", [False, True])
def test_attention(ctx: wia.Context, past: int | None, flat: bool) -> None:
    """Rank 3 and 4, with and without a past: all four outputs."""
    shapes: list[Shape | None] = [(2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 6)]
    if flat:
        shapes = [(2, 3, 32), (2, 5, 16), (2, 5, 12)]
    if past is not None:
        shapes += [None, (2, 2, past, 8), (2, 2, past, 6)]
    values = {"heads": 4, "kv_heads": 2}
    assert infer(ctx, "attention", *shapes, **values) == semantics("attention", *shapes, **values)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32])
def test_strided_products_of_integers(ctx: wia.Context, dtype: Any) -> None:
    """wia_matmul_strided on 8-bit integers writes int32, also where bytes would wrap."""
    from wia._native import ffi, lib, new_struct

    random = np.random.default_rng(0)
    low, high = (-128, 128) if dtype == np.int8 else (0, 256)
    a, b = (random.integers(low, high, shape).astype(dtype) for shape in ((2, 3, 9), (2, 9, 4)))
    given = [ctx.tensor(a), ctx.tensor(b), ctx.empty((2, 3, 4), np.int32)]
    addresses = []
    for tensor in given:
        info = new_struct("wia_tensor_info_t")
        assert lib.wia_get_tensor_info(tensor._handle, info) == 0
        addresses.append(ffi.cast("void *", info.address))
    dims = new_struct("wia_matmul_dims_t")
    dims.dtype = given[0]._code
    dims.m, dims.n, dims.k, dims.batch, dims.alpha = 3, 4, 9, 2, 1.0
    dims.stride_a, dims.stride_b = 27, 36
    assert lib.wia_matmul_strided(ctx._handle, *addresses, dims, ffi.NULL) == 0
    expected = a.astype(np.int64) @ b.astype(np.int64)
    assert np.array_equal(given[2].numpy(), expected.astype(np.int32))
