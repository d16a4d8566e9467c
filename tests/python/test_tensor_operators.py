"""Operators of tensors, lists of inputs, and packed dtypes on a device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import wia
from wia._dtype import CODES, numpy_dtype


@pytest.fixture(scope="module")
def ctx() -> Iterator[wia.Context]:
    """A context on the reference device."""
    with wia.Context("reference") as context:
        yield context


def test_comparisons_give_tensors_of_bool(ctx: wia.Context) -> None:
    """Of tensors and numbers, on both sides."""
    a, b = ctx.tensor([1.0, 2.0, 3.0]), ctx.tensor([3.0, 2.0, 1.0])
    assert (a == b).tolist() == [False, True, False]
    assert (a != b).tolist() == [True, False, True]
    assert (a < b).tolist() == [True, False, False]
    assert (a <= 2).tolist() == [True, True, False]
    two = 2.0
    assert (two < a).tolist() == [False, False, True]
    assert (a >= 3.0).tolist() == [False, False, True]
    assert (a > b).dtype == np.bool_
    assert (-a).tolist() == [-1.0, -2.0, -3.0]


def test_arithmetic_and_bits(ctx: wia.Context) -> None:
    """Powers, remainders and rounded quotients as Python's; bits of integers and of bool."""
    a, i = ctx.tensor([-3.0, 2.0]), ctx.tensor(np.array([6, -5], np.int32))
    assert (a**2).tolist() == [9.0, 4.0]
    assert (2**a).tolist() == [0.125, 4.0]
    assert (a % 2).tolist() == [1.0, 0.0]
    assert (7 % i).tolist() == [1, -3]
    assert (i // 4).tolist() == [1, -2]
    assert (13 // i).tolist() == [2, -3]
    assert abs(i).tolist() == [6, 5]
    assert (i & 3).tolist() == [2, 3]
    assert (1 | i).tolist() == [7, -5]
    assert (i ^ i).tolist() == [0, 0]
    assert (~i).tolist() == [-7, 4]
    assert (i << 1).tolist() == [12, -10]
    assert (1 << ctx.tensor(np.array([3, 32], np.int32))).tolist() == [8, 0]
    assert (i >> 1).tolist() == [3, -3]
    inside = (a > -5.0) & ~(a > 0.0)
    assert inside.tolist() == [True, False]
    with pytest.raises(TypeError):
        _ = a ** "text"  # type: ignore[operator]


def test_tensors_are_told_apart_by_identity(ctx: wia.Context) -> None:
    """In sets and as keys; what is no number is unequal, and can't be ordered."""
    a, b = ctx.tensor([1.0]), ctx.tensor([1.0])
    assert len({a, b, a}) == 2
    assert {a: 1, b: 2}[a] == 1
    assert (a == "text") is False
    assert a is not None
    assert (a != None) is True  # noqa: E711
    with pytest.raises(TypeError):
        _ = a < "text"  # type: ignore[operator]


def test_lists_of_inputs(ctx: wia.Context) -> None:
    """One to 31 tensors; anything else is named."""
    a = ctx.tensor([1.0, 2.0])
    assert ctx.concat([a] * 31).shape == (62,)
    assert ctx.concat((a, a[:1]), axis=-1).tolist() == [1.0, 2.0, 1.0]
    out = ctx.empty(4)
    assert ctx.concat([a, a], out) is out
    with ctx.stream() as stream:
        later = ctx.concat([a, out], stream=stream)
        stream.synchronize()
    assert later.tolist() == [1.0, 2.0] * 3
    cases: list[tuple[Any, str]] = [
        ([], "0 inputs; expected 1 to 31"),
        ([a] * 32, "32 inputs; expected 1 to 31"),
        ([a, None], "given a list of Tensor, NoneType as inputs"),
        (a, "given a Tensor as inputs; expected a list"),
        (3, "given a int as inputs"),
    ]
    for given, part in cases:
        with pytest.raises(wia.InvalidArgumentError, match=part):
            ctx.concat(given)


def test_names_of_choices(ctx: wia.Context) -> None:
    """As keyword of a method and as attribute of execute; an unknown one is listed."""
    x = ctx.tensor([1.0, 2.0, 3.0])
    assert ctx.pad(x, pads=(1, 1), mode="edge").tolist() == [1.0, 1.0, 2.0, 3.0, 3.0]
    (reflected,) = ctx.execute("pad", [x], pads=(1, 1), mode="reflect")
    assert reflected.tolist() == [2.0, 1.0, 2.0, 3.0, 2.0]
    gated = ctx.glu(ctx.tensor([2.0, 3.0, -1.0, 4.0]), activation="relu")
    assert gated.tolist() == [0.0, 12.0]
    assert ctx.pad(x, pads=(0, 1), value=9.0).tolist() == [1.0, 2.0, 3.0, 9.0]
    for call in (
        lambda: ctx.pad(x, pads=(1, 1), mode="mirror"),
        lambda: ctx.execute("pad", [x], pads=(1, 1), mode="mirror"),
    ):
        with pytest.raises(wia.InvalidArgumentError, match="'constant', 'reflect', 'edge'"):
            call()


def test_a_wrong_index_fails_the_call_and_the_stream(ctx: wia.Context) -> None:
    """The kernel finds it, since the library doesn't look into memory."""
    x, indices = ctx.tensor([1.0, 2.0]), ctx.tensor(np.array([0, 2]))
    with pytest.raises(wia.InvalidArgumentError, match=r"indices\[1\] is 2; expected -2 to 1"):
        ctx.gather(x, indices)
    with ctx.stream() as stream:
        ctx.gather(x, indices, stream=stream)
        with pytest.raises(wia.InvalidArgumentError, match=r"indices\[1\] is 2"):
            stream.synchronize()
        stream.reset()


@pytest.mark.parametrize("name", sorted(CODES))
def test_every_dtype_is_copied_and_cast(ctx: wia.Context, name: str) -> None:
    """There and back by a row-major copy, a view of a part, and a cast through complex128."""
    dtype = numpy_dtype(CODES[name])
    elements = np.array([0, 1, 1, 0, 1, 1, 1, 0], np.float32).astype(dtype).reshape(2, 4)
    tensor = ctx.tensor(elements)
    assert ctx.copy(tensor).numpy().tobytes() == elements.tobytes()
    half = tensor[1]
    assert half.numpy().tobytes() == elements[1].tobytes()
    assert half.copy().numpy().tobytes() == elements[1].tobytes()
    through = ctx.cast(ctx.cast(tensor, "complex128"), name)
    if name != "float8_e8m0fnu":  # its NaN has no place in the real part of a sum of parts
        assert through.numpy().tobytes() == elements.tobytes()
    assert ctx.cast(tensor, "bool").shape == (2, 4)


def test_a_packed_output_leaves_its_neighbours_alone(ctx: wia.Context) -> None:
    """Three elements of 4 bits: the other half of the second byte belongs to somebody else."""
    import ml_dtypes

    base = ctx.tensor(np.arange(8).astype(ml_dtypes.uint4))
    ctx.copy(ctx.tensor(np.full(3, 15).astype(ml_dtypes.uint4)), out=base[2:5])
    assert [int(value) for value in base.tolist()] == [0, 1, 15, 15, 15, 5, 6, 7]
    (narrow,) = ctx.execute("cast", [ctx.tensor([7.0, -9.0, 0.0])], dtype="int2")
    assert [int(value) for value in narrow.tolist()] == [1, -2, 0]
