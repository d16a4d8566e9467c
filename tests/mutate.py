"""Shows that tests fail without the guard that they are for: `tests/mutate.py [WORD ...]`.

mutants.toml lists guards of the library, one change of the source each that takes one away, and the
test that has to fail then: a program of tests/c or tests/fuzz, or "test_x.py::test_y" of
tests/python for what is between the library and Python. In a copy of the tree each change is made,
built and undone again. A change that no longer fits the source, and a test that passes in spite of
it, is an error.
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
    "wia_drivers.d",
    "examples/native_driver",
    "tests/c",
    "tests/fuzz",
)
TIMEOUT_S = 30  # of a test
FIRST_TIMEOUT_S = 300  # of its first run, which may compile what later ones find in a cache


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

    @property
    def build(self) -> tuple[bool, str]:
        """Whether its test is one in Python, and the sanitizer."""
        return ".py::" in self.test, self.sanitizer


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
        for kind in sorted({mutant.build for mutant in chosen}):
            group = [mutant for mutant in chosen if mutant.build == kind]
            failed += try_group(Build(tree, *kind), group)
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


@dataclass(frozen=True)
class Build:
    """A build of the copy, and how its tests run: programs in C, or pytest on the package."""

    tree: Path
    python: bool
    sanitizer: str

    @property
    def folder(self) -> Path:
        """Where it is built."""
        kind = "python" if self.python else self.sanitizer.replace(",", "-")
        return self.tree.parent / f"build-{kind}"

    @property
    def site(self) -> Path:
        """Where its package is installed, before that of this interpreter on the path."""
        return self.tree.parent / "site"

    def configure(self) -> None:
        """Make the build ready; the Python side of the package needs no building."""
        wanted = "-DWIA_BUILD_PYTHON=ON" if self.python else "-DWIA_BUILD_TESTS=ON"
        given = [f"-DWIA_BUILD_{'TESTS' if self.python else 'PYTHON'}=OFF", wanted]
        given += [f"-DPython_EXECUTABLE={sys.executable}", f"-DWIA_SANITIZE={self.sanitizer}"]
        run("cmake", "-S", self.tree, "-B", self.folder, "-GNinja", *given)
        if self.python:
            shutil.copytree(self.tree / "wia", self.site / "wia")
            shutil.copytree(self.tree / "wia_drivers.d", self.site / "wia_drivers.d")

    def compile(self, tests: Sequence[str]) -> None:
        """Build test programs, or the package."""
        targets = ["wia_core", "wia_bridge"] if self.python else tests
        run("cmake", "--build", self.folder, "--parallel", "2", "--target", *targets)
        if self.python:
            shutil.copy(self.folder / "generated" / "_operations.py", self.site / "wia")
            run("cmake", "--install", self.folder, "--prefix", self.site / "wia")

    def passes(self, test: str, timeout_s: int = TIMEOUT_S) -> bool:
        """Run a test; a crash and a time-out are failures."""
        command = ["setarch", os.uname().machine, "-R"]
        if self.python:
            pytest = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
            command += [*pytest, f"python/{test}"]
        else:
            kind = "fuzz" if test.startswith("fuzz_") else "c"
            command += [str(self.folder / "tests" / kind / test)]
        with subprocess.Popen(
            command,
            cwd=ROOT / "tests",
            env={**os.environ, "PYTHONPATH": str(self.site)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so that its children end with it
        ) as process:
            try:
                return process.wait(timeout_s) == 0
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return False


def try_group(build: Build, mutants: Sequence[Mutant]) -> int:
    """Try mutants of one kind of build; return how many are not as they should be."""
    tests = sorted({mutant.test for mutant in mutants})
    build.configure()
    build.compile(tests)
    broken = {test for test in tests if not build.passes(test, FIRST_TIMEOUT_S)}
    failed = 0
    for mutant in mutants:
        if mutant.test in broken:
            failed += 1
            print(f"{describe(mutant)} | NOT TRIED: the test fails without any change", flush=True)
            continue
        start = time.monotonic()
        try:
            verdict = try_mutant(build, mutant)
        except MutateError as error:
            verdict = str(error)
        failed += verdict != "shown"
        seconds = time.monotonic() - start
        print(f"{describe(mutant)} | {verdict} ({seconds:.1f} s)", flush=True)
    return failed


def try_mutant(build: Build, mutant: Mutant) -> str:
    """Make the change, see the test fail, and undo the change."""
    path = build.tree / mutant.file
    before = path.read_text(encoding="utf-8")
    path.write_text(change(before, mutant), encoding="utf-8")
    try:
        build.compile([mutant.test])
        caught = any(not build.passes(mutant.test) for _ in range(mutant.runs))
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
