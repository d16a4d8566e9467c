"""Text helpers of the writers."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable

WIDTH = 100


def c_comment(paragraphs: Iterable[str]) -> str:
    """A block comment; each paragraph is wrapped, "- " begins a hanging one."""
    lines: list[str] = []
    for paragraph in paragraphs:
        hanging = "  " if paragraph.startswith("- ") else ""
        lines += textwrap.wrap(paragraph, WIDTH - 3, subsequent_indent=hanging) or [""]
    if len(lines) == 1 and len(lines[0]) + 6 <= WIDTH:
        return f"/* {lines[0]} */"
    body = "\n * ".join(lines)
    last = lines[-1]
    return f"/* {body} */" if len(last) + 6 <= WIDTH else f"/* {body}\n */"


def c_wrap(head: str, items: list[str], tail: str) -> str:
    """A call or declaration; items that don't fit go on below the first one, none is divided."""
    lines = [head]
    for position, item in enumerate(items):
        last = position == len(items) - 1
        end = tail if last else ","
        start = not lines[-1].strip() or lines[-1] == head
        text = item if start else f" {item}"
        if not start and len(lines[-1]) + len(text) + len(end) > WIDTH:
            lines.append(" " * len(head))
            text = item
        lines[-1] += text + end
    return "\n".join(lines)


def c_double(value: float) -> str:
    """A number as a C constant."""
    if math.isinf(value):
        return "-WIA_INFINITY" if value < 0 else "WIA_INFINITY"
    return repr(float(value))


def docstring(summary: str, paragraphs: Iterable[str], indent: str) -> str:
    """A docstring: one line, then wrapped paragraphs."""
    blocks = [summary]
    for paragraph in paragraphs:
        blocks.append("\n".join(textwrap.wrap(paragraph, WIDTH - len(indent))))
    text = "\n\n".join(blocks)
    if len(blocks) > 1:
        text += "\n"
    return textwrap.indent(f'"""{text}"""', indent)
