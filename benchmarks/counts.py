"""Counts instructions of calls with callgrind: `python benchmarks/counts.py`.

Unlike times, counts are the same each time, so a test may look at them: --check fails for a call
that takes more than was recorded, and for a layer that costs anything once it is off again.
--record writes the counts down, in the table that the manual shows. They are those of the caller's
thread, and of the compiler that the table names.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from run import build

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / "docs" / "benchmarks" / "counts.txt"
DEVICE = "sample:0"
MORE = 1.03
"""A count may be that many times the recorded one."""


class Row(NamedTuple):
    """A case of counts.c, beside another one."""

    case: str
    what: str
    peer: str
    same: bool = False  # it has to take exactly as many as its peer


ROWS = (
    Row("direct", "the kernel alone, 8 elements added", ""),
    Row("plan", "`wia_execute_plan`", "direct"),
    Row("call", "`wia_add`", "direct"),
    Row("execute", "`wia_execute`", "direct"),
    Row("node", "a node of a launched graph of 64", "direct"),
    Row("trace", "`wia_execute_plan`, traced: 2 events", "plan"),
    Row("trace off", "the same, no longer traced", "plan", same=True),
    Row("validate", "`wia_execute_plan`, layer `validate` on", "plan"),
    Row("validate off", "the same, off again", "plan", same=True),
    Row("catalog", "`wia_execute` of `add`, registered kernel that does nothing", ""),
    Row("custom", "the same of a registered operation", "catalog"),
    Row("catalog plan", "`wia_execute_plan` of `add`, the same kernel", ""),
    Row("custom plan", "the same of a registered operation", "catalog plan"),
    Row("malloc", "`malloc` and `free` of 1 MiB", ""),
    Row("allocate", "`wia_malloc` and `wia_free` of 1 MiB", "malloc"),
    Row("tensor", "a tensor of 8 elements from the pool, made and destroyed", "malloc"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    folder = ROOT / "build" / "benchmarks"
    parser.add_argument("--build", type=Path, default=folder, help="where C programs are built")
    parser.add_argument("--check", action="store_true", help="compare with the recorded counts")
    parser.add_argument("--record", action="store_true", help=f"write {RECORDED.name} anew")
    options = parser.parse_args(arguments)
    if shutil.which("valgrind") is None:
        parser.error("there is no valgrind to count with: apt-get install valgrind")
    build(options.build)
    counts = {row.case: count(options.build, row.case) for row in ROWS}
    text = table(counts)
    print(text)
    if options.record:
        RECORDED.write_text(text + "\n", encoding="utf-8")
    recorded = RECORDED.read_text(encoding="utf-8") if options.check else ""
    problems = compare(counts, recorded)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def count(folder: Path, case: str) -> float:
    """The instructions of one call. Raises RuntimeError with what failed."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("WIA_")}
    environment |= {"WIA_DRIVER_PATH": str(folder / "driver"), "WIA_LOG": "error"}
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command = [*tool, "--toggle-collect=counted", str(folder / "counts"), DEVICE, case]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    total = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not total:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return int(total[1]) / int(done.stdout)


def table(counts: Mapping[str, float]) -> str:
    """The counts as Markdown."""
    lines = ["| what | instructions | beside | more | ratio |", "| --- | --- | --- | --- | --- |"]
    names = {row.case: row.what for row in ROWS}
    for row in ROWS:
        own = counts[row.case]
        beside = ("—", "", "")
        if row.peer:
            peer = counts[row.peer]
            beside = (names[row.peer], f"{own - peer:+.1f}", f"{own / peer:.3g} x")
        lines.append(f"| {row.what} | {own:.1f} | {' | '.join(beside)} |")
    return "\n".join([*lines, "", f"Counted with {compiler()}."])


def compiler() -> str:
    """The compiler's own words."""
    command = ["cc", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0]


def compare(counts: Mapping[str, float], recorded: str) -> list[str]:
    """What is wrong with counts, beside a recorded table ("": none)."""
    problems = [
        f"{row.what}: {counts[row.case]:.1f} instructions, and {counts[row.peer]:.1f} without: a "
        "layer that is off must cost nothing."
        for row in ROWS
        if row.same and round(counts[row.case], 1) != round(counts[row.peer], 1)
    ]
    if not recorded:
        return problems
    before = dict(
        zip((row.case for row in ROWS), re.findall(r"\| (\d+\.\d) \|", recorded), strict=True)
    )
    for row in ROWS:
        own, limit = counts[row.case], float(before[row.case]) * MORE
        if own > limit:
            problems.append(
                f"{row.case} ({row.what}) takes {own:.1f} instructions; recorded are "
                f"{before[row.case]} ({recorded.splitlines()[-1]}). Make it cheaper, or, if it is "
                "meant or the compiler another one: python benchmarks/counts.py --record"
            )
    return problems


if __name__ == "__main__":
    sys.exit(main())
