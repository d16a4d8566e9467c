"""What a vendor needs to write a driver in Python.

The shortest driver is a subclass of Driver with a name and one method marked with @kernel; see
drivers/wia_null for one to copy.
"""

from __future__ import annotations

from wia._device import DeviceFlag
from wia.driver._base import BaseDevice, BaseMemory
from wia.driver._driver import Driver, kernel
from wia.driver._kernel import Cost, Kernel, NativeKernel
from wia.driver._layout import Layout
from wia.driver._memory import (
    Copy,
    DeviceMemory,
    MemoryKind,
    NativeMemory,
    Region,
    ReservedMemory,
)
from wia.driver._node import Attributes, Group, Node

__all__ = [
    "Attributes",
    "BaseDevice",
    "BaseMemory",
    "Copy",
    "Cost",
    "DeviceFlag",
    "DeviceMemory",
    "Driver",
    "Group",
    "Kernel",
    "Layout",
    "MemoryKind",
    "NativeKernel",
    "NativeMemory",
    "Node",
    "Region",
    "ReservedMemory",
    "kernel",
]
