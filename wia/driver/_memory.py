"""Memory of devices that don't use the host's: what a driver overrides for it."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from wia._errors import ArgumentTypeError, InvalidArgumentError, ResourceExhaustedError
from wia._native import NULL, ffi, lib
from wia.driver._kernel import native_address

__all__ = [
    "MEMORY_ENTRIES",
    "Copy",
    "DeviceMemory",
    "MemoryKind",
    "NativeMemory",
    "Region",
    "ReservedMemory",
]

MEMORY_ENTRIES = ("get_memory_kind", "allocate", "free", "copy", "fill")
"""The entries of a driver table that a memory is made of."""


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


class NativeMemory:
    """Memory whose entries in the driver table are compiled code: no Python runs in them.

    Each entry is a Numba cfunc or a function pointer of cffi or ctypes, of the type that
    `wia_driver_t` has for it in wia_driver.h. What it gets as the device is the address of a
    `uint64_t`: what `open` returned for that device. Without `copy_to_peer`, copies between two
    devices go through the host. `kind_count` is how many kinds of memory there are; `keepalive`
    is any object that has to live as long as the driver. Raises ArgumentTypeError for what is no
    function pointer.
    """

    def __init__(
        self,
        *,
        get_memory_kind: object,
        allocate: object,
        free: object,
        copy: object,
        fill: object,
        copy_to_peer: object = None,
        kind_count: int = 1,
        keepalive: object = None,
    ) -> None:
        self.kind_count = kind_count
        given = dict(
            zip(MEMORY_ENTRIES, (get_memory_kind, allocate, free, copy, fill), strict=True)
        )
        if copy_to_peer is not None:
            given["copy_to_peer"] = copy_to_peer
        self._entries: dict[str, int] = {}
        self._keepalive = (given, keepalive)
        for name, function in given.items():
            address = native_address(function)
            if not address:
                raise ArgumentTypeError(
                    f"{function!r} was given as {name}; expected a Numba cfunc, or a function "
                    "pointer of cffi or ctypes."
                )
            self._entries[name] = address

    def open(self, device: int) -> int:
        """The word that the entries find for a device; called once, after Driver.open_device."""
        return 0

    def count_kinds(self, device: int) -> int:
        """How many kinds of memory an open device has; kind_count unless overridden."""
        return self.kind_count


class ReservedMemory(NativeMemory):
    """Memory at addresses that the host can't touch, for simulated devices.

    A program that dereferences an address faults, as it would with real hardware. What lies at an
    address is kept at `address + distance`, which is where kernels find it. `size` is the number
    of bytes of each device, or a function that tells it for the number of a device when that is
    opened; it takes memory of the host as far as it is written to.
    """

    def __init__(self, size: int | Callable[[int], int]) -> None:
        entries = {name: ffi.addressof(lib, f"wia__range_{name}") for name in MEMORY_ENTRIES}
        super().__init__(
            get_memory_kind=entries["get_memory_kind"],
            allocate=entries["allocate"],
            free=entries["free"],
            copy=entries["copy"],
            fill=entries["fill"],
        )
        self._size = size
        self._ranges: dict[int, Any] = {}

    def open(self, device: int) -> int:
        """Reserves the range. Raises ResourceExhaustedError when the host has no room for it."""
        size = operator.index(self._size(device) if callable(self._size) else self._size)
        if size <= 0:
            raise InvalidArgumentError(f"Memory of {size} bytes was asked for; expected 1 or more.")
        made = NULL if size >= 1 << 63 else lib.wia__reserve_range(size)
        if made == NULL:
            raise ResourceExhaustedError(
                f"The host has no range of addresses for {size} bytes of device memory."
            )
        self._ranges[device] = made
        return int(ffi.cast("uintptr_t", made))

    def distance(self, device: int) -> int:
        """The bytes between an address of an open device and its backing: the size, in pages.

        It depends on the size alone, so it is the same each time a device of that size is opened.
        """
        return int(lib.wia__range_distance(self._ranges[device]))
