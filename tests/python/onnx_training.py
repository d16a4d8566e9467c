"""ONNX's losses, steps of training and quantization, as calls of catalog entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onnx_calls import Call, LeftOutError

_REDUCTIONS = {b"mean": 0, b"sum": 1, b"none": 2}


def _class_loss(name: str) -> Callable[..., Call]:
    def make(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
        values = {"reduction": _REDUCTIONS[attributes.get("reduction", b"mean")]}
        if "ignore_index" in attributes:
            values["ignore_index"] = attributes["ignore_index"]
        return name, list(inputs), values

    return make


def _one_tensor(inputs: list[Any], count: int) -> tuple[float, float, list[Any]]:
    """Rate, steps so far and operands of a step; those of several tensors are left out."""
    if len(inputs) != 2 + count:
        raise LeftOutError("a step of several tensors at once")
    return float(inputs[0]), float(inputs[1]), list(inputs[2:])


def _momentum(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    rate, steps, operands = _one_tensor(inputs, 3)
    values = {
        "rate": rate,
        "momentum": attributes["alpha"],
        # The first step has a beta of 1.
        "dampening": 1.0 - (attributes["beta"] if steps > 0 else 1.0),
        "decay": attributes["norm_coefficient"],
        "nesterov": int(attributes["mode"] == b"nesterov"),
    }
    return "momentum_step", operands, values


def _adagrad(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    rate, steps, operands = _one_tensor(inputs, 3)
    values = {
        "rate": rate / (1.0 + steps * attributes.get("decay_factor", 0.0)),
        "epsilon": attributes.get("epsilon", 1e-6),
        "decay": attributes.get("norm_coefficient", 0.0),
    }
    return "adagrad_step", operands, values


def _blocks(attributes: dict[str, Any]) -> dict[str, Any]:
    return {"axis": attributes.get("axis", 1), "block_size": attributes.get("block_size", 0)}


def _quantize(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    from onnx import TensorProto, helper

    if attributes.get("precision") or not attributes.get("saturate", 1):
        raise LeftOutError("another precision, or no saturation")
    target = attributes.get("output_dtype", 0) or TensorProto.UINT8
    zero = inputs[2] if len(inputs) > 2 else None
    if zero is not None and "float" in zero.dtype.name:
        target, zero = helper.np_dtype_to_tensor_dtype(zero.dtype), None
    values = {"dtype": helper.tensor_dtype_to_np_dtype(target), **_blocks(attributes)}
    return "quantize", [*inputs[:2], zero], values


def _dequantize(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    return "dequantize", list(inputs), _blocks(attributes)


TRAINING: dict[str, Callable[..., Call]] = {
    "Adagrad": _adagrad,
    "DequantizeLinear": _dequantize,
    "DynamicQuantizeLinear": lambda inputs, attributes, opset: (
        "dynamic_quantize",
        list(inputs),
        {},
    ),
    "Momentum": _momentum,
    "NegativeLogLikelihoodLoss": _class_loss("nll_loss"),
    "QuantizeLinear": _quantize,
    "SoftmaxCrossEntropyLoss": _class_loss("softmax_cross_entropy"),
}
