"""Functions, comparisons and moves against values worked by hand, or taken from the definition."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from catalog_calls import run
from test_catalog_values import BFLOAT16, cast

from wia.catalog import BY_NAME, OperandError, ScalarError, evaluate

NAN, INF = math.nan, math.inf


def f32(*values: float) -> Any:
    """A vector of float32."""
    return np.array(values, np.float32)


def test_neg() -> None:
    """The least integer stays, zeros and NaN change their sign."""
    assert run("neg", np.array([-128, 127, 0], np.int8)).tolist() == [-128, -127, 0]
    assert np.signbit(run("neg", f32(0.0, -0.0, NAN, -NAN))).tolist() == [True, False, True, False]
    assert run("neg", np.array([1.5, -INF], BFLOAT16)).tolist() == [-1.5, INF]


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("exp", [0.0, 1.0, -INF, INF, 89.0], [1.0, math.e, 0.0, INF, INF]),
        ("log", [1.0, math.e, 0.0, -1.0, INF], [0.0, 1.0, -INF, NAN, INF]),
        ("sqrt", [4.0, 2.0, -1.0, INF, -INF], [2.0, math.sqrt(2.0), NAN, INF, NAN]),
        ("tanh", [0.0, 0.5 * math.log(3.0), INF, -INF], [0.0, 0.5, 1.0, -1.0]),
        ("sigmoid", [0.0, math.log(3.0), -1e4, 1e4, INF], [0.5, 0.75, 0.0, 1.0, 1.0]),
        ("silu", [0.0, math.log(3.0), -INF, INF], [0.0, 0.75 * math.log(3.0), NAN, INF]),
        # The distribution function at 1 and at -1 from a table: 0.8413447461, 0.1586552539.
        ("gelu", [0.0, 1.0, -1.0, INF, -INF], [0.0, 0.8413447461, -0.1586552539, INF, NAN]),
    ],
)
def test_functions(name: str, given: list[float], expected: list[float]) -> None:
    """Known values, ends and what is undefined; NaN stays."""
    result = run(name, f32(*given, NAN))
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, f32(*expected, NAN), rtol=1e-6, atol=1e-7)


def test_roots_keep_the_sign_of_zero() -> None:
    """sqrt and tanh of -0 are -0."""
    for name in ("sqrt", "tanh"):
        assert np.signbit(run(name, f32(-0.0))).all()


def test_gelu_below_zero_does_not_cancel() -> None:
    """gelu(-10) = -10 * 7.619853024e-24, the distribution function from a table."""
    np.testing.assert_allclose(run("gelu", np.array([-10.0])), [-7.619853024e-23], rtol=1e-9)
    tanh = run("gelu", np.array([1.0, -1.0]), approximate=1)
    inner = math.tanh(math.sqrt(2.0 / math.pi) * 1.044715)
    np.testing.assert_allclose(tanh, [0.5 * (1 + inner), -0.5 * (1 - inner)], rtol=1e-12)


def test_clip() -> None:
    """NaN stays, max wins over min, bounds are rounded, and those out of range stop at its ends."""
    result = run("clip", f32(NAN, -INF, 0.5, INF), min=-1.0, max=2.0)
    assert np.isnan(result[0])
    assert result[1:].tolist() == [-1.0, 0.5, 2.0]
    assert run("clip", f32(-3, 0, 3), min=1.0, max=-1.0).tolist() == [-1.0] * 3
    assert run("clip", f32(NAN, -INF, INF)).tolist()[1:] == [-INF, INF]
    assert np.isnan(run("clip", np.array([NAN], BFLOAT16), min=0.0)).all()
    assert run("clip", np.array([0.0], np.float16), min=1 + 2.0**-11).tolist() == [1.0]
    numbers = np.array([-128, 0, 127], np.int8)
    assert run("clip", numbers, min=-1e9, max=INF).tolist() == [-128, 0, 127]
    assert run("clip", numbers, min=1e9).tolist() == [127] * 3
    assert run("clip", np.array([2**63 + 1], np.uint64), min=-5.0, max=2.0**63).tolist() == [2**63]
    with pytest.raises(ScalarError, match="whole number"):
        run("clip", numbers, min=0.5)
    with pytest.raises(ScalarError, match="nan"):
        run("clip", f32(1.0), max=NAN)


def test_comparisons_of_nan_and_zeros() -> None:
    """All are false of NaN but not_equal; zeros of both signs are equal."""
    a, b = f32(NAN, NAN, 1.0, 0.0, 1.0), f32(NAN, 1.0, NAN, -0.0, 2.0)
    expected = {
        "equal": [False, False, False, True, False],
        "not_equal": [True, True, True, False, True],
        "less": [False, False, False, False, True],
        "less_equal": [False, False, False, True, True],
        "greater": [False] * 5,
        "greater_equal": [False, False, False, True, False],
    }
    for name, values in expected.items():
        result = run(name, a, b)
        assert (result.dtype, result.tolist()) == (np.bool_, values), name
        assert run(name, a.astype(BFLOAT16), b.astype(BFLOAT16)).tolist() == values
    large = np.array([2**63, 2**64 - 1], np.uint64)
    assert run("less", large, large[::-1]).tolist() == [True, False]
    near = np.array([2**62, 2**62 + 1])
    assert run("equal", near, near[::-1]).tolist() == [False, False]
    flags = np.array([True, False])
    assert run("not_equal", flags, flags[::-1]).tolist() == [True, True]


def test_nan_wins_in_minimum_and_maximum() -> None:
    """On either side."""
    for name in ("minimum", "maximum"):
        for dtype in (np.float32, BFLOAT16):
            a, b = np.array([NAN, 1.0, 3.0], dtype), np.array([1.0, NAN, 2.0], dtype)
            result = run(name, a, b)
            assert np.isnan(result[:2].astype(np.float32)).all()
            assert result[2] == (2.0 if name == "minimum" else 3.0)


def test_where_broadcasts_and_keeps_bits() -> None:
    """A NaN with a payload comes through."""
    payload = np.array([0x7FC12345], np.uint32).view(np.float32)
    result = run("where", np.array([[True], [False]]), payload, f32(1.0, 2.0))
    assert result[0].tobytes() == payload.tobytes() * 2
    assert result[1].tolist() == [1.0, 2.0]


def test_means() -> None:
    """NaN spreads, nothing has the mean NaN, a sum doesn't overflow on the way."""
    assert np.isnan(run("reduce_mean", np.zeros((2, 0)), axes=(1,))).tolist() == [True, True]
    assert np.isnan(run("reduce_mean", f32(1.0, NAN)))
    assert run("reduce_mean", np.full(4, 60000, np.float16)).tolist() == 60000
    assert run("global_avg_pool2d", np.full((1, 1, 2, 2), 60000, np.float16)).tolist() == [
        [[[60000]]]
    ]
    assert np.isnan(run("global_max_pool2d", f32(1, NAN, 3, 2).reshape(1, 1, 2, 2))).all()
    assert run("argmin", np.array([[2, 1, 1], [9, 9, 9]], np.int16)).tolist() == [1, 0]
    assert run("argmin", f32(1.0, NAN, -1.0)).tolist() == 1


