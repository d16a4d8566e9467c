"""Operations that pick, store, sort and arrange, against numpy and values worked by hand."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from catalog_calls import run

from wia.catalog import OperandError

NAN, INF = math.nan, math.inf
RANDOM = np.random.default_rng(5)


def f32(*values: float) -> Any:
    """A vector of float32."""
    return np.array(values, np.float32)


def i64(*values: Any) -> Any:
    """A tensor of int64."""
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("name", "operands", "values", "message"),
    [
        ("gather", [f32(1, 2), i64(2)], {"axis": 0}, r"indices\[0\] is 2; expected -2 to 1"),
        ("gather_elements", [f32(1, 2), i64(0, -3)], {}, r"indices\[1\] is -3; expected -2 to 1"),
        ("gather_nd", [np.ones((2, 3)), i64([1, 3])], {}, r"indices\[0\] is 3.* of input has 3"),
        ("scatter_elements", [f32(1), i64(1), f32(2)], {}, r"indices\[0\] is 1; expected -1 to 0"),
        ("scatter_nd", [f32(1), i64([-2]), f32(2)], {}, r"indices\[0\] is -2"),
        ("index_add", [f32(1), i64(4), f32(2)], {}, r"indices\[0\] is 4"),
        ("gather", [np.ones((0, 2)), i64(0)], {}, "dimension 0 of input has no element"),
        ("bincount", [i64(1, 5)], {"length": 5}, r"input\[1\] is 5; expected 0 to 4"),
        ("bincount", [i64([0, -1])], {"length": 5}, r"input\[0, 1\] is -1"),
        ("reverse_sequence", [np.ones((2, 1)), i64(3)], {}, r"lengths\[0\] is 3; expected 0 to 2"),
    ],
)
def test_out_of_range(name: str, operands: Any, values: Any, message: str) -> None:
    """An index that names nothing is an error that says where it is and what is expected."""
    with pytest.raises(OperandError, match=f"{name}: .*{message}"):
        run(name, *operands, **values)


def test_gather_elements_of_smaller_indices() -> None:
    """Indices may be smaller than input in the other dimensions, and name an element again."""
    x = np.arange(12).reshape(3, 4)
    assert run("gather_elements", x, i64([2, -3, 0]), axis=0).tolist() == [[8, 1, 2]]
    assert run("gather_elements", x, i64([3], [3]), axis=1).tolist() == [[3], [7]]


def test_gather_nd_of_no_index() -> None:
    """An empty tuple names all of input."""
    x = np.arange(2)
    assert run("gather_nd", x, np.zeros((3, 0), np.int64)).tolist() == [[0, 1]] * 3


def test_scatter_keeps_the_last_update() -> None:
    """Of several that replace an element, in row-major order of the updates."""
    places = i64([0, 0], [0, 1])
    updates = f32(1, 2, 3, 4).reshape(2, 2)
    assert run("scatter_elements", np.zeros((2, 2)), places, updates, axis=1).tolist() == [
        [2, 0],
        [3, 4],
    ]
    assert run("scatter_nd", f32(9, 9), i64([1], [1], [1]), f32(1, 2, 3)).tolist() == [9, 3]
    # Also where the memory of the operands has another order.
    flat = np.asfortranarray(i64([0, 1], [0, 0]))
    assert run(
        "scatter_elements", f32(0, 0).reshape(1, 2).T, flat.T[:, :1] * 0, f32(5, 6)[:, None]
    )[0].tolist() == [6]


@pytest.mark.parametrize(
    ("reduction", "expected"), [(1, [6.0, NAN]), (2, [8.0, NAN]), (3, [4.0, NAN]), (4, [1.0, NAN])]
)
def test_scatter_reductions(reduction: int, expected: list[float]) -> None:
    """1 with 4, 2 and -1 (not with -1 in the product), and NaN, which wins."""
    more = [4.0, 2.0] if reduction == 2 else [4.0, 2.0, -1.0]
    places = i64(*[[0]] * len(more), [1], [1])
    result = run("scatter_nd", f32(1, 5), places, f32(*more, NAN, 7), reduction=reduction)
    wanted = [-1.0, NAN] if reduction == 4 else expected
    np.testing.assert_array_equal(result, f32(*wanted))


def test_scatter_rounds_once_and_wraps() -> None:
    """2048 + 1 + 1 is 2050 in float16, though 2048 + 1 is 2048; int8 goes round; bool replaces."""
    half = run(
        "scatter_nd",
        np.array([2048], np.float16),
        i64([0], [0]),
        np.ones(2, np.float16),
        reduction=1,
    )
    assert half.tolist() == [2050]
    small = np.array([100], np.int8)
    assert run("index_add", small, i64(0), small).tolist() == [-56]
    kept = np.array([-0.0, NAN], np.float32)
    untouched = run("scatter_nd", kept, np.zeros((0, 1), np.int64), f32(), reduction=1)
    assert untouched.tobytes() == kept.tobytes()


def test_index_add_is_numpys() -> None:
    """numpy.add.at, along each axis, with indices of any rank."""
    x = RANDOM.integers(-9, 9, (3, 4, 2))
    for axis, size in enumerate(x.shape):
        places = RANDOM.integers(-size, size, (2, 3))
        updates = RANDOM.integers(-9, 9, (*x.shape[:axis], 2, 3, *x.shape[axis + 1 :]))
        expected = x.copy()
        key: Any = (*[slice(None)] * axis, places)
        np.add.at(expected, key, updates)
        assert run("index_add", x, places, updates, axis=axis).tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint64, np.bool_])
def test_sort_is_numpys(dtype: Any) -> None:
    """numpy.sort and numpy.argsort along each axis, forward and backward."""
    x = RANDOM.integers(0, 5, (3, 7, 4)).astype(dtype)
    for axis in (0, 1, -1):
        up = np.argsort(x, axis=axis, kind="stable")
        assert run("argsort", x, axis=axis).tolist() == up.tolist()
        result = run("sort", x, axis=axis)
        assert (result.dtype, result.tolist()) == (dtype, np.sort(x, axis=axis).tolist())
        down = run("sort", x, axis=axis, descending=1)
        assert down.tolist() == np.flip(np.sort(x, axis=axis), axis).tolist()


def test_order_of_nan_zeros_and_equals() -> None:
    """NaN is largest; zeros are equal; equals stay in their order, also from the largest on."""
    x = f32(NAN, 2, -0.0, INF, 0.0, NAN, 2)
    assert run("argsort", x).tolist() == [2, 4, 1, 6, 3, 0, 5]
    assert run("argsort", x, descending=1).tolist() == [0, 5, 3, 1, 6, 2, 4]
    assert np.signbit(run("sort", x)[:2]).tolist() == [True, False]
    values, places = run("top_k", x, k=3)
    np.testing.assert_array_equal(values, f32(NAN, NAN, INF))
    assert places.tolist() == [0, 5, 3]
    assert run("top_k", x, k=3, sorted=0)[1].tolist() == [0, 3, 5]
    assert run("top_k", x, k=2, largest=0)[1].tolist() == [2, 4]
    top = np.array([2**64 - 1, 0, 2**63], np.uint64)
    assert run("sort", top).tolist() == [0, 2**63, 2**64 - 1]
    small = np.array([1.5, -2.0, np.nan], ml_dtypes.float8_e5m2)
    assert run("argsort", small).tolist() == [1, 0, 2]


def test_searchsorted_is_numpys() -> None:
    """One row of boundaries for all, or a row for each."""
    rows, wanted = np.sort(RANDOM.integers(0, 9, (2, 6))), RANDOM.integers(-1, 11, (2, 5))
    sides: Any = ("left", "right")
    for right, side in enumerate(sides):
        expected = [np.searchsorted(rows[i], wanted[i], side=side).tolist() for i in range(2)]
        assert run("searchsorted", rows, wanted, right=right).tolist() == expected
        assert run("searchsorted", rows[0], wanted, right=right)[0].tolist() == expected[0]
    assert run("searchsorted", f32(1, 2, NAN), f32(NAN, INF)).tolist() == [2, 2]


def test_unique_of_nan_and_zeros() -> None:
    """All NaN are one, zeros of both signs too; each is the first one that is there."""
    x = f32(NAN, -0.0, 3, NAN, 0.0)
    values, count, first, inverse, counts = run("unique", x)
    assert count == 3
    np.testing.assert_array_equal(values, f32(0, 3, NAN, 0, 0))
    assert np.signbit(values[0])
    assert first.tolist() == [1, 2, 0, 0, 0]
    assert inverse.tolist() == [2, 0, 1, 2, 0]
    assert counts.tolist() == [2, 1, 2, 0, 0]
    values, count, first, inverse, counts = run("unique", x, sorted=0)
    np.testing.assert_array_equal(values[: int(count)], f32(NAN, 0, 3))
    assert inverse.tolist() == [0, 1, 2, 0, 1]
    assert counts.tolist() == [2, 2, 1, 0, 0]


def test_unique_is_numpys() -> None:
    """Values, first places, inverse and counts of rows and columns."""
    x = RANDOM.integers(0, 2, (9, 3, 2))
    for axis in (0, 1, 2):
        results = run("unique", x, axis=(axis,))
        count = int(results[1])
        values, *others = np.unique(x, True, True, True, axis=axis)
        assert np.moveaxis(results[0][:count], 0, axis).tolist() == values.tolist()
        assert results[2][:count].tolist() == others[0].tolist()
        assert results[3].tolist() == others[1].reshape(-1).tolist()
        assert results[4][:count].tolist() == others[2].tolist()
    empty = run("unique", np.zeros((2, 0)), axis=(0,))
    assert (empty[0].shape, int(empty[1]), empty[3].tolist()) == ((2, 0), 1, [0, 0])


def test_nonzero() -> None:
    """NaN isn't zero, -0 is; rank 0 has a row without indices; what is behind count is 0."""
    places, count = run("nonzero", f32(0, NAN, -0.0, 2).reshape(2, 2))
    assert (places.tolist(), int(count)) == ([[0, 1], [1, 1], [0, 0], [0, 0]], 2)
    places, count = run("nonzero", np.array(3))
    assert (places.shape, int(count)) == ((1, 0), 1)


