"""A driver whose kernel is compiled by Numba: Python is not on the way of a call."""

import numba

import wia
from wia.driver import Driver, NativeKernel, Node, kernel
from wia.driver.numba import KERNEL_SIGNATURE, operand_array


# [kernel]
@numba.cfunc(KERNEL_SIGNATURE)
def add_vectors(state: int, args: int) -> int:
    """One kernel for all vectors of float32: the shapes come with the call."""
    a = operand_array(args, 0, numba.float32, 1)
    b = operand_array(args, 1, numba.float32, 1)
    c = operand_array(args, 2, numba.float32, 1)
    for i in range(c.shape[0]):
        c[i] = a[i] + b[i]
    return 0


class VectorDriver(Driver):
    """The device "vector:0"."""

    name = "vector"

    @kernel("add", dtypes=["float32"])
    def prepare_add(self, node: Node) -> object:
        """Nothing but vectors of one length."""
        shapes = {layout.shape for layout in (*node.inputs, *node.outputs) if layout}
        if len(shapes) != 1 or node.output.rank != 1:
            raise wia.UnimplementedError(f"vector adds vectors of one length, not {shapes}")
        return NativeKernel(add_vectors, name="add_vectors")


# [end]


wia.register_driver(VectorDriver)

with wia.Context("vector") as ctx:
    a = ctx.tensor([1.0, 2.0, 3.0], dtype="float32")
    print((a + a).tolist())
