"""Devices, and the report of what became of their drivers."""

from __future__ import annotations

import warnings
from enum import IntFlag
from typing import Any, NamedTuple

from wia._attributes import find_operation
from wia._dtype import NAMES
from wia._errors import InvalidArgumentError, WiaError, check
from wia._explain import explained, explains_methods
from wia._native import ffi, lib, new_struct, text

__all__ = [
    "MEMORY_KINDS",
    "Device",
    "DeviceFlag",
    "Extension",
    "LinkInfo",
    "LoadRecord",
    "MemoryInfo",
    "PlanCacheStats",
    "devices",
    "find_device",
    "load_report",
    "read_device",
]

MEMORY_KINDS: dict[str, int] = {
    "device": lib.WIA_MEMORY_DEVICE,
    "host_pinned": lib.WIA_MEMORY_HOST_PINNED,
    "host_visible": lib.WIA_MEMORY_HOST_VISIBLE,
    "imported": lib.WIA_MEMORY_IMPORTED,
}


class DeviceFlag(IntFlag):
    """What a device is, in yes and no; see wia/device.h."""

    SERIAL = lib.WIA_DEVICE_SERIAL
    OPAQUE_MEMORY = lib.WIA_DEVICE_OPAQUE_MEMORY
    HOST_ADDRESSABLE = lib.WIA_DEVICE_HOST_ADDRESSABLE
    SIMULATED = lib.WIA_DEVICE_SIMULATED


class MemoryInfo(NamedTuple):
    """Statistics of one memory kind, in bytes and numbers of allocations; see wia/memory.h."""

    total_size: int
    free_size: int
    live_size: int
    peak_size: int
    live_count: int
    total_count: int
    failed_count: int
    deferred_count: int


class LinkInfo(NamedTuple):
    """What is between two devices, as their driver says: see wia/device.h.

    `direct` tells whether data goes there without the host. `bandwidth` is in bytes per second,
    `latency_ns` the time until the first byte arrives; both -1 where not known.
    """

    direct: bool
    bandwidth: float
    latency_ns: float


class PlanCacheStats(NamedTuple):
    """The cache of prepared kernels of a device; see wia/plan.h."""

    entry_count: int
    capacity: int
    hit_count: int
    miss_count: int
    eviction_count: int


class Extension(NamedTuple):
    """What a device has beyond the standard, by name and version: see wia/extension.h.

    `operations` are the names of those that come with it. `has_table`: C code gets a table of
    functions with wia_query_extension(), Python code with Device.query_extension().
    """

    extension_id: str
    version: str
    capabilities: tuple[str, ...]
    operations: tuple[str, ...]
    has_table: bool


@explains_methods
class Device(NamedTuple):
    """One device, as its driver describes it.

    `id` differs from run to run: programs keep `name`. `total_memory_size` is in bytes,
    0: not known.
    """

    id: int
    name: str
    description: str
    driver_name: str
    driver_version: str
    vendor: str
    architecture: str
    flags: DeviceFlag
    total_memory_size: int

    def supports(self, op: str | int) -> frozenset[str]:
        """The dtypes for which the device has a kernel of an operation.

        Raises NotFoundError for an unknown operation, UnimplementedError where the driver doesn't
        tell.
        """
        bits = ffi.new("uint64_t *")
        check(lib.wia_get_device_support(self.id, find_operation(op).number, bits))
        return frozenset(name for code, name in NAMES.items() if bits[0] >> code & 1)

    def extensions(self) -> list[Extension]:
        """What the device has beyond the standard: its driver's, then what was registered."""
        count = ffi.new("uint32_t *")
        check(lib.wia_get_extension_count(self.id, count))
        found = []
        for index in range(count[0]):
            info = new_struct("wia_extension_info_t")
            check(lib.wia_get_extension_info(self.id, index, info))
            found.append(
                Extension(
                    text(info.extension_id),
                    text(info.version),
                    tuple(text(info.capabilities[i]) for i in range(info.capability_count)),
                    tuple(text(info.operations[i]) for i in range(info.operation_count)),
                    bool(info.has_table),
                )
            )
        return found

    def query_extension(self, name: str, version: str) -> int:
        """The address of the table of an extension; 0 for one without.

        Its layout is in the vendor's header; it starts with a uint32 of its size in bytes, and is
        good to the end of the process. Raises UnimplementedError for an extension that the device
        hasn't, IncompatibleError for another major version, InvalidArgumentError for a version
        that is not "major.minor".
        """
        table = ffi.new("const void **")
        encoded = (name.encode("utf-8", "replace"), version.encode("utf-8", "replace"))
        check(lib.wia_query_extension(self.id, *encoded, table))
        return int(ffi.cast("uintptr_t", table[0]))

    def stream_priorities(self) -> range:
        """The priorities that streams may have, the one that goes first first."""
        least, greatest = ffi.new("int32_t *"), ffi.new("int32_t *")
        check(lib.wia_get_stream_priority_range(self.id, least, greatest))
        return range(greatest[0], least[0] + 1)

    def memory(self, kind: str = "device") -> MemoryInfo:
        """Statistics of a memory kind: device, host_pinned, host_visible or imported."""
        if kind not in MEMORY_KINDS:
            raise InvalidArgumentError(
                f"{kind!r} was given as memory kind; expected one of {', '.join(MEMORY_KINDS)}."
            )
        info = new_struct("wia_memory_info_t")
        check(lib.wia_get_memory_info(self.id, MEMORY_KINDS[kind], info))
        return MemoryInfo(*(getattr(info, field) for field in MemoryInfo._fields))

    def link(self, other: Device | str) -> LinkInfo:
        """What is between this device and another one.

        Raises InvalidArgumentError for the device itself, NotFoundError for an unknown name.
        """
        peer = find_device(other) if isinstance(other, str) else other
        info = new_struct("wia_link_info_t")
        check(lib.wia_get_link_info(self.id, peer.id, info))
        return LinkInfo(info.kind == lib.WIA_LINK_DIRECT, info.bandwidth, info.latency_ns)

    def plan_cache(self) -> PlanCacheStats:
        """Statistics of the cache of prepared kernels."""
        stats = new_struct("wia_plan_cache_stats_t")
        check(lib.wia_get_plan_cache_stats(self.id, stats))
        return PlanCacheStats(*(getattr(stats, field) for field in PlanCacheStats._fields))


