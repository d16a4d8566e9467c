"""A driver in the program itself: a device with one operation."""

from typing import Any

import numpy as np

import wia
from wia.driver import Driver, Node, kernel

Array = np.ndarray[Any, Any]


class MirrorDriver(Driver):
    """The device "mirror:0"."""

    name = "mirror"
    description = "relu and nothing else"

    @kernel("relu", dtypes=["float32"])
    def prepare_relu(self, node: Node) -> object:
        """Called once for each new combination of shapes and strides."""

        def relu(values: Array, output: Array) -> None:
            np.maximum(values, 0, out=output)

        return relu


wia.register_driver(MirrorDriver)

with wia.Context("mirror") as ctx:
    print(ctx.relu(ctx.tensor([-1.0, 2.0], dtype="float32")).tolist())
    try:
        ctx.softmax(ctx.tensor([1.0, 2.0], dtype="float32"))
    except wia.UnimplementedError as error:
        print(error)
