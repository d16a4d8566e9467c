"""Interleaved measuring in Python, as c/timing.h does it in C, and what samples say.

What is compared runs in turns, in rounds. Every program that measures prints a line of JSON for
each group of things compared, with a number for each round:
{"group": ..., "kernel": ..., "times": {variant: [nanoseconds, ...]}}.
"""

from __future__ import annotations

import json
import os
import statistics
import time
import timeit
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

TURN_NS = 200_000
MAX_REPEATS = 1000
MIN_ROUNDS = 5

Turn = Callable[[], float]
"""Does the work, and returns the nanoseconds of doing it once."""


def interleave(
    turns: Mapping[str, Turn], seconds: float, min_rounds: int = MIN_ROUNDS
) -> dict[str, list[float]]:
    """What the turns return, a value per round; each round begins with another one."""
    names = list(turns)
    values: dict[str, list[float]] = {name: [] for name in names}
    end = time.monotonic() + seconds
    rounds = 0
    while rounds < min_rounds or time.monotonic() < end:
        shift = rounds % len(names)
        for name in names[shift:] + names[:shift]:
            values[name].append(turns[name]())
        rounds += 1
    return values


def statement_turns(texts: Mapping[str, str], variables: dict[str, Any]) -> dict[str, Turn]:
    """A turn for each Python statement, all with the same number of repeats."""
    timers = {name: timeit.Timer(text, globals=variables) for name, text in texts.items()}
    for timer in timers.values():
        timer.timeit(1)  # prepares kernels
    slowest = max(timer.timeit(3) / 3 * 1e9 for timer in timers.values())
    repeats = int(min(max(TURN_NS / slowest, 1), MAX_REPEATS))

    def turn(timer: timeit.Timer) -> Turn:
        return lambda: timer.timeit(repeats) / repeats * 1e9

    return {name: turn(timer) for name, timer in timers.items()}


def measure(
    group: str, kernel: str, turns: Mapping[str, Turn], *, min_rounds: int = MIN_ROUNDS
) -> None:
    """Runs the turns for BENCHMARK_SECONDS (an environment variable; 1) and prints the line."""
    times = interleave(turns, float(os.environ.get("BENCHMARK_SECONDS", "1")), min_rounds)
    print(json.dumps({"group": group, "kernel": kernel, "times": times}), flush=True)


@dataclass(frozen=True)
class Group:
    """The samples of one group: for each variant a time per round."""

    kernel: str
    times: Mapping[str, list[float]]

    @property
    def round_count(self) -> int:
        """How many rounds were run."""
        return len(next(iter(self.times.values())))

    def joined(self, later: Group) -> Group:
        """These rounds and those of a later run."""
        times = {name: [*values, *later.times[name]] for name, values in self.times.items()}
        return Group(self.kernel, times)

    def calmest(self, share: float) -> list[int]:
        """The rounds that were least disturbed: that share of them, at least one.

        A round is disturbed by how many times its median each variant took, summed up, so that
        what is slow by itself counts no more than what is fast.
        """
        medians = {name: statistics.median(values) or 1.0 for name, values in self.times.items()}

        def disturbance(number: int) -> float:
            return sum(values[number] / medians[name] for name, values in self.times.items())

        order = sorted(range(self.round_count), key=disturbance)
        return order[: max(1, round(self.round_count * share))]
