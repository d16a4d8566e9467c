"""What a run has found so far, on disk: one that was interrupted goes on from there."""

from __future__ import annotations

import json
from pathlib import Path

from wia_conformance._cases import Case
from wia_conformance._outcome import Outcome

__all__ = ["Facts", "Journal", "read_journal"]

_NAME = "progress.jsonl"

Facts = dict[str, str]
"""What has to be the same for outcomes of two runs to be of one report."""


def read_journal(folder: Path) -> tuple[Facts, dict[str, Outcome]]:
    """The facts of the run that was interrupted, and its outcomes by id; both empty if none was.

    The last line may have been cut off: its case is run again.
    """
    try:
        text = (folder / _NAME).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}, {}
    lines = text[: text.rfind("\n") + 1].splitlines()
    if not lines:
        return {}, {}
    facts: Facts = json.loads(lines[0])
    rows = map(json.loads, lines[1:])
    return facts, {name: Outcome(result, detail, time) for name, result, detail, time in rows}


class Journal:
    """The file, as it is written: the facts, then an outcome a line."""

    def __init__(self, folder: Path, facts: Facts, *, go_on: bool) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / _NAME
        if go_on:
            text = self._path.read_text(encoding="utf-8")
            self._path.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")
        self._file = self._path.open("a" if go_on else "w", encoding="utf-8", buffering=1)
        if not go_on:
            self._file.write(json.dumps(facts) + "\n")

    def add(self, case: Case, outcome: Outcome) -> None:
        """Takes down what became of a case."""
        self._file.write(json.dumps([case.id, *outcome]) + "\n")

    def remove(self) -> None:
        """Deletes the file: the run is over, and the report has it all."""
        self._path.unlink()

    def close(self) -> None:
        """Closes the file, which stays."""
        self._file.close()
