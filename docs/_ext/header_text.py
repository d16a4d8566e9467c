"""Reads public headers: what a C compiler sees of them, cut into pieces with their comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

SKIPPED = re.compile(
    r"#(define WIA_(\w+_)?H$|include|undef|define WIA_(BEGIN|END)_DECLS|define WIA_\w+_ENUM_\()"
    r"|WIA_(BEGIN|END)_DECLS$"
)
STRING = r'"(?:[^"\\]|\\.)*"'
ENTRY = re.compile(rf"\bX\(((?:{STRING}|[^\"()])*)\)")
ARGUMENT = re.compile(rf"(?:{STRING}|[^,\"])+")
DIVIDER = re.compile(r"\s*-- (.+?) -+\s*$")


class Piece(NamedTuple):
    """A comment and the declarations below it; either may be empty."""

    comment: str
    code: str

    @property
    def title(self) -> str:
        """The words of a comment that divides a header into sections, else empty."""
        found = DIVIDER.match(self.comment) if not self.code else None
        return found[1][0].upper() + found[1][1:] if found else ""


def pieces(text: str) -> Iterator[Piece]:
    """Yield the pieces of a header, which blank lines divide."""
    for block in re.split(r"\n\s*\n", _without_inner_blank_lines(_as_c(text))):
        comment, code = "", block.strip()
        if code.startswith("/*") and "*/" in code:
            comment, code = code[2:].split("*/", 1)
        kept = [line for line in code.splitlines() if not SKIPPED.match(line.strip())]
        code = "\n".join(kept).strip()
        if comment or code:
            yield Piece(comment, code)


def _as_c(text: str) -> str:
    """Return what a C compiler keeps of the header's conditions."""
    result: list[str] = []
    kept = [True]
    for line in text.splitlines():
        word = line.strip().split(" ")[0]
        if word in ("#ifdef", "#ifndef", "#if"):
            kept.append(kept[-1] and line.split()[1] != "__cplusplus")
        elif word == "#else":
            kept[-1] = kept[-2] and not kept[-1]
        elif word == "#endif":
            kept.pop()
        elif kept[-1]:
            result.append(line)
    return "\n".join(result)


def _without_inner_blank_lines(text: str) -> str:
    """Return text in which a piece is never divided inside a comment or between braces."""
    result, depth = [], 0
    in_comment = False
    for line in text.splitlines():
        bare = line.strip()
        if bare or (depth == 0 and not in_comment):
            result.append(line)
        elif in_comment:
            result.append(" *")
        depth += line.count("{") - line.count("}")
        in_comment = (in_comment or "/*" in line) and "*/" not in line
    return "\n".join(result)


def map_rows(text: str, macro: str) -> list[list[str]]:
    """Return the entries of a map, `#define MACRO(X) X(...) X(...)`, as their arguments' texts.

    Raises ValueError when the header has no such map.
    """
    start = text.find(f"#define {macro}(X)")
    if start < 0:
        raise ValueError(f"there is no map {macro}(X) in a header that starts {text[:60]!r}")
    body = re.split(r"(?<!\\)\n", text[start:], maxsplit=1)[0].partition("(X)")[2]
    return [_arguments(entry) for entry in ENTRY.findall(body.replace("\\\n", " "))]


def _arguments(entry: str) -> list[str]:
    """Split at commas outside strings; adjacent strings become one."""
    return [_value(argument.strip()) for argument in ARGUMENT.findall(entry)]


def _value(argument: str) -> str:
    strings = [string[1:-1].replace('\\"', '"') for string in re.findall(STRING, argument)]
    return "".join(strings) if strings else argument
