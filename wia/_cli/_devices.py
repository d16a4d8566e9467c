"""`wia devices`: the devices, and the drivers that were found."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import wia
from wia._cli._info import device_json, print_device
from wia._cli._output import (
    Commands,
    add_json,
    print_heading,
    print_json,
    print_table,
    size_text,
)

__all__ = ["add_parser"]


def add_parser(commands: Commands, debug: argparse.ArgumentParser) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "devices",
        parents=[debug],
        help="list the devices, and the drivers that were found",
        description="Lists the devices of every driver, the default one first. A driver that could "
        "not be loaded is told on standard error.",
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument(
        "-v", "--verbose", action="store_true", help="also all drivers, operations and dtypes"
    )
    shape.add_argument("--names", action="store_true", help="the names only, one a line")
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    found = wia.devices()
    report = wia.load_report()
    if options.json:
        devices = [device_json(device) for device in found]
        drivers = [record._asdict() for record in report]
        print_json({"version": wia.__version__, "devices": devices, "drivers": drivers})
        return 0
    if options.names:
        print("".join(f"{device.name}\n" for device in found), end="")
        return 0
    rows = [
        (
            device.name,
            device.description,
            f"{device.driver_name} {device.driver_version}",
            size_text(device.total_memory_size),
            "default" if index == 0 and device.id == 0 else "",
        )
        for index, device in enumerate(found)
    ]
    print_table(("DEVICE", "DESCRIPTION", "DRIVER", "MEMORY", ""), rows)
    if options.verbose:
        for device in found:
            print()
            print_device(device)
        _print_report(report)
    for record in report:
        if record.state == "refused":
            hint = "" if options.verbose else " (wia devices -v says more)"
            print(
                f"wia: driver {record.name or record.source}: {record.message}{hint}",
                file=sys.stderr,
            )
    return 0


def _print_report(report: Sequence[wia.LoadRecord]) -> None:
    print()
    print_heading("drivers")
    for record in report:
        version = f" {record.version}" if record.version else ""
        print(f"  {record.name or '?'}{version}: {record.state}, {record.kind}, {record.source}")
        if record.message:
            print(f"    {record.status}: {record.message}")
        for line in record.cause.splitlines():
            print(f"    | {line}")
