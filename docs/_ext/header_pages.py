"""A reference page from a public header: comments become text, declarations stay as they are.

A header is a row of pieces divided by blank lines: a comment, declarations, or a comment with the
declarations that it describes. Comments inside a struct or an enum stay in its listing.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

SKIPPED = re.compile(
    r"#(ifndef WIA_(\w+_)?H$|define WIA_(\w+_)?H$|include|endif|undef)|WIA_(BEGIN|END)_DECLS$"
)
FUNCTION = re.compile(r"WIA_API ([^;]+);", re.DOTALL)


def header_page(name: str, text: str) -> str:
    """Return the page, reStructuredText."""
    title = f"wia/{name}" if not name.startswith("wia") else name
    lines = [title, "=" * len(title), ""]
    for comment, code in pieces(text):
        functions = FUNCTION.findall(code) if "{" not in code else []
        if functions:
            separator = "\n" + " " * len(".. c:function:: ")
            signatures = separator.join(" ".join(text.split()) for text in functions)
            lines += [f".. c:function:: {signatures}", ""]
            lines += [textwrap.indent(line, "   ") for line in prose(comment)]
        else:
            text = comment.removeprefix(f" {name}: ")
            lines += prose(text[:1].upper() + text[1:])
            if code:
                lines += [".. code-block:: c", "", textwrap.indent(code, "   "), ""]
    return "\n".join(lines)


def pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield comment and code of each piece; either may be empty."""
    for block in re.split(r"\n\s*\n", without_blank_lines_in_comments(text)):
        comment, code = "", block.strip()
        if code.startswith("/*") and "*/" in code:
            comment, code = code[2:].split("*/", 1)
        kept = [line for line in code.splitlines() if not SKIPPED.match(line.strip())]
        code = "\n".join(kept).strip()
        if comment or code:
            yield comment, code


def without_blank_lines_in_comments(text: str) -> str:
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


def prose(comment: str) -> list[str]:
    """Return the comment as reStructuredText: paragraphs, items of lists, literal lines."""
    result: list[str] = []
    margin = ""
    for kind, lines in blocks(comment):
        if kind == "literal":
            result += [f"{margin}::", "", *(f"{margin}   {line}" for line in lines), ""]
        elif kind == "more":
            result += [margin + escape(" ".join(lines)), ""]
        else:
            margin = "  " if kind == "item" else ""
            result += [("- " if kind == "item" else "") + escape(" ".join(lines)), ""]
    return result


def blocks(comment: str) -> Iterator[tuple[str, list[str]]]:
    """Yield kind and lines of the parts of a comment.

    A part is a paragraph, an item of a list, literal lines, or more text of the item before them.
    """
    kind, lines = "", list[str]()
    for line in comment.splitlines():
        text = re.sub(r"^ ?\* ?", "", line).rstrip()
        indent, bare = len(text) - len(text.lstrip()), text.strip()
        starts = bare.startswith("- ")
        if not bare:
            new = ""
        elif starts:
            new, bare = "item", bare[2:]
        elif indent >= 6:
            new = "literal"
        elif indent > 1 and kind in ("item", "literal", "more"):
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


def escape(text: str) -> str:
    """Return text with what reStructuredText would read as markup made plain."""
    return re.sub(r"([*`|\\]|_(?=\W|$))", r"\\\1", text)
