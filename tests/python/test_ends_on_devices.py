"""What integers can't hold, on every driver: division by 0, shifts too far, ends of ranges.

Each has one value, the same everywhere, which the page of the operation says; expected values are
worked by hand. A device without the operation in that dtype says so, naming all three.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from catalog_calls import numpy_dtype

import wia
from wia.catalog import BY_NAME
from wia.catalog._numeric import limits

NAN, INF = math.nan, math.inf
ON = ("reference:0", "npu:0", "emulator:0", "sample:0")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call: operands with their dtypes, what comes out, and the words of the page about it."""

    op: str
    operands: tuple[tuple[list[Any], str], ...]
    expected: tuple[tuple[Any, str], ...]
    rule: str
    values: dict[str, Any] = field(default_factory=dict)


def call(op: str, *operands: Any, gives: Any, rule: str, **values: Any) -> Call:
    """One output."""
    return Call(op=op, operands=operands, expected=(gives,), rule=rule, values=values)


def signed(dtype: str) -> Iterator[Call]:
    """Quotients, remainders, shifts and signs of the least integer, and of others by 0."""
    bits = 8 * np.dtype(dtype).itemsize
    least = -(2 ** (bits - 1))
    a, b = ([least, 7, -7, 0, least], dtype), ([-1, 0, 0, 0, 0], dtype)
    quotient = ([least, 0, 0, 0, 0], dtype)
    rest = ([0, 0, 0, 0, 0], dtype)
    yield call(
        "div", a, b, gives=quotient, rule="integer by 0 gives 0, and the least integer by -1"
    )
    yield call("floor_div", a, b, gives=quotient, rule="By 0 integers give 0")
    yield call("mod", a, b, gives=rest, rule="remainder of an integer by 0 is 0")
    yield call("mod", a, b, gives=rest, rule="That of the least integer by -1 is 0", fmod=1)
    yield call(
        "shift_left",
        ([1, -1, 1, -1, 3], dtype),
        ([bits, bits, -1, least, bits - 1], dtype),
        gives=([0, 0, 0, 0, least], dtype),
        rule="as large as the width of the dtype, or larger, gives 0. A b below 0 counts",
    )
    yield call(
        "shift_right",
        ([1, -1, least, 5, -5], dtype),
        ([bits, bits, bits - 1, -1, least], dtype),
        gives=([0, -1, -1, 0, -1], dtype),
        rule="or larger, gives 0, or -1 where a is below 0",
    )
    yield call("abs", ([least, -7], dtype), gives=([least, 7], dtype), rule="least integer stays")
    yield call("neg", ([least, -7], dtype), gives=([least, 7], dtype), rule="least integer stays")
    yield call(
        "pow",
        ([0, 2, -1, -1, 1], dtype),
        ([-1, -1, least, -3, least], dtype),
        gives=([0, 0, 1, -1, 1], dtype),
        rule="1 and -1 give 1 or -1, others 0, and so does 0",
    )
    yield call(
        "gcd",
        ([least, 0, least], dtype),
        ([0, 0, 6], dtype),
        gives=([least, 0, 2], dtype),
        rule="but for the least integer with itself or 0",
    )
    yield call(
        "lcm", ([least, 0], dtype), ([0, 0], dtype), gives=([0, 0], dtype), rule="0 where a or b"
    )
    for op, b_of, result in (("add", -1, -least - 1), ("sub", 1, -least - 1), ("mul", -1, least)):
        yield call(
            op, ([least], dtype), ([b_of], dtype), gives=([result], dtype), rule="Integers wrap"
        )


def unsigned(dtype: str) -> Iterator[Call]:
    """The same of integers without a sign."""
    bits = 8 * np.dtype(dtype).itemsize
    most = 2**bits - 1
    a, b = ([most, 0], dtype), ([0, 0], dtype)
    none = ([0, 0], dtype)
    yield call("div", a, b, gives=none, rule="Dividing an integer by 0 gives 0")
    yield call("floor_div", a, b, gives=none, rule="By 0 integers give 0")
    yield call("mod", a, b, gives=none, rule="remainder of an integer by 0 is 0")
    for op in ("shift_left", "shift_right"):
        yield call(
            op, ([most, 1], dtype), ([bits, most], dtype), gives=none, rule="or larger, gives 0"
        )
    yield call("add", a, ([1, 0], dtype), gives=none, rule="Integers wrap")


def casts(target: str) -> Iterator[Call]:
    """What is no number or out of range, from every float; the low bits of wider integers."""
    low, high = limits(np, numpy_dtype(target))
    given = [NAN, -INF, INF, -(2.0**70), 2.0**70, 1.75, -1.75]
    ends = [0, low, high, low, high, 1, max(low, -1)]
    for source in ("float64", "float32", "bfloat16"):
        yield call(
            "cast", (given, source), gives=(ends, target), rule="becomes the nearest", dtype=target
        )
    # float16 reaches no further than its infinities, which count as out of range.
    yield call(
        "cast",
        ([NAN, -INF, INF], "float16"),
        gives=([0, low, high], target),
        rule="NaN becomes 0",
        dtype=target,
    )
    width = high - low + 1
    if width < 2**63:
        wide = [low - 1, high + 1, -1]
        wrapped = [(value - low) % width + low for value in wide]
        yield call(
            "cast", (wide, "int64"), gives=(wrapped, target), rule="the low bits", dtype=target
        )


