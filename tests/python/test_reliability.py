"""The page that says which test shows what: all of them are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "reliability.md"
FOLDERS = {".c": ROOT / "tests" / "c", ".py": ROOT / "tests" / "python"}
_NAMED = re.compile(r"`(\w+(\.c|\.py)): (\w+)`")


def test_every_named_test_is_there() -> None:
    """As a test of its file, which runs it; each row names at least one."""
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    rows = [row for row in rows if not row.startswith(("| fault", "| ---"))]
    assert len(rows) > 20
    assert [row for row in rows if not _NAMED.search(row)] == []
    missing = []
    for name, kind, function in _NAMED.findall("\n".join(rows)):
        path = FOLDERS[kind] / name
        text = path.read_text() if path.exists() else ""
        if kind == ".py":
            found = re.search(rf"^def {function}\(", text, re.MULTILINE) is not None
        else:  # made, and used
            found = len(re.findall(rf"\b{function}\b", text)) > 1
        if not found:
            missing.append(f"{name}: {function}")
    assert missing == []
