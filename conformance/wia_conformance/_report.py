"""The report of a run: what was run, where, and what became of each case."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.resources
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from wia_conformance._cases import Case
from wia_conformance._machine import describe_machine, describe_software
from wia_conformance._outcome import FAILURES, RESULTS, Outcome
from wia_conformance._pool import Options
from wia_conformance._version import __version__
from wia_conformance._worker import Ready

__all__ = ["Report", "content_hash"]

_SCHEMA = 1
_MEANING = ("wia.catalog", "wia_conformance")


def content_hash(cases: Sequence[Case]) -> str:
    """A SHA-256 over the cases, and over the sources that say what has to come out of them."""
    digest = hashlib.sha256()
    for case in cases:
        digest.update(repr(vars(case)).encode())
    for package in _MEANING:
        sources = importlib.resources.files(package).iterdir()
        for source in sorted(sources, key=lambda item: item.name):
            if source.name.endswith(".py"):
                digest.update(source.name.encode())
                digest.update(source.read_bytes())
    return digest.hexdigest()


@dataclass(kw_only=True)
class Report:
    """A run. `cases` is the whole profile, `selected` those that were asked for."""

    profile: str
    options: Options
    patterns: Sequence[str]
    cases: Sequence[Case]
    selected: Sequence[Case]
    found: Ready
    outcomes: list[tuple[Case, Outcome]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """The number of cases by result."""
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    seconds: float = 0.0

    def add(self, case: Case, outcome: Outcome) -> None:
        """Takes down what became of a case."""
        self.outcomes.append((case, outcome))
        self.counts[outcome.result] += 1

    def finish(self) -> None:
        """Takes the time, and puts the outcomes in the order of the cases."""
        self.seconds = (datetime.now(UTC) - self.started).total_seconds()
        order = {case.id: number for number, case in enumerate(self.cases)}
        self.outcomes.sort(key=lambda item: order[item[0].id])

    @property
    def complete(self) -> bool:
        """Whether all cases were run that were asked for."""
        return len(self.outcomes) == len(self.selected)

    @property
    def verdict(self) -> str:
        """passed, failed, incomplete, or nothing passed."""
        if any(self.counts[result] for result in FAILURES):
            return "failed"
        if not self.complete:
            return "incomplete"
        return "passed" if self.counts["pass"] else "nothing passed"

    @property
    def failures(self) -> list[tuple[Case, Outcome]]:
        """The cases that failed, crashed or timed out."""
        return [item for item in self.outcomes if item[1].result in FAILURES]

    def table(self) -> dict[tuple[str, str], Counter[str]]:
        """The number of cases by result, for each operation and dtype in their order."""
        table: dict[tuple[str, str], Counter[str]] = {}
        for case, outcome in self.outcomes:
            table.setdefault((case.op, case.dtype), Counter())[outcome.result] += 1
        return table

    @cached_property
    def suite_hash(self) -> str:
        """The content hash of the whole profile."""
        return content_hash(self.cases)

    def as_json(self) -> dict[str, Any]:
        """The report as data. Its keys are described in the manual."""
        found = dataclasses.asdict(self.found)
        library = found.pop("library")
        driver = {
            "name": found.pop("driver"),
            "version": found.pop("driver_version"),
            "vendor": found.pop("vendor"),
        }
        found["name"] = found.pop("device")
        options = dataclasses.asdict(self.options) | {"filter": list(self.patterns)}
        return {
            "schema": _SCHEMA,
            "suite": {
                "version": __version__,
                "profile": self.profile,
                "content_hash": f"sha256:{self.suite_hash}",
                "case_count": len(self.cases),
                "selected_count": len(self.selected),
            },
            "library": {"version": library},
            "driver": driver,
            "device": found,
            "machine": describe_machine(),
            "software": describe_software(),
            "options": options,
            "started": self.started.isoformat(timespec="seconds"),
            "seconds": round(self.seconds, 3),
            "verdict": self.verdict,
            "certification": "not certified",
            "counts": {result: self.counts[result] for result in RESULTS},
            "table": [
                {"op": op, "dtype": dtype} | {result: counts[result] for result in RESULTS}
                for (op, dtype), counts in self.table().items()
            ],
            "outcomes": [
                {
                    "id": case.id,
                    "result": outcome.result,
                    "seconds": round(outcome.seconds, 6),
                    **({"detail": outcome.detail} if outcome.detail else {}),
                }
                for case, outcome in self.outcomes
            ],
        }

    def write(self, folder: Path) -> list[Path]:
        """Writes report.json, report.xml (JUnit) and report.html; returns their paths."""
        from wia_conformance._html import html_page
        from wia_conformance._junit import junit_xml

        folder.mkdir(parents=True, exist_ok=True)
        texts = {
            "report.json": json.dumps(self.as_json(), indent=1) + "\n",
            "report.xml": junit_xml(self),
            "report.html": html_page(self),
        }
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        return [folder / name for name in texts]
