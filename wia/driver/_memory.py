"""Memory of devices that don't use the host's: what a driver overrides for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Copy", "DeviceMemory", "MemoryKind", "Region"]


class Region(NamedTuple):
    """A place in memory: an allocation by the driver's own number, and where in it.

    `memory` is 0 for host memory, which `address` then points to. `address` is that of the first
    byte, `offset` its distance from the start of the allocation in bytes.
    """

    address: int
    memory: int
    offset: int


class Copy(NamedTuple):
    """One copy of `size` bytes. One side may be host memory."""

    source: Region
    destination: Region
    size: int


class MemoryKind(NamedTuple):
    """A kind of memory: device, host_pinned, host_visible or imported.

    Sizes are in bytes, 0: not known.
    """

    kind: str
    total_size: int = 0
    free_size: int = 0


class DeviceMemory(ABC):
    """The memory of a driver's devices. Any thread may call any method."""

    @abstractmethod
    def kinds(self, device: int) -> Sequence[MemoryKind]:
        """The kinds that a device has; the first one is the default."""

    @abstractmethod
    def allocate(self, device: int, kind: str, size: int, alignment: int) -> tuple[int, int]:
        """Allocates size bytes and returns address and number of the allocation.

        The number is not 0. Raises MemoryError when there is no room.
        """

    @abstractmethod
    def free(self, device: int, memory: int) -> None:
        """Gives an allocation back, by its number. Nothing uses it any more."""

    @abstractmethod
    def copy(self, device: int, copies: Sequence[Copy]) -> None:
        """Carries copies out, to the end. Ranges are inside their allocations."""

    def fill(self, device: int, target: Region, size: int, pattern: bytes) -> None:
        """Fills size bytes, a multiple of the pattern's, with a pattern."""
        import numpy as np

        data = np.frombuffer(pattern * (size // len(pattern)), np.uint8)
        source = Region(int(data.__array_interface__["data"][0]), 0, 0)
        self.copy(device, [Copy(source, target, size)])
