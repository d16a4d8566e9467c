"""A reference page from a public header: comments become text, declarations stay as they are.

Functions, structs and types get an entry that others link to; constants stand in the index.
"""

from __future__ import annotations

import re

import rst
from header_text import Piece, map_rows, pieces

FUNCTION = re.compile(r"WIA_API ([^;]+);", re.DOTALL)
STRUCT = re.compile(r"^(?:typedef )?(?:struct|union) (\w+) \{", re.MULTILINE)
TYPE = re.compile(r"^typedef [^{;()]*?(\w+);|^typedef [^{;]*?\(\*(\w+)\)", re.MULTILINE)
MACRO = re.compile(r"^#define (WIA_\w+(?:\([^)]*\))?)", re.MULTILINE)
CONSTANT = re.compile(r"\b(WIA_\w+) *=")
MAP = re.compile(r"#define (WIA_\w+_MAP)\(X\)")
PREFIX = re.compile(r"#define WIA_\w+_ENUM_\([^)]*\) (WIA_\w*?)##")


def header_page(name: str, text: str) -> str:
    """Return the page, reStructuredText."""
    shown = f"wia/{name}" if not name.startswith("wia") else name
    lines = rst.title(shown)
    structs = set(STRUCT.findall(text))
    for piece in pieces(text):
        if piece.title:
            lines += rst.title(piece.title, "-")
        else:
            comment = piece.comment.removeprefix(f" {name}: ")
            comment = comment[:1].upper() + comment[1:] if comment != piece.comment else comment
            lines += _piece(Piece(comment, piece.code), text, structs)
    return "\n".join(lines)


def _piece(piece: Piece, header: str, structs: set[str]) -> list[str]:
    text = rst.prose(piece.comment)
    functions = FUNCTION.findall(piece.code) if "{" not in piece.code else []
    if functions:
        return _entry("function", [" ".join(words.split()) for words in functions], text)
    found = MAP.search(piece.code)
    if found:
        return text + _map(found[1], piece.comment, header)
    if not piece.code:
        return text
    body = [*_index(CONSTANT.findall(piece.code)), *text, *rst.code("c", piece.code)]
    own = STRUCT.findall(piece.code)
    if own:
        return _entry("union" if f"union {own[0]} {{" in piece.code else "struct", own, body)
    types = ["".join(names) for names in TYPE.findall(piece.code)]
    types = [name for name in types if name not in structs]
    if types:
        return _entry("type", types, body)
    macros = MACRO.findall(piece.code)
    return _entry("macro", macros, body) if macros else body


def _entry(kind: str, names: list[str], body: list[str]) -> list[str]:
    start = f".. c:{kind}:: "
    lines = [start + names[0], *(" " * len(start) + name for name in names[1:]), ""]
    return lines + rst.indent(body)


def _index(constants: list[str]) -> list[str]:
    if not constants:
        return []
    return [".. index::", *(f"   single: {name} (C constant)" for name in constants), ""]


def _map(macro: str, comment: str, header: str) -> list[str]:
    """The table of a map X(...), whose columns its comment names; not all maps make constants."""
    columns = re.findall(r"X\(([^)]*)\)", comment)[0].split(", ")
    prefix = "".join(PREFIX.findall(header)[:1])
    rows = [
        [f"``{prefix}{first}``", *(rst.escape(value) for value in rest)]
        for first, *rest in map_rows(header, macro)
    ]
    constants = [row[0].strip("`") for row in rows if prefix]
    return _index(constants) + rst.table(["constant", *columns[1:]], rows)
