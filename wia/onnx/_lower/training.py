"""Steps of optimisers, of the domain ai.onnx.preview.training."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from wia._tensor import Tensor
from wia.onnx._errors import ModelError

if TYPE_CHECKING:
    from wia.onnx._call import Call, Result

__all__ = ["adagrad", "adam", "momentum"]

_NO_CORRECTION = 1e300
"""A step so late that beta to its power is 0."""


def _read(call: Call, kinds: int) -> tuple[float, float, Iterator[tuple[Tensor, ...]]]:
    """The rate, the number of the step, and what belongs to each parameter."""
    rate, step = (float(call.item(i)) for i in (0, 1))
    tensors = [call.tensor(i) for i in range(2, len(call.inputs))]
    count = len(tensors) // kinds
    if count * kinds != len(tensors):
        raise ModelError(f"{len(tensors)} tensors are given; expected {kinds} for each parameter")
    return (
        rate,
        step,
        zip(*(tensors[i * count : (i + 1) * count] for i in range(kinds)), strict=True),
    )


def _join(results: list[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    """All first outputs, then all second ones."""
    return tuple(item for kind in zip(*results, strict=True) for item in kind)


def momentum(call: Call) -> Result:
    """Momentum; in the first step the gradient counts as a whole."""
    rate, step, groups = _read(call, 3)
    beta = call.required("beta") if step > 0 else 1.0
    values = {
        "rate": rate,
        "momentum": call.required("alpha"),
        "dampening": 1.0 - beta,
        "decay": call.required("norm_coefficient"),
        "nesterov": int(call.required("mode") == "nesterov"),
    }
    return _join([call.ops("momentum_step", *group, **values) for group in groups])


def adagrad(call: Call) -> Result:
    """Adagrad."""
    rate, step, groups = _read(call, 3)
    values = {
        "rate": rate / (1.0 + step * call.attribute("decay_factor", 0.0)),
        "epsilon": call.attribute("epsilon", 1e-6),
        "decay": call.attribute("norm_coefficient", 0.0),
    }
    return _join([call.ops("adagrad_step", *group, **values) for group in groups])


def adam(call: Call) -> Result:
    """Adam; its epsilon is added before the correction of the square, that of WIA after it."""
    rate, step, groups = _read(call, 4)
    beta = call.attribute("beta", 0.999)
    corrected = math.sqrt(1.0 - beta**step) if step > 0 else 1.0
    values = {
        "rate": rate,
        "beta1": call.attribute("alpha", 0.9),
        "beta2": beta,
        "epsilon": call.attribute("epsilon", 1e-6) / corrected,
        "decay": call.attribute("norm_coefficient", 0.0),
        "step": step if step > 0 else _NO_CORRECTION,
    }
    left = 1.0 - call.attribute("norm_coefficient_post", 0.0)
    results = []
    for group in groups:
        new, *state = call.ops("adam_step", *group, **values)
        if left != 1.0:
            new = call.op("mul", new, call.literal(left, new.dtype))
        results.append((new, *state))
    return _join(results)
