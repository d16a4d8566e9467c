"""A plan: the kernel is prepared once and run many times."""

import wia

with wia.Context("reference") as ctx:
    a, b = ctx.full((8, 8), 2), ctx.full((8, 8), 3)
    c = ctx.empty((8, 8))
    with ctx.plan("matmul", [a, b], [c], alpha=0.5) as plan:
        for _ in range(100):
            plan(a, b, c)
        plan(a, b, c, alpha=1.0)  # alpha is a scalar: no other kernel is needed
    print(c[0, 0].tolist())
