"""Operations on the bits of integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._forms import EXACT, binary, onnx, unary
from ._model import INTEGERS, Operation
from ._numeric import is_unsigned

_WITH_BOOL = (*INTEGERS, "bool")


def _bitwise(name: str, summary: str) -> Callable[..., Any]:
    def semantics(np: Any, *inputs: Any) -> Any:
        return getattr(np, name)(*inputs)

    semantics.__doc__ = summary
    return semantics


def shift_left(np: Any, a: Any, b: Any) -> Any:
    """The bits moved up, 0 behind them."""
    inside, amount = _amount(np, b, 8 * a.dtype.itemsize)
    return np.where(inside, np.left_shift(a, amount), np.zeros((), a.dtype))


def shift_right(np: Any, a: Any, b: Any) -> Any:
    """The bits moved down, the sign behind them."""
    inside, amount = _amount(np, b, 8 * a.dtype.itemsize)
    sign = np.zeros((), a.dtype) if is_unsigned(a.dtype) else np.where(a < 0, -1, 0).astype(a.dtype)
    return np.where(inside, np.right_shift(a, amount), sign)


def _amount(np: Any, b: Any, width: int) -> tuple[Any, Any]:
    """Whether bits are left by a shift, and how far it goes, 0 where none are."""
    inside = (b >= 0) & (b < width)
    return inside, np.where(inside, b, np.zeros((), b.dtype))


def popcount(np: Any, x: Any) -> Any:
    """The number of bits that are set."""
    return np.bitwise_count(_bits(np, x)).astype(x.dtype)


def leading_zeros(np: Any, x: Any) -> Any:
    """The number of bits above the highest one that is set."""
    bits = _bits(np, x)
    for step in (1, 2, 4, 8, 16, 32):
        if step < 8 * x.dtype.itemsize:
            bits = bits | (bits >> np.array(step, bits.dtype))
    return (8 * x.dtype.itemsize - np.bitwise_count(bits)).astype(x.dtype)


def _bits(np: Any, x: Any) -> Any:
    """The bits of integers as unsigned ones; numpy counts those of the absolute value."""
    return x.astype(np.dtype(f"u{x.dtype.itemsize}"))


def _pair_of_bits(number: int, name: str, formula: str) -> Operation:
    summary = f"{name.upper()} of each bit."
    return binary(
        number,
        f"bitwise_{name}",
        summary,
        f"output = {formula}",
        _bitwise(f"bitwise_{name}", summary),
        dtypes=_WITH_BOOL,
        standard=onnx(f"Bitwise{name.capitalize()}", 18, "of bool too"),
        tolerance=EXACT,
        source=f"ONNX node tests bitwise_{name}*",
    )


BITWISE_AND = _pair_of_bits(99, "and", "a & b")
BITWISE_OR = _pair_of_bits(100, "or", "a | b")
BITWISE_XOR = _pair_of_bits(101, "xor", "a ^ b")
BITWISE_NOT = unary(
    102,
    "bitwise_not",
    "NOT of each bit.",
    "output = ~input",
    _bitwise("invert", "NOT of each bit."),
    dtypes=_WITH_BOOL,
    standard=onnx("BitwiseNot", 18, "of bool too"),
    source="ONNX node tests bitwise_not*",
)


def _shift(number: int, name: str, summary: str, sign: str, note: str, semantics: Any) -> Operation:
    return binary(
        number,
        name,
        summary,
        f"output = a {sign} b",
        semantics,
        dtypes=INTEGERS,
        notes=(f"{note} A b below 0 counts as far too large.",),
        standard=onnx("BitShift", 11, "of signed dtypes too"),
        tolerance=EXACT,
        source="ONNX node tests bitshift_*; signs and widths by hand",
    )


SHIFT_LEFT = _shift(
    103,
    "shift_left",
    "Moves bits up.",
    "<<",
    "Bits that don't fit are lost. b as large as the width of the dtype, or larger, gives 0.",
    shift_left,
)
SHIFT_RIGHT = _shift(
    104,
    "shift_right",
    "Moves bits down, those of negative numbers with their sign.",
    ">>",
    "b as large as the width of the dtype, or larger, gives 0, or -1 where a is below 0.",
    shift_right,
)
POPCOUNT = unary(
    105,
    "popcount",
    "Number of bits that are set.",
    "output = the number of ones in input",
    popcount,
    dtypes=INTEGERS,
    notes=("Of negative numbers those of two's complement.",),
    source="Python's int.bit_count",
)
LEADING_ZEROS = unary(
    106,
    "leading_zeros",
    "Number of zeros above the highest bit that is set.",
    "output = width - the number of bits that input needs",
    leading_zeros,
    dtypes=INTEGERS,
    notes=("0 gives the width of the dtype, a negative number 0.",),
    source="Python's int.bit_length",
)

OPERATIONS = (
    BITWISE_AND,
    BITWISE_OR,
    BITWISE_XOR,
    BITWISE_NOT,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    POPCOUNT,
    LEADING_ZEROS,
)