def test_avg_pool_counts() -> None:
    """3 wide with a stride of 2 over 4 columns and one of padding in front: see the counts."""
    x = np.full((1, 1, 1, 4), 6.0, np.float32)
    values = {"kernel": (1, 3), "stride": (1, 2), "padding": (0, 1, 0, 0), "ceil_mode": 1}
    assert run("avg_pool2d", x, **values).tolist() == [[[[6.0, 6.0]]]]
    with_pad = run("avg_pool2d", x, count_include_pad=1, **values)
    assert with_pad.tolist() == [[[[4.0, 6.0]]]]
    # The last window has one column inside and two beyond the padding, which never count.
    values = {"kernel": (1, 3), "stride": (1, 3), "ceil_mode": 1, "count_include_pad": 1}
    assert run("avg_pool2d", x, **values).tolist() == [[[[6.0, 6.0]]]]
    alone = {"kernel": (2, 2), "dilation": (2, 2), "padding": (1, 1, 1, 1)}
    assert np.isnan(run("avg_pool2d", x[..., :1], **alone)).all()


def test_gather_of_a_wrong_index() -> None:
    """The first wrong one is named, with what was expected."""
    x, indices = np.arange(12).reshape(3, 4), np.array([[0, -4], [4, 9]])
    with pytest.raises(OperandError, match=r"indices\[1, 0\] is 4; expected -4 to 3.*dimension 1"):
        run("gather", x, indices, axis=-1)
    with pytest.raises(OperandError, match=r"but dimension 0 of input has no element"):
        run("gather", x[:0], np.zeros(1, np.int64))
    assert run("gather", x, np.array([-1, 0], np.int32)).tolist() == [[8, 9, 10, 11], [0, 1, 2, 3]]


