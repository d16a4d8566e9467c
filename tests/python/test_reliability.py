"""The page that says which test shows what: all of them are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "reliability.md"
FOLDERS = {".c": ROOT / "tests" / "c", ".py": ROOT / "tests" / "python"}
HEADERS = ROOT / "include" / "wia"
# They look up what is written down, and never take memory.
LOOKUPS = {
    "wia_get_dtype_bits",
    "wia_get_dtype_name",
    "wia_get_last_error",
    "wia_get_status_name",
    "wia_get_status_text",
    "wia_get_version",
}
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


def test_memory_fails_in_every_function() -> None:
    """Each that is no operation is called by the tests in which the n-th allocation fails."""
    declared = re.compile(r"^WIA_API [^;(]*?\b(wia_\w+)\(", re.MULTILINE)
    functions = {
        name for path in HEADERS.glob("*.h") for name in declared.findall(path.read_text())
    }
    assert len(functions) > 100
    text = "".join(path.read_text() for path in FOLDERS[".c"].glob("test_failing*.c"))
    text += (FOLDERS[".c"] / "failing_each.h").read_text()
    called = set(re.findall(r"\bwia_\w+\b", text))
    assert functions - called - LOOKUPS == set()
    assert functions >= LOOKUPS
