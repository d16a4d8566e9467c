"""Measuring in turns: what is compared runs interleaved, so that a disturbance hits all alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

__all__ = ["Turn", "interleave", "repeated"]

_TURN_NS = 1_000_000
_MAX_REPEATS = 500

# Runs what is measured once, and returns the nanoseconds that count.
Turn = Callable[[], float]


def repeated(call: Callable[[], object], after: Callable[[], object] | None = None) -> Turn:
    """A turn that makes a call often enough for the clock, about a millisecond.

    What after does, waiting for enqueued work, is not counted.
    """

    def run(repeats: int) -> float:
        numbers = range(repeats)
        start = time.perf_counter_ns()
        for _ in numbers:
            call()
        passed = time.perf_counter_ns() - start
        if after is not None:
            after()
        return passed / repeats

    run(1)  # the first call of its kind prepares a kernel
    repeats = int(min(max(_TURN_NS / max(run(3), 1), 1), _MAX_REPEATS))
    return lambda: run(repeats)


def interleave(
    turns: Mapping[str, Turn], rounds: int, step: Callable[[], object]
) -> tuple[dict[str, float], int]:
    """The median of each turn in nanoseconds, and the number of whole rounds.

    Each round begins with another turn; step is called after each. A KeyboardInterrupt ends the
    rounds early, and only whole ones count.
    """
    names = list(turns)
    values: dict[str, list[float]] = {name: [] for name in names}
    done = 0
    try:
        for number in range(rounds):
            shift = number % max(len(names), 1)
            found = {name: turns[name]() for name in names[shift:] + names[:shift]}
            for name, value in found.items():
                values[name].append(value)
            done += 1
            step()
    except KeyboardInterrupt:
        pass
    medians = {name: statistics.median(values[name][:done]) for name in names if done}
    return medians, done
