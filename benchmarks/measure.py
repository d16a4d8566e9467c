"""Interleaved measuring: what is compared runs in turns, in rounds."""

from __future__ import annotations

import statistics
import subprocess
import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def interleave(turns: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Median per name of what its turns return.

    In each round every name has one turn, beginning with another one each time.
    """
    names = list(turns)
    values: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            values[name].append(turns[name]())
    return {name: statistics.median(values[name]) for name in names}


def statements(
    texts: Mapping[str, str], variables: dict[str, Any], *, rounds: int, repeats: int
) -> dict[str, float]:
    """Median nanoseconds of one run of each Python statement."""

    def turn(text: str) -> Callable[[], float]:
        timer = timeit.Timer(text, globals=variables)
        timer.timeit(repeats)
        return lambda: timer.timeit(repeats) / repeats * 1e9

    return interleave({name: turn(text) for name, text in texts.items()}, rounds)


def first_line_ms(command: Sequence[str], environment: Mapping[str, str]) -> tuple[float, str]:
    """Milliseconds from starting a program to its first line, and that line.

    Raises RuntimeError with what the program wrote when it fails.
    """
    start = time.perf_counter_ns()
    with subprocess.Popen(
        command, env=dict(environment), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        passed = (time.perf_counter_ns() - start) / 1e6
        errors = process.stderr.read()
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} gave exit code {process.returncode}: {errors}")
    return passed, line.strip()
