"""Random numbers: WIA's own, which follow from the seed; without one each run has another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wia.onnx._errors import ModelError

if TYPE_CHECKING:
    from wia.onnx._call import Call, Lowering, Result

__all__ = ["bernoulli", "multinomial", "random"]

_FACTORS = {
    "random_uniform": {"low": ("low", 0.0), "high": ("high", 1.0)},
    "random_normal": {"mean": ("mean", 0.0), "deviation": ("scale", 1.0)},
}


def _seed(call: Call) -> float:
    seed = call.attribute("seed")
    if seed is None:
        return call.draw_seed()
    if not math.isfinite(seed):
        raise ModelError(f"the seed is {seed}; expected a number")
    return float(abs(int(seed)))


def random(name: str, *, like: bool) -> Lowering:
    """RandomUniform, RandomNormal, and those with the shape of an input."""

    def lower(call: Call) -> Result:
        import numpy as np

        shape = call.tensor(0).shape if like else call.required("shape")
        dtype = call.dtype("dtype", call.tensor(0).dtype if like else np.dtype(np.float32))
        given = _FACTORS[name].items()
        factors = {own: call.attribute(theirs, value) for own, (theirs, value) in given}
        return call.op(name, shape=shape, dtype=dtype, seed=_seed(call), **factors)

    return lower


def multinomial(call: Call) -> Result:
    """Multinomial: the input has logarithms of weights, the operation takes weights."""
    import numpy as np

    logs = call.tensor(0)
    if logs.ndim != 2 or not logs.shape[1]:
        raise ModelError(f"the input has the shape {list(logs.shape)}; expected [rows, classes]")
    x = logs if logs.dtype == np.float64 else call.cast(logs, np.dtype(np.float32))
    weights = call.op("exp", call.op("sub", x, call.op("reduce_max", x, axes=(1,), keepdims=1)))
    drawn = call.op(
        "multinomial", weights, count=call.attribute("sample_size", 1), seed=_seed(call)
    )
    return call.cast(drawn, call.dtype("dtype", np.dtype(np.int32)))


def bernoulli(call: Call) -> Result:
    """Bernoulli: 1 with the probability that the input has."""
    x = call.tensor(0)
    drawn = call.op("bernoulli", x, dtype=x.dtype, seed=_seed(call))
    return call.cast(drawn, call.dtype("dtype", x.dtype))