def test_split() -> None:
    values = np.arange(10, dtype=np.float32).reshape(2, 5)
    first, none, rest = run("split", values, axis=1, sizes=(2, 0, 3))
    assert first.tolist() == [[0, 1], [5, 6]]
    assert none.shape == (2, 0)
    assert rest.tolist() == [[2, 3, 4], [7, 8, 9]]


def test_stack_flip_and_roll_are_numpys() -> None:
    """numpy.stack, numpy.flip and numpy.roll."""
    a, b = RANDOM.integers(0, 9, (2, 3, 4)), RANDOM.integers(0, 9, (2, 3, 4))
    for axis in (-4, 0, 1, 3):
        assert run("stack", a, b, axis=axis).tolist() == np.stack([a, b], axis).tolist()
    assert run("flip", a).tolist() == np.flip(a).tolist()
    assert run("flip", a, axes=(-1, 0)).tolist() == a[::-1, :, ::-1].tolist()
    assert (
        run("roll", a, shifts=(5, -1), axes=(2, 0)).tolist() == np.roll(a, (5, -1), (2, 0)).tolist()
    )
    assert run("roll", a, shifts=(-7,)).tolist() == np.roll(a, -7).tolist()
    assert run("roll", a, shifts=(1, 2), axes=(1, 1)).tolist() == a.tolist()


