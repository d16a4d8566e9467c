"""Shows that tests fail without the guard that they are for: `tests/mutate.py [WORD ...]`.

mutants.toml lists guards of the library, one change of the source each that takes one away, and the
test that has to fail then. In a copy of the tree each change is made, built and undone again. A
change that no longer fits the source, and a test that passes in spite of it, is an error.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = (
    "CMakeLists.txt",
    "cmake",
    "hal",
    "include",
    "wia",
    "examples/native_driver",
    "tests/c",
    "tests/fuzz",
)
TIMEOUT_S = 30


@dataclass(frozen=True)
class Mutant:
    """One guard, and how to take it away."""

    scenario: str  # of the conformance design, or a word for what is none of them
    guard: str
    file: str
    test: str
    old: str  # any white space in it stands for any in the source
    new: str
    within: str = ""  # the function in which to look; "": the whole file
    sanitizer: str = ""
    runs: int = 1  # of the test, at least one of which fails: for races


class MutateError(Exception):
    """What is wrong with a mutant."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the chosen mutants and print the table of guards."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", help="only mutants whose guard, file or test has one")
    parser.add_argument("--list", action="store_true", help="print the table and try nothing")
    options = parser.parse_args(arguments)
    chosen = [mutant for mutant in read_mutants() if is_chosen(mutant, options.words)]
    if options.list:
        for mutant in chosen:
            print(describe(mutant))
        return 0
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = copy_tree(Path(folder))
        for sanitizer in sorted({mutant.sanitizer for mutant in chosen}):
            group = [mutant for mutant in chosen if mutant.sanitizer == sanitizer]
            failed += try_group(tree, sanitizer, group)
    print(f"{len(chosen) - failed} of {len(chosen)} guards shown")
    return 1 if failed else 0


def read_mutants() -> list[Mutant]:
    """Return all that are listed."""
    text = (ROOT / "tests" / "mutants.toml").read_text(encoding="utf-8")
    return [Mutant(**entry) for entry in tomllib.loads(text)["mutant"]]


def is_chosen(mutant: Mutant, words: Sequence[str]) -> bool:
    """Tell whether a mutant has one of the words, or there are none."""
    text = f"{mutant.guard} {mutant.file} {mutant.test}"
    return not words or any(word in text for word in words)


def describe(mutant: Mutant) -> str:
    """Make the line of a mutant in the table."""
    place = f"{mutant.file}, {mutant.within}" if mutant.within else mutant.file
    return f"{mutant.scenario:>8} | {mutant.guard} | {place} | {mutant.test}"


def copy_tree(folder: Path) -> Path:
    """Copy what the C tests are built from."""
    tree = folder / "tree"
    tree.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, tree / part)
        else:
            shutil.copy(ROOT / part, tree / part)
    return tree


def try_group(tree: Path, sanitizer: str, mutants: Sequence[Mutant]) -> int:
    """Try mutants of one kind of build; return how many are not as they should be."""
    build = tree.parent / f"build-{sanitizer.replace(',', '-')}"
    tests = sorted({mutant.test for mutant in mutants})
    python = f"-DPython_EXECUTABLE={sys.executable}"
    given = ["-DWIA_BUILD_TESTS=ON", "-DWIA_BUILD_PYTHON=OFF", f"-DWIA_SANITIZE={sanitizer}"]
    run("cmake", "-S", tree, "-B", build, "-GNinja", python, *given)
    compile_tests(build, tests)
    for test in tests:
        if not passes(build, test):
            print(f"{test} fails without any change")
            return len(mutants)
    failed = 0
    for mutant in mutants:
        start = time.monotonic()
        try:
            verdict = try_mutant(tree, build, mutant)
        except MutateError as error:
            verdict = str(error)
        failed += verdict != "shown"
        seconds = time.monotonic() - start
        print(f"{describe(mutant)} | {verdict} ({seconds:.1f} s)", flush=True)
    return failed


def try_mutant(tree: Path, build: Path, mutant: Mutant) -> str:
    """Make the change, see the test fail, and undo the change."""
    path = tree / mutant.file
    before = path.read_text(encoding="utf-8")
    path.write_text(change(before, mutant), encoding="utf-8")
    try:
        compile_tests(build, [mutant.test])
        caught = any(not passes(build, mutant.test) for _ in range(mutant.runs))
        return "shown" if caught else "NOT SHOWN: the test passes without it"
    finally:
        path.write_text(before, encoding="utf-8")


def change(source: str, mutant: Mutant) -> str:
    """Replace the one place that fits."""
    begin, end = 0, len(source)
    if mutant.within:
        found = re.search(rf"^\w[^\n;]*\b{mutant.within}\([^;]*?\{{$", source, re.MULTILINE)
        if found is None:
            raise MutateError(f"there is no function {mutant.within} in {mutant.file}")
        begin = found.start()
        end = source.index("\n}\n", begin) + 1
    pattern = r"\s+".join(map(re.escape, mutant.old.split()))
    places = list(re.finditer(pattern, source[begin:end]))
    if len(places) != 1:
        raise MutateError(f"{len(places)} places fit {mutant.old!r}; expected 1")
    place = places[0]
    return source[: begin + place.start()] + mutant.new + source[begin + place.end() :]


def compile_tests(build: Path, tests: Sequence[str]) -> None:
    """Build test programs."""
    run("cmake", "--build", build, "--parallel", "2", "--target", *tests)


def passes(build: Path, test: str) -> bool:
    """Run a test program; a crash and a time-out are failures."""
    folder = "fuzz" if test.startswith("fuzz_") else "c"
    command = ["setarch", os.uname().machine, "-R", str(build / "tests" / folder / test)]
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # so that its children end with it
    ) as process:
        try:
            return process.wait(TIMEOUT_S) == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return False


def run(*command: str | Path) -> None:
    """Run a command that has to succeed."""
    line = list(map(str, command))
    result = subprocess.run(
        line, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if result.returncode != 0:
        raise MutateError(f"$ {' '.join(line)}\n{result.stdout}")


if __name__ == "__main__":
    sys.exit(main())
