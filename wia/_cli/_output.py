"""What commands print: tables for people, JSON for programs. rich is imported when it is used."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = [
    "Commands",
    "add_json",
    "print_fields",
    "print_heading",
    "print_json",
    "print_table",
    "size_text",
]

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_WIDE = 10_000  # a file or pipe gets whole lines


def add_json(parser: argparse.ArgumentParser) -> None:
    """Gives a command the option --json."""
    parser.add_argument("--json", action="store_true", help="everything, as JSON")


def print_json(value: object) -> None:
    """Prints a value, indented."""
    json.dump(value, sys.stdout, indent=2)
    print()


def print_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
    styles: Mapping[str, str] | None = None,
) -> None:
    """Prints rows below a header; the columns named in right are aligned there.

    styles gives cells of these texts a look on terminals.
    """
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in header:
        justify: Any = "right" if name in right else "left"
        table.add_column(name, justify=justify, overflow="fold")
    _print_rows(table, rows, styles=styles)


def print_fields(fields: Mapping[str, str], indent: int = 2) -> None:
    """Prints names and values, one pair a line."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2), pad_edge=True)
    table.padding = (0, 2, 0, 0)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    _print_rows(table, list(fields.items()), indent)


def print_heading(text: str) -> None:
    """Prints a line that stands out on a terminal."""
    from rich.text import Text

    console = _console()
    with console.capture() as capture:
        console.print(Text(text, style="bold"))
    sys.stdout.write(capture.get())


def _print_rows(
    table: Table,
    rows: Sequence[Sequence[str]],
    indent: int = 0,
    styles: Mapping[str, str] | None = None,
) -> None:
    from rich.padding import Padding
    from rich.text import Text

    looks = styles or {}
    for row in rows:
        table.add_row(*(Text(cell, style=looks.get(cell, "")) for cell in row))
    console = _console()
    # By way of a text, since rich answers a closed pipe by ending the process.
    with console.capture() as capture:
        console.print(Padding(table, (0, 0, 0, indent), expand=False))
    for line in capture.get().splitlines():
        print(line if console.is_terminal else line.rstrip())


def _console() -> Console:
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = _WIDE
    return console


def size_text(size: int) -> str:
    """A number of bytes for people."""
    if size == 0:
        return "-"
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    digits = 0 if value == int(value) else 1
    return f"{value:.{digits}f} {_UNITS[unit]}"
