"""A driver that computes a matrix product and relu by one kernel."""

from typing import Any

import numpy as np

import wia
from wia.driver import Driver, Group, Kernel, Node, kernel


# [driver]
class Fusing(Driver):
    """Fuses matmul and relu."""

    name = "fusing"

    def prepare_group(self, device: int, group: Group) -> object:
        """The two at once, else one operation."""
        if [node.op for node in group.nodes] != ["matmul", "relu"]:
            return super().prepare_group(device, group)
        product = group.nodes[0]
        if product.attributes["transpose_a"] or product.attributes["transpose_b"]:
            raise wia.UnimplementedError("fusing has no kernel for transposed products")
        if group.node_inputs[1] != group.node_outputs[0] or group.outputs != group.node_outputs[1]:
            raise wia.UnimplementedError("fusing has a kernel for relu of the product alone")
        a, b = (group.operand_of(value) for value in group.node_inputs[0])

        def run(*operands: Any, alpha_0: float, beta_0: float) -> None:
            # beta is 0: what lies between nodes was nothing before
            total = alpha_0 * (operands[a] @ operands[b])
            np.copyto(operands[-1], np.maximum(total, 0))

        return Kernel(run, name="matmul_relu")

    @kernel("relu", dtypes=["float32"])
    def prepare_relu(self, node: Node) -> object:
        """What is below zero becomes zero."""
        return lambda x, out: np.copyto(out, np.maximum(x, 0))


# [end]
wia.register_driver(Fusing)
with wia.Context("fusing") as ctx:
    group = ctx.group()
    x, w = group.input((1, 2)), group.input((2, 2))
    y = group.apply("relu", [x @ w])
    out = ctx.empty(y.shape)
    with group.plan(y) as plan:
        plan(ctx.tensor([[1.0, 2.0]]), ctx.tensor([[3.0, -4.0], [5.0, -6.0]]), out)
        print(plan.name, plan.kernel_count, out.tolist())
    twice = ctx.group()
    y = twice.apply("relu", [twice.apply("relu", [twice.input(2)])])
    with twice.plan(y) as plan:
        print(plan.name, plan.kernel_count)
