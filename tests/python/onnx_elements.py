"""Calls for ONNX's operators on each element alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onnx_calls import Call, LeftOutError


def plain(name: str) -> Callable[..., Call]:
    """The same operands, and attributes that have the same names."""

    def make(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
        return name, inputs, attributes

    return make


def _pow(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    base, exponent = inputs
    if base.dtype.kind != "f" and exponent.dtype != base.dtype:
        raise LeftOutError("pow has one dtype")
    return "pow", [base, exponent.astype(base.dtype)], {}


def _prelu(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    x, slope = inputs
    if opset < 7 and slope.size > 1:  # one per channel
        slope = slope.reshape(-1, *[1] * (x.ndim - 2))
    return "prelu", [x, slope], {}


def _shift(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    return f"shift_{attributes['direction'].decode().lower()}", inputs, {}


def _swish(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    alpha = attributes.get("alpha", 1.0)
    return ("silu", inputs, {}) if alpha == 1.0 else ("quick_gelu", inputs, {"alpha": alpha})


ELEMENTS: dict[str, Callable[[list[Any], dict[str, Any], int], Call]] = {
    "Abs": plain("abs"),
    "Acos": plain("acos"),
    "Acosh": plain("acosh"),
    "And": plain("logical_and"),
    "Asin": plain("asin"),
    "Asinh": plain("asinh"),
    "Atan": plain("atan"),
    "Atanh": plain("atanh"),
    "BitShift": _shift,
    "BitwiseAnd": plain("bitwise_and"),
    "BitwiseNot": plain("bitwise_not"),
    "BitwiseOr": plain("bitwise_or"),
    "BitwiseXor": plain("bitwise_xor"),
    "Ceil": plain("ceil"),
    "Celu": plain("celu"),
    "Cos": plain("cos"),
    "Cosh": plain("cosh"),
    "Elu": plain("elu"),
    "Erf": plain("erf"),
    "Floor": plain("floor"),
    "HardSigmoid": plain("hard_sigmoid"),
    "HardSwish": plain("hard_swish"),
    "IsInf": plain("is_inf"),
    "IsNaN": plain("is_nan"),
    "LeakyRelu": plain("leaky_relu"),
    "Mish": plain("mish"),
    "Mod": plain("mod"),
    "Not": plain("logical_not"),
    "Or": plain("logical_or"),
    "PRelu": _prelu,
    "Pow": _pow,
    "Reciprocal": plain("reciprocal"),
    "Round": plain("round"),
    "Selu": plain("selu"),
    "Shrink": plain("shrink"),
    "Sign": plain("sign"),
    "Sin": plain("sin"),
    "Sinh": plain("sinh"),
    "Softplus": plain("softplus"),
    "Softsign": plain("softsign"),
    "Swish": _swish,
    "Tan": plain("tan"),
    "ThresholdedRelu": plain("thresholded_relu"),
    "Xor": plain("logical_xor"),
}
