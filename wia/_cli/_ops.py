"""`wia ops`: which operations have kernels for which dtypes on which devices."""

from __future__ import annotations

import argparse
import difflib
import fnmatch
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import wia
from wia._cli._output import Commands, add_json, print_json, print_table

if TYPE_CHECKING:
    from wia.catalog import Operation

__all__ = ["add_parser"]

Support = dict[str, list[str] | None]
"""The dtypes of each operation on a device; None where its driver doesn't tell."""


def add_parser(commands: Commands, debug: argparse.ArgumentParser) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "ops",
        parents=[debug],
        help="list the operations, and which devices have them",
        description="Lists the operations of the catalog and the dtypes that devices have kernels "
        "for, as their drivers say. Of one device dtypes are named; of several they are counted. "
        "Without --device: the first device of each driver.",
    )
    parser.add_argument(
        "patterns",
        nargs="*",
        metavar="OPERATION",
        help="only operations whose name matches, with * and ? ('conv*'); none: all",
    )
    parser.add_argument(
        "--device",
        action="append",
        default=[],
        metavar="DEVICE",
        help="of this device; may be repeated",
    )
    parser.add_argument("--dtype", metavar="DTYPE", help="only of this dtype, such as bfloat16")
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from wia.catalog import OPERATIONS

    known = sorted({dtype for entry in OPERATIONS for dtype in entry.dtypes})
    if options.dtype is not None and options.dtype not in known:
        return _refuse(f"no operation has the dtype {options.dtype!r}", options.dtype, known)
    names = [entry.name for entry in OPERATIONS]
    for pattern in options.patterns:
        if not fnmatch.filter(names, pattern):
            return _refuse(f"no operation matches {pattern!r}", pattern, names)
    entries = [
        entry
        for entry in OPERATIONS
        if any(fnmatch.fnmatchcase(entry.name, pattern) for pattern in options.patterns or ["*"])
        and (options.dtype is None or options.dtype in entry.dtypes)
    ]
    devices = [wia.find_device(name) for name in options.device] or _one_of_each_driver()
    support = {device.name: _support(device, entries, options.dtype) for device in devices}
    if options.json:
        rows = [_as_json(entry, support) for entry in entries]
        print_json({"version": wia.__version__, "devices": list(support), "operations": rows})
        return 0
    alone = len(support) == 1
    print_table(
        ("OPERATION", *support),
        [
            (entry.name, *(_cell(entry, found[entry.name], alone) for found in support.values()))
            for entry in entries
        ],
    )
    return 0


def _refuse(problem: str, given: str, known: Sequence[str]) -> int:
    near = difflib.get_close_matches(given, known, 3)
    hint = f"did you mean {', '.join(near)}?" if near else "`wia ops` lists all of them"
    print(f"wia: error: {problem}; {hint}", file=sys.stderr)
    return 1


def _one_of_each_driver() -> list[wia.Device]:
    found: dict[str, wia.Device] = {}
    for device in wia.devices():
        found.setdefault(device.driver_name, device)
    return list(found.values())


def _support(device: wia.Device, entries: Sequence[Operation], dtype: str | None) -> Support:
    support: Support = {}
    for entry in entries:
        try:
            told = device.supports(entry.number)
        except wia.UnimplementedError:
            support[entry.name] = None
            continue
        support[entry.name] = [
            name for name in entry.dtypes if name in told and dtype in (None, name)
        ]
    return support


def _cell(entry: Operation, dtypes: list[str] | None, alone: bool) -> str:
    if dtypes is None:
        return "not told"
    if alone or len(dtypes) == 1:
        return ", ".join(dtypes) or "-"
    return "all" if len(dtypes) == len(entry.dtypes) else str(len(dtypes) or "-")


def _as_json(entry: Operation, support: Mapping[str, Support]) -> dict[str, Any]:
    from wia.catalog import derivatives

    return {
        "name": entry.name,
        "number": entry.number,
        "summary": entry.summary,
        "family": entry.family,
        "dtypes": list(entry.dtypes),
        "gradient": bool(derivatives.gradient_text(entry)),
        "support": {device: found[entry.name] for device, found in support.items()},
    }