def test_diag_is_numpys() -> None:
    """numpy.diag of each row."""
    x = RANDOM.integers(1, 9, (2, 3))
    for k in (-2, 0, 1):
        assert run("diag", x, k=k).tolist() == [np.diag(row, k).tolist() for row in x]


def test_bincount_is_numpys() -> None:
    """numpy.bincount, with zeros for what is not there."""
    x = RANDOM.integers(0, 5, (4, 3)).astype(np.uint8)
    assert run("bincount", x, length=7).tolist() == np.bincount(x.reshape(-1), minlength=7).tolist()


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_pad_is_numpys(mode: str) -> None:
    """numpy.pad, also more than once around; below 0 a part of it is cut off."""
    x = RANDOM.integers(1, 9, (3, 2, 1))
    widths = ((7, 5), (0, 3), (2, 1))
    number = ["constant", "reflect", "edge", "wrap"].index(mode)
    pads = tuple(side for sides in zip(*widths, strict=True) for side in sides)
    result = run("pad", x, pads=pads, mode=number)
    assert result.tolist() == np.pad(x, widths, mode).tolist()  # type: ignore[call-overload]
    cut = run("pad", x, pads=(-1, 0, 2, 5, 3, 1), mode=number)
    wide = run("pad", x, pads=(0, 0, 2, 5, 3, 1), mode=number)
    assert cut.tolist() == wide[1:].tolist()
    assert run("pad", x, pads=(-3, 0, 0, 0, 0, 0), mode=number).shape == (0, 2, 1)


