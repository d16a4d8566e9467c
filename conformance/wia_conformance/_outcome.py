"""What became of a case."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FAILURES", "RESULTS", "Outcome"]

RESULTS: dict[str, str] = {
    "pass": "The result is what the catalog says, and nothing else was written to.",
    "fail": "The result is wrong, an error came that shouldn't, or other memory was written to.",
    "crash": "The process ended in the middle of the case.",
    "timeout": "The case took longer than --timeout seconds.",
    "unsupported": "The driver says, with a reason, that it doesn't do this.",
}
FAILURES = ("fail", "crash", "timeout")


class Outcome(NamedTuple):
    """The result of one case: a key of RESULTS, what there is to say about it, and its time."""

    result: str
    detail: str = ""
    seconds: float = 0.0
