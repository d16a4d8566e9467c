"""An operation of the program's own, with a gradient made of operations of the catalog."""

from typing import Any

import numpy as np

import wia


# [define]
def gradient(call: wia.GradientCall) -> Any:
    """Where the value was kept it is 1, elsewhere 0."""
    [x], [grad] = call.inputs, call.grads
    limit = call.apply("fill", [], shape=(), dtype=x.dtype, value=call.values["limit"])
    kept = call.apply("greater", [call.apply("abs", [x]), limit])
    return grad * call.apply("cast", [kept], dtype=x.dtype)


@wia.op("acme::cut", scalars=["limit"], gradient=gradient)
def cut(x: Any, *, limit: float = 0.5) -> Any:
    """Sets what is not above the limit to 0."""
    return np.where(np.abs(x) > limit, x, 0).astype(x.dtype)


with wia.Context("reference") as ctx, wia.Tape() as tape:
    x = ctx.tensor([0.25, -1.0, 2.0])
    y = cut(x)
    [slope] = tape.gradient(y * y, [x])
    print(slope.tolist())
    cut.check_gradient(ctx, np.array([0.25, -1.0, 2.0], np.float32), limit=1.5)
# [end]
