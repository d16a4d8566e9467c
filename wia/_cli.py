"""The command `wia`."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

import wia

__all__ = ["main", "make_parser"]

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    options = make_parser().parse_args(arguments)
    try:
        code = _list_devices(as_json=options.json, verbose=options.verbose)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    return code


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command line, which the manual's page is made from too."""
    parser = argparse.ArgumentParser(prog="wia", description="Looks after WIA on this machine.")
    parser.add_argument("--version", action="version", version=f"wia {wia.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    devices = commands.add_parser(
        "devices",
        help="list the devices, and the drivers that were found",
        description="Lists the devices of every driver, the default one first. A driver that could "
        "not be loaded is told on standard error.",
    )
    devices.add_argument(
        "-v", "--verbose", action="store_true", help="also all drivers, operations and dtypes"
    )
    devices.add_argument("--json", action="store_true", help="everything, as JSON")
    return parser


def _list_devices(*, as_json: bool, verbose: bool) -> int:
    found = wia.devices()
    report = wia.load_report()
    if as_json:
        json.dump(_as_json(found, report), sys.stdout, indent=2)
        print()
        return 0
    rows = [
        (
            device.name,
            device.description,
            f"{device.driver_name} {device.driver_version}",
            _size(device.total_memory_size),
            "default" if index == 0 and device.id == 0 else "",
        )
        for index, device in enumerate(found)
    ]
    _print_table(("DEVICE", "DESCRIPTION", "DRIVER", "MEMORY", ""), rows)
    if verbose:
        for device in found:
            _print_device(device)
        _print_report(report)
    for record in report:
        if record.state == "refused":
            hint = "" if verbose else " (wia devices -v says more)"
            print(
                f"wia: driver {record.name or record.source}: {record.message}{hint}",
                file=sys.stderr,
            )
    return 0


def _print_device(device: wia.Device) -> None:
    flags = [flag.name.lower() for flag in wia.DeviceFlag if flag in device.flags and flag.name]
    print(f"\n{device.name}: {device.description}")
    print(f"  vendor        {device.vendor or '-'}")
    print(f"  architecture  {device.architecture or '-'}")
    print(f"  memory        {_size(device.total_memory_size)}")
    print(f"  flags         {', '.join(flags) or '-'}")
    for op, dtypes in _support(device).items():
        print(f"  {op:<13} {', '.join(dtypes)}")


def _support(device: wia.Device) -> dict[str, list[str]]:
    """The operations that a device has kernels for, with their dtypes."""
    from wia.catalog import OPERATIONS

    support: dict[str, list[str]] = {}
    for entry in OPERATIONS:
        try:
            dtypes = device.supports(entry.number)
        except wia.UnimplementedError:
            continue
        if dtypes:
            support[entry.name] = [name for name in entry.dtypes if name in dtypes]
    return support


def _print_report(report: Sequence[wia.LoadRecord]) -> None:
    print("\ndrivers")
    for record in report:
        version = f" {record.version}" if record.version else ""
        print(f"  {record.name or '?'}{version}: {record.state}, {record.kind}, {record.source}")
        if record.message:
            print(f"    {record.status}: {record.message}")
        for line in record.cause.splitlines():
            print(f"    | {line}")


def _as_json(found: Sequence[wia.Device], report: Sequence[wia.LoadRecord]) -> dict[str, Any]:
    devices = []
    for device in found:
        fields: dict[str, Any] = device._asdict()
        fields["flags"] = [f.name.lower() for f in wia.DeviceFlag if f in device.flags and f.name]
        fields["operations"] = _support(device)
        devices.append(fields)
    return {
        "version": wia.__version__,
        "devices": devices,
        "drivers": [record._asdict() for record in report],
    }


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    for row in (header, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def _size(size: int) -> str:
    """A number of bytes for people."""
    if size == 0:
        return "-"
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.0f} {_UNITS[unit]}" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


if __name__ == "__main__":
    sys.exit(main())
