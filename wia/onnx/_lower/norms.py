"""Normalisation, softmax and its kin, dropout."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wia._tensor import Tensor
from wia.onnx._errors import UnsupportedError

if TYPE_CHECKING:
    from wia.onnx._call import Call, Lowering, Result

__all__ = [
    "batch_norm",
    "dropout",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "lp_norm",
    "mean_variance_norm",
    "rms_norm",
    "softmax",
]


def _epsilon(call: Call, default: float = 1e-5) -> dict[str, Any]:
    return {"epsilon": call.attribute("epsilon", default)}


def batch_norm(call: Call) -> Result:
    """BatchNormalization, by given statistics or by those of the batch."""
    x, weight, bias, mean, variance = (call.tensor(i) for i in range(5))
    if call.version < 9 and not call.attribute("spatial", 1):
        raise UnsupportedError("spatial=0 is not there")
    old_training = call.version < 7 and not call.attribute("is_test", 0)
    if old_training or (call.version < 14 and call.wanted > 1):
        raise UnsupportedError("training before opset 14 is not there")
    weight, bias = call.cast(weight, x.dtype), call.cast(bias, x.dtype)
    running = (call.cast(mean, x.dtype), call.cast(variance, x.dtype))
    if not call.attribute("training_mode", 0):
        return call.op("batch_norm", x, *running, weight, bias, **_epsilon(call))
    momentum = call.attribute("momentum", 0.9)
    results = call.ops(
        "batch_norm_training", x, *running, weight, bias, momentum=momentum, **_epsilon(call)
    )
    return (results[0], *(call.cast(r, mean.dtype) for r in results[1:]))


def layer_norm(call: Call) -> Result:
    """LayerNormalization, also with its statistics."""
    x, weight, bias = call.tensor(0), call.tensor(1), call.get(2)
    axis = call.attribute("axis", -1)
    _need_shape(weight, bias, x.shape[axis % max(x.ndim, 1) :])
    if call.wanted < 2:
        return call.op("layer_norm", x, weight, bias, axis=axis, **_epsilon(call))
    if call.attribute("stash_type", 1) != 1:
        raise UnsupportedError("stash_type is 1 here")
    return call.ops("layer_norm_with_stats", x, weight, bias, count=3, axis=axis, **_epsilon(call))


def rms_norm(call: Call) -> Result:
    """RMSNormalization."""
    x, weight, axis = call.tensor(0), call.tensor(1), call.attribute("axis", -1)
    _need_shape(weight, None, x.shape[axis % max(x.ndim, 1) :])
    return call.op("rms_norm", x, weight, axis=axis, **_epsilon(call))


def _need_shape(weight: Tensor, bias: Tensor | None, shape: tuple[int, ...]) -> None:
    if weight.shape != shape or (bias is not None and bias.shape != shape):
        raise UnsupportedError(
            f"the weight has the shape {list(weight.shape)}; expected {list(shape)} as well as for "
            "the bias"
        )


def group_norm(call: Call) -> Result:
    """GroupNormalization; before opset 21 scales were those of groups."""
    if call.version < 21:
        raise UnsupportedError("a scale for each group is not there")
    groups = call.required("num_groups")
    return call.op("group_norm", *call.tensors(), groups=groups, **_epsilon(call))


def instance_norm(call: Call) -> Result:
    """InstanceNormalization."""
    return call.op("instance_norm", *call.tensors(), **_epsilon(call))


def local_response_norm(call: Call) -> Result:
    """LRN."""
    given = {"alpha": 1e-4, "beta": 0.75, "bias": 1.0}
    scalars = {name: call.attribute(name, default) for name, default in given.items()}
    return call.op("lrn", call.tensor(0), size=call.required("size"), **scalars)


def mean_variance_norm(call: Call) -> Result:
    """MeanVarianceNormalization."""
    return call.op("mean_variance_norm", call.tensor(0), axes=call.attribute("axes", (0, 2, 3)))


def lp_norm(call: Call) -> Result:
    """LpNormalization."""
    axis, p = call.attribute("axis", -1), call.attribute("p", 2)
    return call.op("lp_norm", call.tensor(0), axis=axis, p=p)


def softmax(name: str) -> Lowering:
    """Along one axis; before opset 13 over all dimensions from the axis on."""

    def lower(call: Call) -> Result:
        x = call.tensor(0)
        if call.version >= 13:
            return call.op(name, x, axis=call.attribute("axis", -1))
        axis = call.attribute("axis", 1)
        axis = axis + x.ndim if axis < 0 else axis
        rows = call.reshape(x, math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))
        return call.reshape(call.op(name, rows, axis=1), *x.shape)

    return lower


def dropout(call: Call) -> Result:
    """Dropout: in training with WIA's random numbers, which follow from the seed."""
    import numpy as np

    x, ratio = call.tensor(0), call.attribute("ratio", 0.5)
    trains = call.version < 7 and not call.attribute("is_test", 0)
    if call.version >= 12:
        ratio = float(call.item(1)) if call.get(1) is not None else 0.5
        trains = call.get(2) is not None and bool(call.item(2))
    if trains and ratio:
        seed = float(call.attribute("seed", call.draw_seed()))
        return call.ops("dropout", x, count=call.wanted, ratio=ratio, seed=seed)
    if call.wanted < 2:
        return x
    dtype = np.dtype(np.bool_) if call.version >= 10 else x.dtype
    return x, call.op("broadcast", call.literal(1, dtype), shape=x.shape)
