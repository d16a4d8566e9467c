"""Join, cut, pick and compare tensors."""

import numpy as np

import wia

with wia.Context("reference") as ctx:
    a = ctx.tensor([[1.0, -2.0], [3.0, float("nan")]])
    both = ctx.concat([a, -a], axis=1)
    print(both.shape)
    backward = ctx.slice(both, starts=[-1], ends=[-99], axes=[1], steps=[-1])
    rows = ctx.gather(backward, ctx.tensor(np.array([1, -2])))
    bounded = ctx.clip(rows, min=-1.0, max=2.0)  # NaN stays
    print(ctx.pad(bounded, pads=(0, 1, 0, 0), mode="edge").tolist())

    positive = a > 0  # a tensor of bool; NaN compares as false
    print(ctx.where(positive, a, ctx.zeros(())).tolist())

    packed = ctx.cast(ctx.clip(ctx.where(a == a, a, ctx.zeros(())), min=-8.0, max=7.0), "int4")
    print(packed.nbytes, ctx.cast(packed, "float32").tolist())
