"""`wia doctor`: checks the installation, and says how to mend it."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Iterator

import wia
from wia._cli._installation import NOTE, OK, WRONG, Check, print_plain
from wia._cli._output import Commands, add_json, print_json, print_table

__all__ = ["add_parser"]

_LOOKS = {OK: "green", NOTE: "yellow", WRONG: "bold red"}


def add_parser(commands: Commands, debug: argparse.ArgumentParser) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "doctor",
        parents=[debug],
        help="check the installation, and say how to mend it",
        description="Checks the files of the package, the library, compiler and libpython for C "
        "programs, every driver, and the variables that begin with WIA_. Exit code 1 if something "
        "is wrong.",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="only what is not in order")
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    checks = list(_checks())
    problems = sum(check.state == WRONG for check in checks)
    if options.json:
        print_json({"problem_count": problems, "checks": [check._asdict() for check in checks]})
        return min(problems, 1)
    shown = [check for check in checks if check.state != OK or not options.quiet]
    rows = [
        (check.state, check.name, "\n".join(filter(None, (check.message, check.remedy))))
        for check in shown
    ]
    if importlib.util.find_spec("rich") is None:
        print_plain(shown)
    elif rows:
        print_table(("STATE", "CHECK", "WHAT WAS FOUND, AND HOW TO MEND IT"), rows, styles=_LOOKS)
    if problems:
        print(f"\n{problems} of {len(checks)} checks found something wrong.")
    elif not options.quiet:
        print("\nNothing is wrong.")
    return min(problems, 1)


def _checks() -> Iterator[Check]:
    from wia._cli._installation import check_files
    from wia._cli._loaded import check_default_device, check_drivers, check_library
    from wia._cli._programs import check_programs
    from wia._cli._settings import check_variables

    yield from check_files()
    devices = wia.devices()  # loads every driver, so that what they bring is there to be seen
    records = wia.load_report()
    yield from check_library()
    yield from check_drivers(records)
    yield check_default_device()
    yield from check_variables(records)
    yield from check_programs(devices)