def test_bitcast_of_packed_dtypes() -> None:
    """-1 is all bits, and 1.0 of float4 is 0b0010; to bool every byte but 0 is true."""
    four = np.array([-1, 3, -8], ml_dtypes.int4)
    assert run("bitcast", four, dtype=np.dtype(ml_dtypes.uint4)).astype(int).tolist() == [15, 3, 8]
    ones = np.array([1.0, -1.0], ml_dtypes.float4_e2m1fn)
    assert run("bitcast", ones, dtype=np.dtype(ml_dtypes.int4)).astype(int).tolist() == [2, -6]
    two = np.array([3, 1], ml_dtypes.uint2)
    assert run("bitcast", two, dtype=np.dtype(ml_dtypes.int2)).astype(int).tolist() == [-1, 1]
    assert run("bitcast", np.array([0, 2], np.int8), dtype=np.dtype(bool)).tolist() == [False, True]
    complex_ = run("bitcast", np.array([1.0]), dtype=np.dtype(np.complex64))
    assert complex_.tolist() == np.array([1.0]).view(np.complex64).tolist()


def test_values_of_made_tensors() -> None:
    """Scalars are rounded to the dtype; integers wrap in a series, and need whole numbers."""
    assert run("fill", shape=(2,), dtype=np.dtype(np.float16), value=2049.0).tolist() == [2048] * 2
    assert run("iota", shape=(3,), dtype=np.dtype(np.int8), start=126.0).tolist() == [
        126,
        127,
        -128,
    ]
    series = run("iota", shape=(2, 3), dtype=np.dtype(np.float32), axis=-2, start=0.5, step=-2.0)
    assert series.tolist() == [[0.5] * 3, [-1.5] * 3]
    with pytest.raises(ValueError, match=r"step is 0\.5; int64 needs a whole number"):
        run("iota", shape=(3,), dtype=np.dtype(np.int8), step=0.5)
    with pytest.raises(ValueError, match=r"value is -1\.0; uint8 needs a whole number"):
        run("fill", shape=(3,), dtype=np.dtype(np.uint8), value=-1.0)
    with pytest.raises(ValueError, match=r"off_value is 0\.5; bool needs a whole number"):
        run("one_hot", i64(0), depth=2, dtype=np.dtype(bool), off_value=0.5)
