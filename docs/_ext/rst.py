"""reStructuredText from plain text: comments of headers, tables, titles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# What a comment names: words in backquotes, a member of a struct, a call, a function, a type; a
# constant, a status, a name with an underscore, a header.
NAMED = re.compile(
    r"`(?P<quoted>[^`]+)`"
    r"|(?P<member>\bwia_\w+_t\.\w+)"
    r"|(?P<call>\bwia_\w+\([^()]+\))"
    r"|(?P<function>\bwia_\w+)\(\)"
    r"|(?P<type>\bwia_\w+_t)\b"
    r"|(?P<literal>\b(?:WIA_[A-Z0-9_]+\*?|[A-Z]{2,}_[A-Z_]+\b|[A-Z]{8,}\b|[a-z]\w*_\w+|\w+\.h\b))"
)


AFTER_MARKUP = " \n'\")]}>-/:.,;!?"


def title(text: str, line: str = "=") -> list[str]:
    """Return a heading."""
    return [text, line * len(text), ""]


def table(header: Sequence[str], rows: Sequence[Sequence[str]], widths: str = "") -> list[str]:
    """Return a table; its cells are reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1"]
    lines += [f"   :widths: {widths}"] if widths else []
    lines.append("")
    for row in (header, *rows):
        starts = ("   * - ", *["     - "] * (len(row) - 1))
        lines += [(start + cell).rstrip() for start, cell in zip(starts, row, strict=True)]
    return [*lines, ""]


def code(language: str, text: str) -> list[str]:
    """Return a listing."""
    body = [f"   {line}".rstrip() for line in text.splitlines()]
    return [f".. code-block:: {language}", "", *body, ""]


def indent(lines: Sequence[str]) -> list[str]:
    """Return lines as the content of a directive."""
    return [f"   {line}".rstrip() for line in lines]


def escape(text: str) -> str:
    """Return text with what reStructuredText would read as markup made plain."""
    return re.sub(r"([*`|\\]|_(?=\W|$))", r"\\\1", text)


def inline(text: str) -> str:
    """Return text with links to the functions and types that it names."""
    result, end = "", 0
    for found in NAMED.finditer(text):
        result += escape(text[end : found.start()]) + _role(found)
        end = found.end()
        if text[end : end + 1] not in AFTER_MARKUP:
            result += "\\ "
    return result + escape(text[end:])


def _role(found: re.Match[str]) -> str:
    if found["function"]:
        return f":c:func:`{found['function']}`"
    if found["type"]:
        return f":c:type:`{found['type']}`"
    return f"``{found['quoted'] or found[0]}``"


def prose(comment: str) -> list[str]:
    """Return a comment as paragraphs, items of lists and literal lines."""
    result: list[str] = []
    margin = ""
    for kind, lines in _blocks(comment):
        if kind == "literal":
            result += [f"{margin}::", "", *(f"{margin}   {line}" for line in lines), ""]
            continue
        if kind != "more":
            margin = "  " if kind == "item" else ""
        start = "- " if kind == "item" else margin
        paragraphs = re.split(r"(?<=[.;:]) (?=Errors: )", " ".join(lines))
        for number, paragraph in enumerate(paragraphs):
            result += [(margin if number else start) + inline(paragraph), ""]
    return result


def _blocks(comment: str) -> Iterator[tuple[str, list[str]]]:
    """Yield kind and lines of the parts of a comment.

    A part is a paragraph, an item of a list, literal lines, or more text of the item before them.
    """
    kind, lines = "", list[str]()
    for line in comment.splitlines():
        text = re.sub(r"^ ?\* ?", "", line).rstrip()
        depth, bare = len(text) - len(text.lstrip()), text.strip()
        starts = bare.startswith("- ")
        if not bare:
            new = ""
        elif starts:
            new, bare = "item", bare[2:]
        elif depth >= 6:
            new = "literal"
        elif depth > 1 and kind in ("item", "literal", "more"):
            new = "item" if kind == "item" else "more"
        else:
            new = "paragraph"
        if lines and (new != kind or starts):
            yield kind, lines
            lines = []
        kind = new
        if bare:
            lines.append(bare)
    if lines:
        yield kind, lines
