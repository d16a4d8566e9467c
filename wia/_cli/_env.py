"""`wia env`: the environment variables, with their texts."""

from __future__ import annotations

import argparse

import wia
from wia._cli._output import Commands, add_json, print_json, print_table
from wia._cli._variables import Variable, driver_option, other_names, variables

__all__ = ["add_parser"]


def add_parser(commands: Commands, debug: argparse.ArgumentParser) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "env",
        parents=[debug],
        help="list the environment variables, with their values and what they do",
        description="Lists the variables that WIA reads, with value, default and meaning, then "
        "those that are set for drivers. wia doctor says which ones are wrong.",
    )
    add_json(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    known = variables()
    drivers = {record.name for record in wia.load_report() if record.name}
    others = []
    for name, value in other_names(known):
        owner = driver_option(name, drivers)
        others.append({"name": name, "value": value, "driver": owner[0] if owner else None})
    if options.json:
        print_json({"variables": [item._asdict() for item in known], "others": others})
        return 0
    rows = [(item.name, _shown(item.value), item.default or "-", _meaning(item)) for item in known]
    for other in others:
        driver = other["driver"]
        meaning = f"An option of the driver {driver}." if driver else "Nothing that WIA reads."
        rows.append((str(other["name"]), _shown(other["value"]), "-", meaning))
    print_table(("VARIABLE", "VALUE", "DEFAULT", "MEANING"), rows)
    return 0


def _shown(value: str | None) -> str:
    return "-" if value is None else value


def _meaning(item: Variable) -> str:
    if not item.maximum:
        return item.help
    wrong = " The value is none, so the default is used." if item.malformed else ""
    return f"{item.help} A whole number from {item.minimum} to {item.maximum}.{wrong}"
