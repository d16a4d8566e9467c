"""`wia info`: all that is known of one device."""

from __future__ import annotations

import argparse
from typing import Any

import wia
from wia._cli._output import (
    Commands,
    add_json,
    print_fields,
    print_heading,
    print_json,
    print_table,
    size_text,
)
from wia._device import MEMORY_KINDS
from wia._memory_pool import MemoryStats

__all__ = ["add_device", "add_parser", "device_json", "print_device"]


def add_parser(commands: Commands, debug: argparse.ArgumentParser) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "info",
        parents=[debug],
        help="tell all about one device",
        description="Tells what a device is, its memory, the operations that it has kernels for "
        "and their dtypes.",
    )
    add_device(parser)
    add_json(parser)
    parser.set_defaults(run=_run)


def add_device(parser: argparse.ArgumentParser) -> None:
    """Gives a command the argument DEVICE."""
    parser.add_argument(
        "device",
        nargs="?",
        default="",
        metavar="DEVICE",
        help="for example npu:1; npu is npu:0; none: the default device",
    )


def device_json(device: wia.Device) -> dict[str, Any]:
    """The fields of a device, with its flags and operations by name."""
    return {
        **device._asdict(),
        "flags": _flags(device),
        "operations": _operations(device),
        "extensions": [extension._asdict() for extension in device.extensions()],
    }


def print_device(device: wia.Device) -> None:
    """Prints what a device is, and its operations."""
    print_heading(f"{device.name}: {device.description}")
    fields = {
        "driver": f"{device.driver_name} {device.driver_version}",
        "vendor": device.vendor or "-",
        "architecture": device.architecture or "-",
        "memory": size_text(device.total_memory_size),
        "flags": ", ".join(_flags(device)) or "-",
    }
    operations = _operations(device)
    for extension in device.extensions():
        more = ", ".join((*extension.capabilities, *extension.operations))
        fields[extension.extension_id] = f"extension {extension.version}: {more}".rstrip(": ")
    print_fields(fields | {name: ", ".join(dtypes) for name, dtypes in operations.items()})


def _run(options: argparse.Namespace) -> int:
    device = wia.find_device(options.device)
    memory = {kind: device.memory(kind) for kind in MEMORY_KINDS}
    cache = device.plan_cache()
    with wia.Context(device.name) as context:
        pool = context.memory_stats()
    if options.json:
        kinds = {kind: info._asdict() for kind, info in memory.items()}
        limits = {name: getattr(pool, name) for name in ("is_pooled", "limit_size", "keep_size")}
        caches = {"memory_pool": limits, "plan_cache": cache._asdict()}
        print_json({**device_json(device), "memory": kinds, **caches})
        return 0
    print_device(device)
    print()
    print_table(
        ("MEMORY", "TOTAL", "FREE"),
        [
            (kind.replace("_", " "), size_text(info.total_size), size_text(info.free_size))
            for kind, info in memory.items()
            if kind == "device" or info.total_size
        ],
        right=("TOTAL", "FREE"),
    )
    print(f"\n{_pool_text(pool)}")
    print(f"Up to {cache.capacity} prepared kernels are kept.")
    return 0


def _pool_text(pool: MemoryStats) -> str:
    """What contexts may have of the device, and keep when it is freed."""
    size = f"at most {size_text(pool.limit_size)}" if pool.limit_size else "any amount"
    kept = f"keeps up to {size_text(pool.keep_size)} of freed memory" if pool.is_pooled else ""
    return f"A context may have {size} of memory, and {kept or 'keeps none that is freed'}."


def _flags(device: wia.Device) -> list[str]:
    return [flag.name.lower() for flag in wia.DeviceFlag if flag in device.flags and flag.name]


def _operations(device: wia.Device) -> dict[str, list[str]]:
    """The operations that a device has kernels for, with their dtypes."""
    from wia.catalog import OPERATIONS, REGISTERED

    support: dict[str, list[str]] = {}
    for entry in (*OPERATIONS, *REGISTERED.values()):
        try:
            dtypes = device.supports(entry.number)
        except wia.UnimplementedError:
            continue
        if dtypes:
            support[entry.name] = [name for name in entry.dtypes if name in dtypes]
    return support
