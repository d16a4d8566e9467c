"""Operations on each element alone."""

from __future__ import annotations

from typing import Any

from ._cost import moves_only
from ._forms import (
    INPUT,
    PAIR_SAMPLES,
    PAIRS_OF_ENDS,
    SIGNED_ZEROS,
    UNARY_SAMPLES,
    binary,
    onnx,
    target_dtype,
    unary,
)
from ._model import (
    ANY,
    FLOATS,
    PACKED,
    SIGNED,
    Operand,
    Operation,
    Sample,
    Standard,
)
from ._numeric import is_integer, limits, narrow, widen

_CAST_DTYPES = (*ANY, *PACKED)


def relu(np: Any, x: Any) -> Any:
    """The larger of the element and 0; NaN stays."""
    return np.where(x <= 0, np.zeros((), x.dtype), x)


def add(np: Any, a: Any, b: Any) -> Any:
    """Sum."""
    return narrow(np, widen(np, a) + widen(np, b), a.dtype)


def sub(np: Any, a: Any, b: Any) -> Any:
    """Difference."""
    return narrow(np, widen(np, a) - widen(np, b), a.dtype)


def mul(np: Any, a: Any, b: Any) -> Any:
    """Product."""
    return narrow(np, widen(np, a) * widen(np, b), a.dtype)


def div(np: Any, a: Any, b: Any) -> Any:
    """Quotient; that of integers is rounded toward zero, and 0 where b is 0."""
    if not is_integer(a.dtype):
        return narrow(np, widen(np, a) / widen(np, b), a.dtype)
    a, b = np.broadcast_arrays(a, b)
    if a.dtype.kind == "u":
        return np.where(b == 0, b, a // np.where(b == 0, b + 1, b)).astype(a.dtype)
    least = np.iinfo(a.dtype).min
    safe = np.where((b == 0) | ((a == least) & (b == -1)), np.ones((), b.dtype), b)
    quotient = a // safe
    quotient = quotient + ((a - quotient * safe != 0) & ((a < 0) != (safe < 0)))
    return np.where(b == 0, np.zeros((), a.dtype), quotient).astype(a.dtype)


def cast(np: Any, x: Any, *, dtype: Any) -> Any:
    """The element in another dtype."""
    if dtype == x.dtype:
        return x
    if dtype.kind == "b":
        return widen(np, x) != 0
    if dtype.kind == "c":
        part = np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
        return x.astype(dtype) if x.dtype.kind == "c" else cast(np, x, dtype=part).astype(dtype)
    if is_integer(x.dtype):
        return _cast_integer(np, x, dtype)
    wide = widen(np, x)
    wide = np.ascontiguousarray(wide.real).reshape(x.shape) if x.dtype.kind == "c" else wide
    if not is_integer(dtype):
        # The one float without a NaN; which zero ml_dtypes makes of it depends on its sign.
        wide = np.where(np.isnan(wide), 0.0, wide) if dtype.name == "float4_e2m1fn" else wide
        return narrow(np, wide, dtype)
    least, largest = limits(np, dtype)
    below, above = wide < float(least), wide >= float(largest + 1)
    carrier = dtype if dtype.kind in "iu" else np.dtype(np.int8)
    inside = np.where(below | above | np.isnan(wide), 0.0, wide).astype(carrier)
    ends = np.array([least, largest], carrier)
    return np.where(below, ends[0], np.where(above, ends[1], inside)).astype(dtype)


def _cast_integer(np: Any, x: Any, dtype: Any) -> Any:
    wide = widen(np, x)
    if is_integer(dtype):
        return narrow(np, wide, dtype)
    if dtype.char in "dfe":
        return wide.astype(dtype)
    # To others by way of float64: one sticky bit stands for the bits that 53 can't hold.
    negative = wide < 0
    size = np.where(negative, 0 - wide, wide).astype(np.uint64)
    sticky = ((size & np.uint64(0x7FF)) != 0).astype(np.uint64)
    large = ((size >> np.uint64(11)) | sticky).astype(np.float64) * 2048.0
    magnitude = np.where(size >> np.uint64(53) != 0, large, size.astype(np.float64))
    return narrow(np, np.where(negative, -magnitude, magnitude), dtype)


_WRAPS = ("Integers wrap.",)

RELU = unary(
    5,
    "relu",
    "Rectifier: what is below zero becomes zero.",
    "output = max(input, 0)",
    relu,
    dtypes=(*FLOATS, *SIGNED),
    notes=("NaN stays NaN; -0 becomes 0.",),
    standard=onnx("Relu", 14),
    tolerance=SIGNED_ZEROS,
    samples=UNARY_SAMPLES,
    source="ONNX node test relu; NaN and -0 by hand",
)

ADD = binary(
    14,
    "add",
    "Sum of two tensors.",
    "output = a + b",
    add,
    standard=onnx("Add", 14),
    notes=_WRAPS,
    source="ONNX node tests add*; wrapping by hand",
)
SUB = binary(
    15,
    "sub",
    "Difference of two tensors.",
    "output = a - b",
    sub,
    standard=onnx("Sub", 14),
    notes=_WRAPS,
    source="ONNX node tests sub*; wrapping by hand",
)
MUL = binary(
    16,
    "mul",
    "Product of two tensors, element by element.",
    "output = a * b",
    mul,
    standard=onnx("Mul", 14),
    notes=_WRAPS,
    source="ONNX node tests mul*; wrapping by hand",
)
DIV = binary(
    17,
    "div",
    "Quotient of two tensors, element by element.",
    "output = a / b",
    div,
    standard=onnx("Div", 14),
    notes=(
        "Integers are rounded toward zero. Dividing an integer by 0 gives 0, and the least integer "
        "by -1 gives itself; floats follow IEEE 754.",
    ),
    samples=(*PAIR_SAMPLES, PAIRS_OF_ENDS),
    source="ONNX node tests div*; division by 0 and of the least integer by hand",
)

CAST = Operation(
    number=18,
    name="cast",
    summary="Converts to another dtype.",
    formula="output = input, in the dtype of output",
    inputs=(INPUT,),
    outputs=(Operand(name="output", summary="The shape of input, any of the same dtypes."),),
    family="cast",
    dtypes=_CAST_DTYPES,
    semantics=cast,
    notes=(
        "To a float: rounded to nearest even; too large becomes infinite, or NaN where the dtype "
        "has no infinity.",
        "float8_e8m0fnu has powers of two only: 0 and what is negative become NaN, and what is "
        "below the least of them becomes that. float4_e2m1fn has neither infinity nor NaN: too "
        "large becomes 6, NaN becomes 0.",
        "From a float to an integer: rounded toward zero; what is out of range becomes the nearest "
        "end of the range and NaN becomes 0.",
        "From an integer to an integer: the low bits (two's complement).",
        "To bool: not equal to zero, so NaN is true. From bool: 0 or 1.",
        "From a complex number to a real one: the real part. To bool: whether any part is not 0.",
    ),
    standard=Standard(
        name="Cast", opset=13, note="which leaves open what is out of range; saturate 0"
    ),
    attributes=(target_dtype("The dtype of the result"),),
    tolerance=SIGNED_ZEROS,
    flops=moves_only,
    samples=tuple(
        Sample(shapes=((5, 7),), values={"dtype": dtype}, fills=(fill,))
        for dtype in _CAST_DTYPES
        for fill in (("wide", "special") if dtype in FLOATS + SIGNED else ("special",))
    ),
    source="ONNX node tests cast_*; ends of the range, wrapping, double rounding and complex "
    "numbers by hand",
)

OPERATIONS = (RELU, ADD, SUB, MUL, DIV, CAST)
