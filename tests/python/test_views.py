"""The arithmetic of views against numpy's, on shapes and keys drawn at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.lib.stride_tricks import as_strided

import wia
from wia import _views

SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def parent(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)


def apply(base: np.ndarray[Any, Any], view: _views.View) -> np.ndarray[Any, Any]:
    """What a view shows of a contiguous array."""
    if 0 in view.shape:
        return np.empty(view.shape, base.dtype)
    flat = base.reshape(-1)[view.offset :]
    return as_strided(flat, view.shape, tuple(8 * stride for stride in view.strides))


@st.composite
def keyed(draw: st.DrawFn) -> tuple[tuple[int, ...], Any]:
    shape = draw(SHAPES)
    return shape, draw(hnp.basic_indices(shape, allow_newaxis=True, max_dims=8))


@given(keyed())
@settings(max_examples=500, deadline=None)
def test_index(case: tuple[tuple[int, ...], Any]) -> None:
    shape, key = case
    base = parent(shape)
    view = _views.index(shape, _views.row_major(shape), key)
    expected = base[key]
    assert view.shape == expected.shape
    np.testing.assert_array_equal(apply(base, view), expected)


@st.composite
def reshaped(draw: st.DrawFn) -> tuple[tuple[int, ...], list[int], tuple[int, ...]]:
    """A shape, an order of its dimensions, and another shape of as many elements."""
    target = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    shape = list(target)
    for _ in range(draw(st.integers(0, 2))):
        i = draw(st.integers(0, len(shape) - 1))
        part = draw(st.sampled_from([d for d in range(1, shape[i] + 1) if shape[i] % d == 0]))
        shape[i : i + 1] = [part, shape[i] // part]
    return tuple(shape), draw(st.permutations(range(len(shape)))), target


@given(reshaped())
@settings(max_examples=500, deadline=None)
def test_reshape_is_a_view_wherever_numpy_has_one(
    case: tuple[tuple[int, ...], list[int], tuple[int, ...]],
) -> None:
    shape, order, target = case
    base = parent(shape)
    turned = base.transpose(order)
    strides = tuple(stride // 8 for stride in turned.strides)
    found, view = _views.reshape(turned.shape, strides, target)
    assert found == target
    expected = turned.reshape(target)
    if view is None:
        assert not np.shares_memory(expected, base)
    else:
        np.testing.assert_array_equal(apply(base, view), expected)
        assert np.shares_memory(expected, base)


@given(hnp.mutually_broadcastable_shapes(num_shapes=1, max_dims=4, max_side=4))
@settings(deadline=None)
def test_broadcast(shapes: hnp.BroadcastableShapes) -> None:
    (shape,), target = shapes.input_shapes, shapes.result_shape
    view = _views.broadcast(shape, _views.row_major(shape), target)
    np.testing.assert_array_equal(
        apply(parent(shape), view), np.broadcast_to(parent(shape), target)
    )


@pytest.mark.parametrize(
    ("shape", "target"),
    [((2, 3), (4, -1)), ((2,), (-1, -1)), ((2,), (3,)), ((0,), (-1, 0)), ((4,), (-2, -2))],
)
def test_impossible_reshapes(shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    with pytest.raises(wia.InvalidArgumentError, match="can't take the shape"):
        _views.reshape(shape, _views.row_major(shape), target)


@pytest.mark.parametrize("axes", [(0,), (0, 0), (0, 2), (0, 1, 2)])
def test_impossible_orders(axes: tuple[int, ...]) -> None:
    with pytest.raises(wia.InvalidArgumentError, match="each of the 2 dimensions once"):
        _views.permute((2, 3), (3, 1), axes)
