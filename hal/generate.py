"""Makes what is derived from the catalog of operations.

    generate.py --output DIR    include/wia/ops.h, three C sources and _operations.py
    generate.py --docs DIR      operations/index.rst and one page per operation

A file whose text is the same is not touched.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

from generator import c_calls, c_gradients, c_header, c_table, pages, python_api
from generator.model import OPERATIONS, Operation


def checked_operations() -> tuple[Operation, ...]:
    """The entries, in the order of their numbers.

    Raises ValueError when two entries share a number or a name; numbers may have gaps.
    """
    for one, other in itertools.pairwise(OPERATIONS):
        if one.number == other.number:
            raise ValueError(f"{one.name} and {other.name} both have the number {one.number}")
    names = sorted(operation.name for operation in OPERATIONS)
    for name, other_name in itertools.pairwise(names):
        if name == other_name:
            raise ValueError(f"two operations have the name {name}")
    return OPERATIONS


def write(path: Path, text: str) -> None:
    """Writes a file unless it has that text already."""
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description="Makes what is derived from the catalog.")
    parser.add_argument("--output", type=Path, help="folder for the C and Python sources")
    parser.add_argument("--docs", type=Path, help="folder for the pages of the manual")
    arguments = parser.parse_args()
    if arguments.output is None and arguments.docs is None:
        parser.error("nothing to do: give --output, --docs or both")
    operations = checked_operations()
    if arguments.output is not None:
        write(arguments.output / "include/wia/ops.h", c_header.make(operations))
        write(arguments.output / "ops_table.c", c_table.make(operations))
        write(arguments.output / "ops_calls.c", c_calls.make(operations))
        write(arguments.output / "gradients_table.c", c_gradients.make(operations))
        write(arguments.output / "_operations.py", python_api.make(operations))
    if arguments.docs is not None:
        for name, text in pages.make(operations).items():
            write(arguments.docs / "operations" / name, text)


if __name__ == "__main__":
    main()