class LoadRecord(NamedTuple):
    """A driver that was found, and what became of it.

    `kind` is native, python or memory; `state` found (not loaded yet), loaded, refused, disabled or
    duplicate. For a refused one `status`, `message` and `cause` say why.
    """

    name: str
    kind: str
    state: str
    source: str
    version: str
    priority: int
    status: str
    message: str
    cause: str


def _enumerators(prefix: str) -> dict[int, str]:
    """Values and lower-case names of the enumerators with a prefix."""
    return {
        getattr(lib, name): name.removeprefix(prefix).lower()
        for name in dir(lib)
        if name.startswith(prefix) and isinstance(getattr(lib, name), int)
    }


def read_device(device_id: int) -> Device:
    """The device of an id. Raises NotFoundError."""
    info: Any = new_struct("wia_device_info_t")
    check(lib.wia_get_device_info(device_id, info))
    return Device(
        id=info.device_id,
        name=text(info.name),
        description=text(info.description),
        driver_name=text(info.driver_name),
        driver_version=text(info.driver_version),
        vendor=text(info.vendor),
        architecture=text(info.architecture),
        flags=DeviceFlag(info.flags),
        total_memory_size=info.total_memory_size,
    )


@explained
def find_device(name: str = "") -> Device:
    """The device of that exact name; "" is the default device.

    Raises InvalidArgumentError for a malformed name, NotFoundError for an unknown driver or
    ordinal, and the driver's own error if it can't be loaded.
    """
    device_id = ffi.new("int32_t *")
    check(lib.wia_find_device(name.encode("utf-8", "replace"), device_id))
    return read_device(device_id[0])


def devices() -> list[Device]:
    """The devices of every driver, the default one first.

    Loads all drivers; those that fail are left out and stand in load_report(). A device that can't
    be opened is left out too, with a RuntimeWarning that says why.
    """
    count = ffi.new("uint32_t *")
    check(lib.wia_get_devices(ffi.NULL, 0, count))
    while True:
        room = max(count[0], 1)
        ids = ffi.new("int32_t[]", room)
        status = lib.wia_get_devices(ids, room, count)
        if status == lib.WIA_STATUS_OUT_OF_RANGE:
            continue  # more of them have appeared since
        check(status)
        break
    found = []
    for i in range(count[0]):
        try:
            found.append(read_device(ids[i]))
        except WiaError as error:
            warnings.warn(f"A device is left out: {error}", RuntimeWarning, stacklevel=2)
    return found


def load_report() -> list[LoadRecord]:
    """Every driver that was found, and what became of it. Loads none of them."""
    count = ffi.new("uint32_t *")
    check(lib.wia_get_load_record_count(count))
    kinds, states = _enumerators("WIA_DRIVER_KIND_"), _enumerators("WIA_DRIVER_STATE_")
    records = []
    for index in range(count[0]):
        record = new_struct("wia_load_record_t")
        check(lib.wia_get_load_record(index, record))
        records.append(
            LoadRecord(
                name=text(record.name),
                kind=kinds.get(record.kind, "none"),
                state=states.get(record.state, "none"),
                source=text(record.source),
                version=text(record.version),
                priority=record.priority,
                status=text(lib.wia_get_status_name(record.status)),
                message=text(record.message),
                cause=text(record.cause),
            )
        )
    return records
