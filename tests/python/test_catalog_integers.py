"""Integers, bits and truth: wrapping, division by 0, shifts too far; worked by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from catalog_calls import run

from wia.catalog import ScalarError


def f32(*values: float) -> Any:
    """A vector of float32."""
    return np.array(values, np.float32)


def test_mod_of_both_signs() -> None:
    """That of Python and that of C; integers by 0 give 0, and the least one by -1 too."""
    a, b = np.array([7, -7, 7, -7, 5, -128], np.int8), np.array([3, 3, -3, -3, 0, -1], np.int8)
    assert run("mod", a, b).tolist() == [1, 2, -2, -1, 0, 0]
    assert run("mod", a, b, fmod=1).tolist() == [1, -1, 1, -1, 0, 0]
    assert run("floor_div", a, b).tolist() == [2, -3, -3, 2, 0, -128]
    least = np.array([-(2**63)])
    assert run("floor_div", least, np.array([-1])).tolist() == [-(2**63)]
    assert run("mod", least, np.array([-1])).tolist() == [0]
    large = np.array([2**64 - 1, 7], np.uint64)
    assert run("floor_div", large, np.array([2, 0], np.uint64)).tolist() == [2**63 - 1, 0]
    assert run("mod", large, np.array([2**63, 0], np.uint64)).tolist() == [2**63 - 1, 0]
    floats = run("mod", f32(5.5, -5.5, -6.0), f32(2.0, 2.0, 3.0), fmod=1)
    assert floats.tolist() == [1.5, -1.5, 0.0]
    assert np.signbit(floats[2])


def test_powers_of_integers() -> None:
    """They wrap, and negative ones are rounded toward zero."""
    a, b = np.array([2, -2, 10, 0, 5], np.int32), np.array([10, 31, 9, 0, 20], np.int32)
    wrapped = (5**20 + 2**31) % 2**32 - 2**31
    assert run("pow", a, b).tolist() == [1024, -(2**31), 10**9, 1, wrapped]
    negative = run("pow", np.array([1, -1, -1, 2, 0, -5], np.int8), np.full(6, -3, np.int8))
    assert negative.tolist() == [1, -1, -1, 0, 0, 0]
    assert run("pow", np.array([-1, -1], np.int64), np.array([-2, -(2**63)])).tolist() == [1, 1]
    assert run("pow", np.array([3], np.uint8), np.array([255], np.uint8)).tolist() == [3**255 % 256]


def test_common_divisors() -> None:
    """As math has them; the least integer wraps."""
    a, b = np.array([12, -12, 0, 7, -128], np.int8), np.array([18, 8, 0, 0, 0], np.int8)
    assert run("gcd", a, b).tolist() == [math.gcd(12, 18), 4, 0, 7, -128]
    assert run("lcm", a, b).tolist() == [math.lcm(12, 18), 24, 0, 0, 0]
    assert run("lcm", np.array([100], np.uint8), np.array([99], np.uint8)).tolist() == [9900 % 256]


def test_integers_of_arithmetic() -> None:
    """They wrap, and scalars have to be whole."""
    a = np.array([-128, 100, -3], np.int8)
    assert run("abs", a).tolist() == [-128, 100, 3]
    assert run("sign", a).tolist() == [-1, 1, -1]
    assert run("sign", np.array([0, 255], np.uint8)).tolist() == [0, 1]
    assert run("square", a).tolist() == [0, 16, 9]
    assert run("squared_difference", a, np.zeros(3, np.int8)).tolist() == [0, 16, 9]
    assert run("add_scaled", a, a, alpha=2.0).tolist() == [-128, 44, -9]
    assert run("addcmul", a, a, a, value=-1.0).tolist() == [-128, 84, -12]
    for name, count in (("add_scaled", 2), ("addcmul", 3)):
        with pytest.raises(ScalarError, match="whole number"):
            run(name, *[a] * count, **{"alpha" if count == 2 else "value": 0.5})


def test_truth_of_numbers() -> None:
    """NaN is true and -0 false."""
    a, b = f32(np.nan, -0.0, 0.0, 2.0), f32(1.0, 1.0, 0.0, 0.0)
    assert run("logical_and", a, b).tolist() == [True, False, False, False]
    assert run("logical_or", a, b).tolist() == [True, True, False, True]
    assert run("logical_xor", a, b).tolist() == [False, True, False, True]
    assert run("logical_not", a).tolist() == [False, True, True, False]
    assert run("logical_not", np.array([3, 0], np.uint8)).tolist() == [False, True]


def test_bits() -> None:
    """Bitwise operations of signed numbers and of bool, and the counts of bits."""
    a, b = np.array([-1, 12, -128], np.int8), np.array([5, 10, 127], np.int8)
    assert run("bitwise_and", a, b).tolist() == [5, 8, 0]
    assert run("bitwise_or", a, b).tolist() == [-1, 14, -1]
    assert run("bitwise_xor", a, b).tolist() == [-6, 6, -1]
    assert run("bitwise_not", a).tolist() == [0, -13, 127]
    flags = np.array([True, False])
    assert run("bitwise_not", flags).tolist() == [False, True]
    assert run("bitwise_xor", flags, flags[::-1]).tolist() == [True, True]
    for dtype in (np.int8, np.uint16, np.int32, np.int64, np.uint64):
        width = 8 * np.dtype(dtype).itemsize
        info = np.iinfo(dtype)
        values = [0, 1, 5, 100, int(info.max), int(info.min)]
        counted = [(value % 2**width).bit_count() for value in values]
        zeros = [width - (value % 2**width).bit_length() for value in values]
        assert run("popcount", np.array(values, dtype)).tolist() == counted
        assert run("leading_zeros", np.array(values, dtype)).tolist() == zeros


def test_shifts() -> None:
    """With the sign to the right; as far as the width, beyond it, and by negative numbers."""
    a = np.array([1, -1, -128, 65, 3, -3], np.int8)
    b = np.array([7, 1, 7, 1, 8, -1], np.int8)
    assert run("shift_left", a, b).tolist() == [-128, -2, 0, -126, 0, 0]
    assert run("shift_right", a, b).tolist() == [0, -1, -1, 32, 0, -1]
    big = np.array([2**63 + 1, 2**63 + 1], np.uint64)
    amount = np.array([63, 64], np.uint64)
    assert run("shift_right", big, amount).tolist() == [1, 0]
    assert run("shift_left", big, amount).tolist() == [2**63, 0]
