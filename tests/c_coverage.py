"""Tells how much of hal/ the C tests and fuzzers run: `tests/c_coverage.py`.

Builds them with gcc's counters, runs them all, and prints a line per source file and the total.
hal/bridge, which needs Python, isn't in it; nor is what a test runs in a process that ends without
exit(), as those do that show a crash.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "coverage"
# Threads count the same lines; without inlining each line is where the source has it.
FLAGS = "--coverage -fprofile-update=atomic -fno-inline"

Counts = dict[int, int]  # of a file: line, how often it ran


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, run, and print the table."""
    summary = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("--missed", metavar="FILE", help="print the lines of it that never ran")
    parser.add_argument("--keep", action="store_true", help="use the counts of the last run")
    options = parser.parse_args(arguments)
    if not options.keep:
        build_and_run()
    files = read_counts()
    if options.missed:
        missed = [str(line) for line, count in sorted(files[options.missed].items()) if not count]
        print("\n".join(missed))
    else:
        print("\n".join(table(files)))
    return 0


def build_and_run() -> None:
    """Build the tests anew where needed, and run them from counts of zero."""
    python = f"-DPython_EXECUTABLE={sys.executable}"
    given = ["-DWIA_BUILD_TESTS=ON", "-DWIA_BUILD_PYTHON=OFF", "-DCMAKE_BUILD_TYPE=Debug"]
    run("cmake", "-S", ROOT, "-B", BUILD, "-GNinja", python, *given, f"-DCMAKE_C_FLAGS={FLAGS}")
    run("cmake", "--build", BUILD, "--parallel", "2")
    for path in BUILD.rglob("*.gcda"):
        path.unlink()
    run("ctest", "--test-dir", BUILD, "--output-on-failure", "--no-tests=error", "-j2")


def run(*command: str | Path) -> str:
    """Run a command that has to succeed; return what it printed."""
    result = subprocess.run(
        list(map(str, command)),
        cwd=BUILD if BUILD.is_dir() else ROOT,
        text=True,
        capture_output=True,  # apart: gcov warns on stderr, amid its reports
        check=False,
    )
    if result.returncode:
        print(result.stdout, result.stderr)
        sys.exit(f"{command[0]} failed")
    return result.stdout


def read_counts() -> dict[str, Counts]:
    """The counts of each file of hal/, those of all programs it is in added up."""
    data = sorted(BUILD.rglob("*.gcda"))
    if not data:
        sys.exit(f"There are no counts in {BUILD.relative_to(ROOT)}; run without --keep first.")
    files: dict[str, Counts] = defaultdict(lambda: defaultdict(int))
    for report in gcov(data):
        for file in report["files"]:
            path = (BUILD / file["file"]).resolve()
            if path.parent != ROOT / "hal" or path.suffix != ".c":
                continue
            for line in file["lines"]:
                files[path.name][line["line_number"]] += line["count"]
    return files


def gcov(data: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """What gcov says of files of counts, one report each."""
    for line in run("gcov", "--json-format", "--stdout", *data).splitlines():
        if line.startswith("{"):
            yield json.loads(line)


def table(files: Mapping[str, Counts]) -> Iterator[str]:
    """The lines of the report, the least covered file first."""
    shares = {name: (sum(map(bool, lines.values())), len(lines)) for name, lines in files.items()}
    for name, (ran, count) in sorted(shares.items(), key=lambda item: item[1][0] / item[1][1]):
        yield f"{100 * ran / count:5.1f} %  {ran:5} of {count:5}  {name}"
    ran = sum(share[0] for share in shares.values())
    count = sum(share[1] for share in shares.values())
    yield f"{100 * ran / count:5.1f} %  {ran:5} of {count:5}  all of hal/"


if __name__ == "__main__":
    sys.exit(main())
