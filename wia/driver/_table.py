"""The driver table of a Python driver, and the callbacks that its entries lead to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from wia._callbacks import callback
from wia._device import MEMORY_KINDS
from wia._dtype import CODES
from wia._errors import InvalidArgumentError, OutOfRangeError, check
from wia._native import ffi, lib, new_struct, text
from wia.driver._base import BaseKernel, BaseMemory
from wia.driver._driver import Driver, as_kernel
from wia.driver._kernel import (
    Kernel,
    Launch,
    NativeKernel,
    fill_cost,
    fill_kernel,
    measure_kernel,
    release_kernel,
)
from wia.driver._layout import Layout
from wia.driver._memory import MEMORY_ENTRIES, Copy, DeviceMemory, NativeMemory, Region
from wia.driver._node import Group

__all__ = ["give_kernel", "make_driver", "make_table", "register"]

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PYTHON_ENTRIES = ("count_devices", "open_device", "close_device", "get_info", "prepare")


class _Device:
    """An open device; `opened` is what C code knows it by."""

    __slots__ = ("driver", "handle", "index", "memory", "opened", "texts")

    def __init__(self, driver: Driver, index: int) -> None:
        self.driver = driver
        self.index = index
        self.memory = driver.memory
        self.handle = ffi.new_handle(self)
        state = self.memory.open(index) if isinstance(self.memory, NativeMemory) else 0
        self.opened = ffi.new("wia__python_device_t *", {"state": state, "handle": self.handle})
        self.texts: list[Any] = []

    def text(self, value: str) -> Any:
        """A C string that lives as long as the device."""
        self.texts.append(ffi.new("char[]", value.encode()))
        return self.texts[-1]


# Drivers and devices live as long as the process.
_kept: list[object] = []


def make_driver(factory: object) -> Driver:
    """An instance of a driver class, or the given one. Raises InvalidArgumentError for others."""
    driver = factory() if isinstance(factory, type) and issubclass(factory, Driver) else factory
    if not isinstance(driver, Driver):
        raise InvalidArgumentError(
            f"{factory!r} was given as driver; expected a subclass of wia.driver.Driver or an "
            "instance of one."
        )
    if not isinstance(driver.name, str) or not _NAME.fullmatch(driver.name):
        raise InvalidArgumentError(
            f"{type(driver).__qualname__}.name is {driver.name!r}; expected a lower-case letter, "
            "then lower-case letters, digits and underscores."
        )
    return driver


def make_table(driver: Driver) -> Any:
    """A `wia_driver_t *` for a driver, which stays good for the life of the process."""
    table = new_struct("wia_driver_t")
    texts = {
        field: ffi.new("char[]", str(getattr(driver, field)).encode())
        for field in ("name", "version", "vendor")
    }
    for field, value in texts.items():
        setattr(table, field, value)
    handle = ffi.new_handle(driver)
    table.self = ffi.cast("wia_driver_self_t", handle)
    for entry in (*_PYTHON_ENTRIES, "get_support", "get_link"):
        setattr(table, entry, ffi.addressof(lib, f"wia__gate_{entry}"))
    native = driver.memory._entries if isinstance(driver.memory, NativeMemory) else {}
    memory_side = "host" if driver.memory is None else "gate"
    for entry in MEMORY_ENTRIES:
        function = native.get(entry) or ffi.addressof(lib, f"wia__{memory_side}_{entry}")
        setattr(table, entry, ffi.cast(ffi.typeof(getattr(table, entry)), function))
    if "copy_to_peer" in native:
        table.copy_to_peer = ffi.cast(ffi.typeof(table.copy_to_peer), native["copy_to_peer"])
    if driver.base_graphs:
        if not isinstance(driver.memory, BaseMemory):
            raise InvalidArgumentError(
                f"{type(driver).__qualname__}.base_graphs is True and its memory is "
                f"{driver.memory!r}; expected a BaseMemory, or base_graphs = False."
            )
        table.graphs = lib.wia__get_base_graphs()
    driver._table = table
    _kept.append((driver, handle, table, texts))
    return table


def _device_of(pointer: Any) -> _Device:
    opened = ffi.cast("wia__python_device_t *", pointer)
    device: _Device = ffi.from_handle(opened.handle)
    return device


def _memory_of(device: _Device) -> DeviceMemory:
    if not isinstance(device.memory, DeviceMemory):
        raise InvalidArgumentError(f"{device.driver.name} took its memory away while in use.")
    return device.memory


@callback("count_devices")
def _count_devices(self: Any, out_count: Any, out_error: Any) -> int:
    driver: Driver = ffi.from_handle(ffi.cast("void *", self))
    out_count[0] = driver.device_count()
    return 0


@callback("open_device")
def _open_device(self: Any, index: int, out_device: Any, out_error: Any) -> int:
    driver: Driver = ffi.from_handle(ffi.cast("void *", self))
    driver.open_device(index)
    device = _Device(driver, index)
    _kept.append(device)
    out_device[0] = ffi.cast("wia_driver_device_t", device.opened)
    return 0


@callback("close_device")
def _close_device(device: Any) -> None:
    _kept.remove(_device_of(device))


@callback("get_info")
def _get_info(device: Any, out_info: Any, out_error: Any) -> int:
    opened = _device_of(device)
    driver, index = opened.driver, opened.index
    out_info.flags = driver.get_flags(index)
    out_info.description = opened.text(driver.describe_device(index))
    out_info.vendor = opened.text(driver.vendor)
    out_info.architecture = opened.text(driver.architecture)
    memory = opened.memory
    if isinstance(memory, DeviceMemory):
        out_info.memory_kind_count = len(memory.kinds(index))
    else:
        out_info.memory_kind_count = 1 if memory is None else memory.count_kinds(index)
    out_info.address_alignment = driver.address_alignment
    return 0


@callback("get_support")
def _get_support(device: Any, op_name: Any, out_dtypes: Any, out_error: Any) -> int:
    opened = _device_of(device)
    names = opened.driver.get_support(opened.index, text(op_name))
    out_dtypes[0] = sum(1 << CODES[name] for name in names)
    return 0


@callback("get_link")
def _get_link(device: Any, peer: Any, out_info: Any, out_error: Any) -> int:
    opened = _device_of(device)
    link = opened.driver.get_link(opened.index, _device_of(peer).index)
    if link is not None:
        out_info.kind = lib.WIA_LINK_DIRECT if link.direct else lib.WIA_LINK_HOST
        out_info.bandwidth = link.bandwidth
        out_info.latency_ns = link.latency_ns
    return 0


@callback("prepare")
def _prepare(device: Any, request: Any, out_kernel: Any, out_error: Any) -> int:
    opened = _device_of(device)
    group = Group(request)
    try:
        kernel = as_kernel(opened.driver.prepare_group(opened.index, group))
    finally:
        group.request = None
    for node in group.nodes:
        node.attributes.refuse_ignored(node.op)
    give_kernel(out_kernel, kernel, group)
    return 0


def give_kernel(out_kernel: Any, kernel: Kernel | NativeKernel, group: Group) -> None:
    """Fills a `wia_driver_kernel_t *` with what a group was prepared as."""
    if isinstance(kernel, BaseKernel):
        kernel.hand_over(out_kernel)
        return
    launch = None
    if isinstance(kernel, Kernel):
        launch = Launch(kernel, len(group.inputs), group.scalars())
    operands = [None if i < 0 else group.values[i] for i in (*group.inputs, *group.outputs)]
    fill_kernel(out_kernel, kernel, launch, operands)


@callback("measure")
def _measure(state: Any, layouts: Any, count: int, out_cost: Any, out_error: Any) -> int:
    operands = [Layout(layouts[i]) if layouts[i] else None for i in range(count)]
    fill_cost(out_cost, measure_kernel(state, operands))
    return 0


@callback("launch")
def _launch(state: Any, args: Any) -> int:
    ffi.from_handle(state).run(args)
    return 0


@callback("release")
def _release(state: Any) -> None:
    release_kernel(state)


@callback("get_memory_kind")
def _get_memory_kind(device: Any, index: int, out_info: Any, out_error: Any) -> int:
    opened = _device_of(device)
    kinds = _memory_of(opened).kinds(opened.index)
    if index >= len(kinds):
        raise OutOfRangeError(f"Memory kind {index} was asked for; there are {len(kinds)}.")
    out_info.kind = MEMORY_KINDS[kinds[index].kind]
    out_info.total_size = kinds[index].total_size
    out_info.free_size = kinds[index].free_size
    return 0


@callback("allocate")
def _allocate(
    device: Any, kind: int, size: int, alignment: int, out_memory: Any, out_error: Any
) -> int:
    opened = _device_of(device)
    name = next((name for name, number in MEMORY_KINDS.items() if number == kind), str(kind))
    address, memory = _memory_of(opened).allocate(opened.index, name, size, alignment)
    out_memory.address = address
    out_memory.memory = ffi.cast("wia_driver_memory_t", memory)
    return 0


@callback("free")
def _free(device: Any, memory: Any) -> None:
    opened = _device_of(device)
    _memory_of(opened).free(opened.index, int(ffi.cast("uintptr_t", memory.memory)))


def _region(operand: Any) -> Region:
    memory = int(ffi.cast("uintptr_t", operand.memory))
    return Region(operand.address, memory, operand.offset)


@callback("copy")
def _copy(device: Any, copies: Any, count: int, out_error: Any) -> int:
    opened = _device_of(device)
    listed: Sequence[Copy] = [
        Copy(_region(copies[i].source), _region(copies[i].destination), copies[i].size)
        for i in range(count)
    ]
    _memory_of(opened).copy(opened.index, listed)
    return 0


@callback("fill")
def _fill(
    device: Any, target: Any, size: int, pattern: Any, pattern_size: int, out_error: Any
) -> int:
    opened = _device_of(device)
    data = bytes(ffi.buffer(pattern, pattern_size))
    _memory_of(opened).fill(opened.index, _region(target), size, data)
    return 0


def register(factory: object) -> None:
    """Registers a driver with the library, as wia.register_driver() says."""
    table = make_table(make_driver(factory))
    check(lib.wia_register_driver(table, lib.WIA_DRIVER_ABI_MAJOR, lib.WIA_DRIVER_ABI_MINOR))
