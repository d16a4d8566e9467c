"""Pages made from the one place that has each fact: status codes, manifests, commands.

Environment variables: environment_pages.py.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import rst
from header_text import map_rows

import wia
import wia_conformance._cli
from wia import _cli, _config

ROOT = Path(__file__).resolve().parents[2]


def fact_pages() -> dict[str, str]:
    """Return the texts of the pages by file name."""
    pages = {
        "status.rst": _status(),
        "manifest.rst": _manifest(),
        "commands.rst": _commands(),
    }
    return {name: "\n".join(lines) for name, lines in pages.items()}


def _status() -> list[str]:
    """The codes of the map in wia/status.h, with the exceptions that Python raises for them."""
    classes = {cls.code: cls for cls in _subclasses(wia.WiaError) if "code" in vars(cls)}
    rows = []
    for name, value, text in map_rows(_read("include/wia/status.h"), "WIA_STATUS_MAP"):
        cls = classes.get(int(value))
        raised, also = "", ""
        if cls is not None:
            raised = f":py:exc:`wia.{cls.__name__}`"
            also = ", ".join(
                f"``{base.__name__}``" for base in cls.__bases__ if base is not wia.WiaError
            )
        rows.append([f"``WIA_STATUS_{name}``", value, rst.escape(text), raised, also])
    lines = rst.title("Status codes")
    lines += [
        "Every function of the C ABI that can fail returns one of them, and "
        ":c:func:`wia_get_last_error` says more. In Python each is an exception below "
        ":py:exc:`wia.WiaError`, which is also one of Python's own where there is a match.",
        "",
    ]
    return lines + rst.table(["constant", "value", "text", "Python raises", "which is also"], rows)


def _subclasses(cls: type[wia.WiaError]) -> Iterator[type[wia.WiaError]]:
    for child in cls.__subclasses__():
        yield child
        yield from _subclasses(child)


def _manifest() -> list[str]:
    """What the comment of hal/manifest.h says: text, with a table of keys in it."""
    comment = _read("hal/manifest.h").split("*/", 1)[0].removeprefix("/* manifest.h: ")
    row = re.compile(r"^ \*   (\w+)  +(.*?)  +(\S+)$", re.MULTILINE)
    rows = [[f"``{key}``", rst.escape(text), value] for key, text, value in row.findall(comment)]
    before, after = re.split(row.pattern, comment, maxsplit=1, flags=re.MULTILINE)[::4]
    lines = rst.title("Driver manifests")
    lines += rst.prose(before[:1].upper() + before[1:])
    lines += rst.table(["key", "what it says", "default"], rows)
    return lines + rst.prose(row.sub("", after))


def _commands() -> list[str]:
    """What the commands say of themselves."""
    lines = rst.title("Commands")
    makers = (_cli.make_parser, _config.make_parser, wia_conformance._cli.make_parser)
    for parser in (make() for make in makers):
        for command in _parsers(parser):
            lines += rst.title(command.prog, "-")
            lines += rst.code("text", command.format_help())
    return lines


def _parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from _parsers(child)


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")
