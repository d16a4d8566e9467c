"""Feeds the library what nobody would write: `python tests/fuzz [NAME ...] --seconds 60 --seed N`.

Every case is made from its seed alone, and the next case has the next seed. The last "case N" that
is shown of a run that failed is played again by `--seed N --cases 1`. Names: calls (under the
address and the undefined behaviour sanitizers), threads (the same calls under the thread
sanitizer), manifests, entry_points, dlpack. Without a name: all of them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
HANG_S = 300  # more than a case ever takes
SHOWN = 60  # lines of what failed


@dataclass(frozen=True)
class Fuzzer:
    """A program in C, or a script and how many cases a process of it runs."""

    target: str
    sanitizer: str = ""
    batch: int = 0


FUZZERS = {
    "calls": Fuzzer("fuzz_calls", "address,undefined"),
    "threads": Fuzzer("fuzz_calls", "thread"),
    "manifests": Fuzzer("fuzz_manifests", "address,undefined"),
    "entry_points": Fuzzer("entry_points.py", batch=1),
    "dlpack": Fuzzer("dlpack.py", batch=200),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen fuzzers one after the other; 1 if one found something."""
    summary = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python tests/fuzz", description=summary)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help=f"of {', '.join(FUZZERS)}; default: all")
    add("--seed", type=int, help="of the first case; default: another one each time")
    add("--seconds", type=int, default=60, help="for each; default: 60")
    add("--cases", type=int, help="so many for each, instead of seconds")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in FUZZERS]
    if unknown:
        parser.error(f"there is no fuzzer {', '.join(unknown)}; there are {', '.join(FUZZERS)}")
    seed = int(time.time()) if options.seed is None else options.seed
    failed = []
    for name in options.names or FUZZERS:
        fuzzer = FUZZERS[name]
        print(f"{name}: seed {seed}: ", end="", flush=True)
        start = time.monotonic()
        run = run_program if fuzzer.sanitizer else run_script
        problem = run(fuzzer, seed, options.seconds, options.cases)
        print(
            f"{'FAILED' if problem else 'passed'} in {time.monotonic() - start:.1f} s", flush=True
        )
        if problem:
            failed.append(name)
            print(problem)
            print(f"play it again: python tests/fuzz {name} --seed {last_case(problem)} --cases 1")
    return 1 if failed else 0


def run_program(fuzzer: Fuzzer, seed: int, seconds: int, cases: int | None) -> str:
    """Build a program with its sanitizer and run it; return "" or the end of what it printed."""
    build = ROOT / "build" / f"fuzz-{fuzzer.sanitizer.partition(',')[0]}"
    given = ["-DWIA_BUILD_TESTS=ON", "-DWIA_BUILD_PYTHON=OFF", f"-DWIA_SANITIZE={fuzzer.sanitizer}"]
    python = f"-DPython_EXECUTABLE={sys.executable}"
    for command in (
        ["cmake", "-S", str(ROOT), "-B", str(build), "-GNinja", python, *given],
        ["cmake", "--build", str(build), "--parallel", "2", "--target", fuzzer.target],
    ):
        problem = call(command, HANG_S)
        if problem:
            return problem
    program = [str(build / "tests" / "fuzz" / fuzzer.target), "--seed", str(seed)]
    limit = ["--cases", str(cases)] if cases else ["--seconds", str(seconds)]
    # The thread sanitizer of gcc 12 stops at addresses that it doesn't expect.
    fixed = ["setarch", os.uname().machine, "-R"]
    if subprocess.run([*fixed, "true"], capture_output=True, check=False).returncode:
        fixed = []
    return call([*fixed, *program, *limit], HANG_S + (HANG_S * cases if cases else seconds))


def run_script(fuzzer: Fuzzer, seed: int, seconds: int, cases: int | None) -> str:
    """Run a script in process after process; return "" or the end of what the last one printed."""
    end = time.monotonic() + seconds
    first = seed
    while first < seed + cases if cases else time.monotonic() < end:
        count = min(fuzzer.batch, seed + cases - first) if cases else fuzzer.batch
        script = [sys.executable, str(FOLDER / fuzzer.target), str(first), str(count)]
        problem = call(script, HANG_S)
        if problem:
            return problem
        first += count
    return ""


def call(command: Sequence[str], timeout_s: int) -> str:
    """Run a command; return "" or the end of what it printed and how it ended."""
    environment = os.environ | {"WIA_LOG": "none", "PYTHONFAULTHANDLER": "1"}
    try:
        result = subprocess.run(
            command,
            cwd=ROOT / "tests",  # away from the root, where `wia` would be the sources
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return tail(error.stdout or b"") + f"\nit was not through after {timeout_s} s"
    if result.returncode == 0:
        return ""
    return tail(result.stdout) + f"\n$ {' '.join(command)}\nended with {result.returncode}"


def tail(output: bytes) -> str:
    """The last case that is named, and the last lines."""
    lines = output.decode("utf-8", "backslashreplace").splitlines()
    cases = [line for line in lines if line.startswith("case ")]
    others = [line for line in lines if not line.startswith("case ")]
    return "\n".join([*others[-SHOWN:], *cases[-1:]])


def last_case(problem: str) -> str:
    """The seed of the case that failed."""
    cases = [line for line in problem.splitlines() if line.startswith("case ")]
    return cases[-1].removeprefix("case ") if cases else "N"


if __name__ == "__main__":
    sys.exit(main())
