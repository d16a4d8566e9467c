"""The smallest driver that does real work: copy it to begin your own, as README.md says.

It computes on the host with numpy, and is marked as simulated so that it is never a default device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wia.driver import DeviceFlag, Driver, Kernel, Node, kernel

__all__ = ["NullDriver"]

Array = np.ndarray[Any, Any]


class NullDriver(Driver):
    """The device "null:0"."""

    name = "null"
    version = "0.1.0"
    vendor = "WIA"
    description = "Skeleton of a driver: add and relu on the host"
    architecture = "host"
    flags = DeviceFlag.HOST_ADDRESSABLE | DeviceFlag.SIMULATED

    @kernel("add", dtypes=["float32", "float64"], in_place=True)
    def prepare_add(self, node: Node) -> object:
        """The sum; numpy broadcasts as the operation does."""

        def add(a: Array, b: Array, output: Array) -> None:
            np.add(a, b, out=output)

        return add

    @kernel("relu", dtypes=["float32"])
    def prepare_relu(self, node: Node) -> object:
        """What is not above zero becomes zero, but NaN stays."""
        layout = node.output

        def relu(values: Array, output: Array) -> None:
            np.copyto(output, values)
            output[output <= 0] = 0

        return Kernel(relu, in_place=True, name=f"relu_{layout.rank}d")
