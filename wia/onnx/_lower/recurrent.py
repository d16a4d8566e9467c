"""Recurrent layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wia._tensor import Tensor
from wia.onnx._errors import UnsupportedError

if TYPE_CHECKING:
    from wia.onnx._call import Call, Lowering, Result

__all__ = ["recurrent"]

_DIRECTIONS = {"forward": "forward", "reverse": "reverse", "bidirectional": "both"}
_FUNCTIONS: dict[str, tuple[int, float | None, float | None]] = {
    "sigmoid": (1, None, None),
    "tanh": (2, None, None),
    "relu": (3, None, None),
    "affine": (4, 1.0, 0.0),
    "leakyrelu": (5, 0.01, None),
    "thresholdedrelu": (6, 1.0, None),
    "scaledtanh": (7, 1.0, 1.0),
    "hardsigmoid": (8, 0.2, 0.5),
    "elu": (9, 1.0, None),
    "softsign": (10, None, None),
    "softplus": (11, None, None),
}
"""The number in the catalog, and what its factors are where they aren't given."""
_LAYOUTS = {0: "sequence_first", 1: "batch_first"}


def recurrent(name: str, inputs: int, outputs: int) -> Lowering:
    """RNN, GRU and LSTM, whose operations have the inputs of ONNX."""

    def lower(call: Call) -> Result:
        values: dict[str, Any] = {
            "direction": call.choice("direction", _DIRECTIONS, "forward"),
            "layout": call.choice("layout", _LAYOUTS, 0),
            "clip": call.attribute("clip", 0.0),
        }
        values.update(_activations(call, call.attribute("activations", ())))
        for flag in ("linear_before_reset", "input_forget"):
            if call.attribute(flag):
                values[flag] = 1
        operands: list[Tensor | None] = [call.get(i) for i in range(inputs)]
        return call.ops(name, *operands, count=outputs, **values)

    return lower


def _activations(call: Call, given: tuple[str, ...]) -> dict[str, Any]:
    """Functions of gates by number, and their factors: ONNX lists only those that are needed."""
    if not given:
        return {}
    unknown = [item for item in given if item.lower() not in _FUNCTIONS]
    if unknown:
        raise UnsupportedError(f"the activations {unknown} are unknown; there are {[*_FUNCTIONS]}")
    values: dict[str, Any] = {"activations": [_FUNCTIONS[item.lower()][0] for item in given]}
    for place, name in ((1, "alpha"), (2, "beta")):
        listed = iter(call.attribute(f"activation_{name}", ()))
        defaults = [_FUNCTIONS[item.lower()][place] for item in given]
        values[name] = [0.0 if value is None else next(listed, value) for value in defaults]
    return values
