"""Devices of other drivers, for drivers that build on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wia._device import DeviceFlag
from wia._dtype import NAMES
from wia._errors import InvalidArgumentError, UnimplementedError, check
from wia._native import NULL, ffi, lib, new_struct, text
from wia.driver._kernel import NativeKernel
from wia.driver._memory import MEMORY_ENTRIES, NativeMemory
from wia.driver._node import Group

__all__ = ["BaseDevice", "BaseKernel", "BaseMemory"]


class BaseKernel(NativeKernel):
    """A base device's kernel, on its way to whoever asked for it; runs and ends as the base's."""

    __slots__ = ("_made",)

    def __init__(self, made: Any) -> None:
        """Takes over a filled `wia_driver_kernel_t *`."""
        self._made = made
        super().__init__(int(ffi.cast("uintptr_t", made.fn)))

    def hand_over(self, out: Any) -> None:
        """Fills a `wia_driver_kernel_t *`, whose owner releases the kernel from now on."""
        out[0] = self._made[0]
        self._made = None

    def __del__(self) -> None:
        made = self._made
        if made is not None and made.release != NULL:
            made.release(made.state)


class BaseDevice:
    """A device of another driver, called through that driver's table: see Driver.find_base."""

    __slots__ = (
        "_alignment",
        "_device",
        "_table",
        "architecture",
        "description",
        "flags",
        "memory_kind_count",
        "name",
    )

    def __init__(self, asking: Any, name: str) -> None:
        """asking is the table of the driver that wants the device."""
        self.name = name
        table, device = ffi.new("const wia_driver_t **"), ffi.new("wia_driver_device_t *")
        error = new_struct("wia_error_t")
        status = lib.wia_get_host().find_device(asking, name.encode(), table, device, error)
        self._check(status, error, "looking for")
        self._table, self._device = table[0], device[0]
        info = new_struct("wia_driver_device_info_t")
        status = self._table.get_info(self._device, info, error)
        self._check(status, error, "describing")
        self.flags = DeviceFlag(info.flags)
        self.description = text(info.description)
        self.architecture = text(info.architecture)
        self.memory_kind_count: int = info.memory_kind_count
        self._alignment: int = info.address_alignment

    def get_support(self, op: str) -> frozenset[str]:
        """The dtypes, by name, for which the device has kernels of an operation.

        Raises UnimplementedError when its driver doesn't tell.
        """
        if self._table.get_support == NULL:
            raise UnimplementedError(f"{self.name} doesn't tell what it supports.")
        bits, error = ffi.new("uint64_t *"), new_struct("wia_error_t")
        status = self._table.get_support(self._device, op.encode(), bits, error)
        self._check(status, error, "asking")
        return frozenset(name for code, name in NAMES.items() if bits[0] >> code & 1)

    def prepare(self, group: Group) -> NativeKernel:
        """The device's own kernel for what a driver is asked to prepare.

        To be returned from prepare_group as it is: it runs without code of this driver, and is
        released as its driver wants it. Raises the driver's error, and InvalidArgumentError for a
        group of an earlier call.
        """
        if group.request is None:
            raise InvalidArgumentError(
                "A group of an earlier call was given; expected the one that prepare_group got, "
                "while it runs."
            )
        made, error = new_struct("wia_driver_kernel_t"), new_struct("wia_error_t")
        made.cost = dict.fromkeys(("flops", "bytes", "time_ns", "energy_pj"), -1.0)
        status = self._table.prepare(self._device, group.request, made, error)
        self._check(status, error, "preparing on")
        for node in group.nodes:
            dict(node.attributes)  # the base looked at all of them
        return BaseKernel(made)

    def _check(self, status: int, error: Any, doing: str) -> None:
        check(lib.wia__tell_error(error, status, f"{doing} {self.name}".encode()))


class BaseMemory(NativeMemory):
    """The memory of base devices as that of one's own: what they allocate, free, copy and fill.

    No Python runs in it, unless the base's driver is in Python. `find` gives the base device of the
    number of a device, when that is opened. `limit` tells then how many bytes of device memory may
    be allocated, 0 for no limit of one's own. `link` tells the figures of the links from the device
    to the others, -1 for none: a copy to a peer takes as long as they say, and copies on one link
    go one after the other. Two devices over one base device copy without the host.
    """

    def __init__(
        self,
        find: Callable[[int], BaseDevice],
        *,
        limit: Callable[[int], int] | None = None,
        link: Callable[[int], tuple[float, float]] | None = None,
    ) -> None:
        entries = {name: ffi.addressof(lib, f"wia__base_{name}") for name in MEMORY_ENTRIES}
        super().__init__(
            get_memory_kind=entries["get_memory_kind"],
            allocate=entries["allocate"],
            free=entries["free"],
            copy=entries["copy"],
            fill=entries["fill"],
            copy_to_peer=ffi.addressof(lib, "wia__base_copy_to_peer"),
        )
        self._find = find
        self._limit = limit
        self._link = link
        self._states: dict[int, Any] = {}

    def open(self, device: int) -> int:
        """Takes the base device of this device."""
        base = self._find(device)
        bandwidth, latency = (-1.0, -1.0) if self._link is None else self._link(device)
        state = ffi.new("wia__base_t *")
        state.driver, state.device = base._table, base._device
        state.alignment = base._alignment
        state.index = device
        state.limit = 0 if self._limit is None else self._limit(device)
        state.bandwidth, state.latency_ns = bandwidth, latency
        self._states[device] = state
        return int(ffi.cast("uintptr_t", state))

    def count_kinds(self, device: int) -> int:
        """The number of the base device's."""
        return self._find(device).memory_kind_count
