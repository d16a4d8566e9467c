"""An operation of the program's own, with kernels for two drivers."""

from typing import Any

import numpy as np

import wia
from wia.driver import Kernel, Node


# [define]
@wia.op("acme::shrink", scalars=["limit"])
def shrink(x: Any, *, soft: bool = True, limit: float = 0.5) -> Any:
    """Sets what is below the limit to 0, and with soft draws the rest nearer by it."""
    size = np.abs(x)
    kept = np.sign(x) * (size - limit) if soft else x
    return np.where(size > limit, kept, 0).astype(x.dtype)


# [kernel]
@shrink.kernel("npu")
def prepare_shrink(node: Node) -> Kernel:
    """Attributes are known now; scalars come with each launch."""
    soft = node.attributes["soft"]

    def run(x: Any, out: Any, *, limit: float) -> None:
        out[...] = shrink.function(x, soft=soft, limit=limit)

    return Kernel(run, any_shape=True, name="shrink")


# [use]
with wia.Context("reference") as ctx:
    x = ctx.tensor([0.25, -1.0, 2.0])
    print(shrink(x).tolist())
    print(shrink(x, soft=False, limit=1.5).tolist())

with wia.Context("npu") as ctx:
    shrink.check(ctx, np.linspace(-2, 2, 9, dtype=np.float32))
    group = ctx.group()
    value = group.apply("acme::shrink", [group.input(3)], limit=0.25)
    with group.plan(value + value) as plan:
        out = ctx.empty(3)
        plan(ctx.tensor([0.25, -1.0, 2.0]), out)
        print(out.tolist())
# [end]