def floats(dtype: str) -> Iterator[Call]:
    """Division by zeros of both signs."""
    a, b = ([1.0, -1.0, 0.0, 1.0, INF, NAN], dtype), ([0.0, 0.0, 0.0, -0.0, INF, 0.0], dtype)
    yield call("div", a, b, gives=([INF, -INF, NAN, -INF, NAN, NAN], dtype), rule="IEEE 754")
    yield call("mod", a, b, gives=([NAN] * 6, dtype), rule="that of a float is NaN")
    yield call("floor_div", a, b, gives=([INF, -INF, NAN, -INF, NAN, NAN], dtype), rule="IEEE 754")
    yield call(
        "reciprocal", ([0.0, -0.0], dtype), gives=([INF, -INF], dtype), rule="an infinity of their"
    )


def quantized(target: str) -> Iterator[Call]:
    """Saturation, NaN and a scale of 0."""
    low, high = limits(np, numpy_dtype(target))
    given = [NAN, -INF, INF, -3e38, 3e38, 0.5, 1.5]
    for scale, zero, expected in (
        (1.0, 0, [0, low, high, low, high, 0, min(2, high)]),
        (1.0, 1, [1, low, high, low, high, 1, min(3, high)]),
        (0.0, 1, [1, low, high, low, high, high, high]),
    ):
        yield call(
            "quantize",
            (given, "float32"),
            ([scale], "float32"),
            ([zero], target),
            gives=(expected, target),
            rule="NaN gives the zero point",
        )


def products() -> Iterator[Call]:
    """Sums of 8-bit products wrap at 32 bits; results of 8 bits end at their range."""
    yield call(
        "qlinear_matmul",
        ([[127, 127], [-128, -128], [1, 0], [0, 0]], "int8"),
        ([1.0], "float32"),
        ([0], "int8"),
        ([[127], [127]], "int8"),
        ([1.0], "float32"),
        ([0], "int8"),
        ([1.0], "float32"),
        ([3], "int8"),
        gives=([[127], [-128], [127], [3]], "int8"),
        rule="NaN counts as 0",
    )
    # A scale of 0: the factor is infinite, and 0 times it NaN, which counts as 0.
    yield call(
        "qlinear_matmul",
        ([[1], [-1], [2], [0]], "int8"),
        ([1.0], "float32"),
        ([0], "int8"),
        ([[1]], "int8"),
        ([1.0], "float32"),
        ([0], "int8"),
        ([0.0], "float32"),
        ([3], "int8"),
        gives=([[127], [-128], [127], [3]], "int8"),
        rule="NaN counts as 0",
    )


CALLS = [
    *(item for dtype in SIGNED for item in signed(dtype)),
    *(item for dtype in UNSIGNED for item in unsigned(dtype)),
    *(
        item
        for dtype in (*SIGNED, *UNSIGNED, "int4", "uint4", "int2", "uint2")
        for item in casts(dtype)
    ),
    *(item for dtype in ("float64", "float32", "float16", "bfloat16") for item in floats(dtype)),
    *(
        item
        for dtype in ("int8", "uint8", "int16", "uint16", "int4", "uint4", "int2", "uint2")
        for item in quantized(dtype)
    ),
    *products(),
]


@pytest.fixture(scope="module", params=ON)
def ctx(request: pytest.FixtureRequest) -> Iterator[wia.Context]:
    """A context on each driver that computes."""
    with wia.Context(request.param) as context:
        yield context


def array(values: list[Any], dtype: str) -> Any:
    """Elements of a dtype, also of those that numpy itself doesn't have."""
    base: np.dtype[Any] = np.dtype(np.float64)
    if not any(isinstance(value, float) for value in np.ravel(np.array(values, object))):
        base = np.dtype(dtype) if hasattr(np, dtype) else np.dtype(np.int8)
    return np.array(values, base).astype(numpy_dtype(dtype))


def test_rules(ctx: wia.Context) -> None:
    """The value of the page, or UNIMPLEMENTED; the reference driver has all of them."""
    ran, refused = 0, set()
    for item in CALLS:
        (_, lead), (expected, target) = item.operands[0], item.expected[0]
        claimed = ctx.device.supports(item.op)
        tensors = [ctx.tensor(array(*given)) for given in item.operands]
        if lead not in claimed or (item.op == "cast" and target not in claimed):
            assert ctx.device.driver_name != "reference", item
            if item.op not in refused:
                refused.add(item.op)
                words = f"{item.op}.*{ctx.device.driver_name}"
                with pytest.raises(wia.UnimplementedError, match=words):
                    ctx.execute(item.op, tensors, **item.values)
            continue
        (result,) = ctx.execute(item.op, tensors, **item.values)
        got = result.numpy()
        assert got.dtype == numpy_dtype(target), item
        np.testing.assert_array_equal(
            got.astype(np.float64), array(expected, target).astype(np.float64), err_msg=str(item)
        )
        ran += 1
    least = {"reference": len(CALLS), "emulator": len(CALLS), "npu": 24, "sample": 9}
    assert ran >= least[ctx.device.driver_name]


@pytest.mark.parametrize("op", sorted({item.op for item in CALLS}))
def test_pages_say_so(op: str) -> None:
    """The notes of the entry, which are its page, have the words of each rule."""
    notes = " ".join(BY_NAME[op].notes)
    for rule in {item.rule for item in CALLS if item.op == op}:
        assert rule in notes, (op, rule)
