"""A layer as one plan: one kernel where the driver has one, else three, in one call."""

import wia

with wia.Context("reference") as ctx:
    group = ctx.group()
    x, w, b = group.input((8, 64)), group.input((64, 32)), group.input(32)
    y = group.apply("relu", [x @ w + b])
    operands = [ctx.full(value.shape, 1) for value in (x, w, b)]
    out = ctx.empty(y.shape)
    with group.plan(y) as plan:
        plan(*operands, out)
        print(plan.name, plan.kernel_count)
    print(out[0, 0].tolist())
