"""ONNX's losses and steps of training, as calls of catalog entries."""

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


LOSSES: dict[str, Callable[..., Call]] = {
    "Adagrad": _adagrad,
    "Momentum": _momentum,
    "NegativeLogLikelihoodLoss": _class_loss("nll_loss"),
    "SoftmaxCrossEntropyLoss": _class_loss("softmax_cross_entropy"),
}