def test_pad_values() -> None:
    """Rounded to the dtype of floats; whole and in range for others."""
    half = run("pad", np.zeros(1, np.float16), pads=(1, 0), value=1 + 2.0**-11)
    assert half.tolist() == [1.0, 0.0]
    assert np.isnan(run("pad", f32(1.0), pads=(0, 1), value=NAN)[1])
    assert run("pad", np.array([False]), pads=(1, 0), value=1.0).tolist() == [True, False]
    complex_ = run("pad", np.array([1j], np.complex64), pads=(1, 0), value=2.0)
    assert complex_.tolist() == [2.0, 1j]
    for dtype, value in ((np.int8, 128.0), (np.uint8, -1.0), (np.int64, 0.5), (np.bool_, 2.0)):
        with pytest.raises(ScalarError, match=f"{np.dtype(dtype).name} needs a whole number"):
            run("pad", np.zeros(1, dtype), pads=(1, 0), value=value)


def test_cast_to_small_floats() -> None:
    """Nearest even; what is too large is infinite or NaN, or 6 where there is neither."""
    given = [1.0, 0.3, -1e9, INF, NAN]
    kinds = {
        "float8_e5m2": [1.0, 0.3125, -INF, INF, NAN],
        "float8_e4m3fn": [1.0, 0.3125, NAN, NAN, NAN],
        "float8_e4m3fnuz": [1.0, 0.3125, NAN, NAN, NAN],
        "float8_e8m0fnu": [1.0, 0.25, NAN, NAN, NAN],
        "float4_e2m1fn": [1.0, 0.5, -6.0, 6.0, 0.0],
    }
    for name, expected in kinds.items():
        np.testing.assert_array_equal(cast(given, np.float32, getattr(ml_dtypes, name)), expected)
    for sign in (NAN, -NAN):
        zero = run("cast", f32(sign), dtype=np.dtype(ml_dtypes.float4_e2m1fn))
        assert zero.view(np.uint8).tolist() == [0]
    # 1 + 2**-4 is the middle of two neighbours: just above it must not round to the even one.
    middle = 1 + 2.0**-4
    to_e4m3 = cast([middle, middle + 2.0**-40], np.float64, ml_dtypes.float8_e4m3fn)
    assert to_e4m3 == [1.0, 1.125]
    assert cast([2**60 + 2**56 + 1], np.int64, ml_dtypes.float8_e8m0fnu) == [2.0**60]


def test_cast_of_integers_below_a_byte() -> None:
    """Floats stop at the ends of the range, integers wrap, and back again nothing is lost."""
    small = {"int4": (-8, 7), "int2": (-2, 1), "uint4": (0, 15), "uint2": (0, 3)}
    for name, (least, largest) in small.items():
        dtype = np.dtype(getattr(ml_dtypes, name))
        ends = cast([-1e9, 1e9, NAN, 1.9], np.float32, dtype)
        assert [int(value) for value in ends] == [least, largest, 0, 1]
        numbers = np.arange(-20, 40)
        wrapped = run("cast", numbers, dtype=dtype)
        back = run("cast", wrapped, dtype=np.dtype(np.int64))
        assert back.tolist() == [
            (n - least) % (largest - least + 1) + least for n in range(-20, 40)
        ]
        assert run("cast", wrapped, dtype=np.dtype(np.float32)).tolist() == back.tolist()


def test_cast_of_complex_numbers() -> None:
    """The real part to real dtypes; any part that isn't zero is true."""
    given = np.array([1.5 + 2j, -3 - 1j, 0 + 1j, 0], np.complex128)
    assert run("cast", given, dtype=np.dtype(np.int8)).tolist() == [1, -3, 0, 0]
    assert run("cast", given, dtype=np.dtype(np.bool_)).tolist() == [True, True, True, False]
    assert run("cast", given, dtype=BFLOAT16).tolist() == [1.5, -3.0, 0.0, 0.0]
    assert run("cast", given, dtype=np.dtype(np.complex64)).tolist() == given.tolist()
    assert cast([2**24 + 1], np.int32, np.complex64) == [2.0**24]
    assert cast([True], np.bool_, np.complex128) == [1.0]


def test_left_out_inputs_of_a_list() -> None:
    """A list has the length that it has: what is behind it may be None."""
    a = f32(1.0)
    assert evaluate(np, BY_NAME["concat"], [a, a, None], {"axis": 0})[0].tolist() == [1.0, 1.0]
