"""Runs the checks and tests, one step after the other: `./run-tests [STEP ...]`.

All steps run, also after a failure; the Python tests come last. What a step prints is shown when it
fails. Exit code 0 means that every step passed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
BUILD = ROOT / "build"
MAX_LINES = 400
SOURCES = {".c", ".h", ".py", ".pyi", ".md", ".rst", ".sh", ".cmake", ".toml", ".txt", ".yaml"}
PYTHON_PACKAGES = (
    "wia",
    "wia_command",
    "wia_reference",
    "wia_null",
    "wia_npu",
    "wia_emulator",
    "wia_conformance",
)

# C tests that break the rules on purpose, so that a finding is no error there.
RACING_TESTS = ("core_event", "core_execute", "core_profile", "core_races", "core_threads")
# Python tests of what layers look at: streams, memory, plans, ends of processes.
LAYERED_TESTS = (
    "test_dlpack",
    "test_exit",
    "test_fork",
    "test_groups",
    "test_plans",
    "test_profile",
    "test_stream_functions",
    "test_streams",
    "test_tensors",
    "test_views",
)

Step = Callable[[], None]


class StepError(Exception):
    """A step failed; the text says why."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen steps and tell which ones failed."""
    parser = argparse.ArgumentParser(prog="run-tests", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"of {', '.join(STEPS | EXTRA)}")
    parser.add_argument("--full", action="store_true", help=f"also {', '.join(EXTRA)}")
    options = parser.parse_args(arguments)
    known = STEPS | EXTRA
    unknown = [name for name in options.steps if name not in known]
    if unknown:
        parser.error(f"there is no step {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = options.steps or [*(EXTRA if options.full else ()), *STEPS]

    BUILD.mkdir(exist_ok=True)
    failed = []
    for name in chosen:
        start = time.monotonic()
        print(f"{name}: ", end="" if name not in LIVE else "\n", flush=True)
        try:
            known[name]()
            if name not in LIVE:  # they end with a line of their own
                print(f"passed in {time.monotonic() - start:.1f} s")
        except StepError as error:
            failed.append(name)
            print(f"FAILED in {time.monotonic() - start:.1f} s\n{error}")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


class Command:
    """A command and where it runs."""

    def __init__(self, *words: str | Path, cwd: Path = ROOT) -> None:
        self.words = list(map(str, words))
        self.cwd = cwd


def run_all(*commands: Command) -> None:
    """Run commands, also after one that fails; raise StepError with what the failing ones said."""
    problems = []
    for command in commands:
        try:
            run(*command.words, cwd=command.cwd)
        except StepError as error:
            problems.append(str(error))
    if problems:
        raise StepError("\n".join(problems))


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command and return what it printed; raise StepError if it fails."""
    result = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if result.returncode != 0:
        line = " ".join(map(str, command))
        line = line if len(line) < 1000 else f"{line[:500]} ... {line[-200:]}"
        raise StepError(f"$ {line}\n{result.stdout}")
    return result.stdout


def tracked(*suffixes: str, under: Sequence[str] = (".",)) -> Iterator[Path]:
    """Yield the files with one of these suffixes that git knows, or would add, in some folders."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *under]
    for name in sorted(set(filter(None, run(*command).split("\0")))):
        path = ROOT / name
        if path.suffix in suffixes and path.is_file():
            yield path


def check_lengths() -> None:
    """No source file has more than MAX_LINES lines."""
    long = []
    for path in tracked(*SOURCES):
        if path.is_relative_to(ROOT / "tests" / "golden") or path.name == "mutants.toml":
            continue  # data
        count = len(path.read_text(encoding="utf-8").splitlines())
        if count > MAX_LINES:
            long.append(f"{path.relative_to(ROOT)}: {count} lines; at most {MAX_LINES}: split it")
    if long:
        raise StepError("\n".join(long))


def check_c_format() -> None:
    """All C files are as clang-format writes them."""
    run(BIN / "clang-format", "--dry-run", "-Werror", *tracked(".c", ".h"))


def check_python() -> None:
    """Ruff: rules and format."""
    run_all(
        Command(BIN / "ruff", "check", "."),
        Command(BIN / "ruff", "format", "--check", "."),
    )


def check_types() -> None:
    """Strict mypy on the installed packages (parts of them are generated) and on all else."""
    packages = [word for name in PYTHON_PACKAGES for word in ("-p", name)]
    check: list[str | Path] = [BIN / "mypy", f"--config-file={ROOT / 'pyproject.toml'}"]
    check.append(f"--cache-dir={BUILD / 'mypy'}")
    programs = tracked(".py", under=["benchmarks", "examples", "tests"])
    tools = tracked(".py", under=[".ci", "docs"])
    # The generator sees the catalog as a package of its own, as when it runs.
    with_catalog = ["env", "MYPYPATH=../wia", *check]
    run_all(
        # Away from the root, where `wia` would be the sources without the generated parts.
        Command(*check, *packages, cwd=BUILD),
        Command(*check, *programs, cwd=BUILD),
        Command(*check, *tools, cwd=BUILD),
        Command(*with_catalog, "generate.py", "generator", "bridge", cwd=ROOT / "hal"),
    )


def c_tests(name: str, *options: str) -> Step:
    """Make a step that builds and runs the C tests with these CMake options."""

    def step() -> None:
        build = BUILD / name
        python = f"-DPython_EXECUTABLE={sys.executable}"
        given = ["-DWIA_BUILD_TESTS=ON", "-DWIA_WERROR=ON", *options]
        run("cmake", "-S", ROOT, "-B", build, "-GNinja", python, *given)
        run("cmake", "--build", build, "--parallel", "2")
        ctest = [
            "ctest",
            "--test-dir",
            str(build),
            "--output-on-failure",
            "--no-tests=error",
            "-j2",
        ]
        run(*fixed_addresses(), *ctest)

    return step


def fixed_addresses() -> list[str]:
    """Return a prefix for commands that switches address randomisation off, where that is allowed.

    The thread sanitizer of gcc 12 stops at addresses that it doesn't expect.
    """
    prefix = ["setarch", os.uname().machine, "-R"]
    allowed = subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
    return prefix if allowed else []


def build_docs() -> None:
    """Sphinx, with warnings as errors."""
    options = ["-W", "--keep-going", "-q", "-j2", "-b", "html"]
    run(BIN / "sphinx-build", *options, "docs", BUILD / "html")


def python_tests() -> None:
    """Run pytest, its output shown as it comes."""
    # Away from the root, so that `wia` is the installed package in whatever a test starts.
    pytest = [str(BIN / "pytest"), "-n", "2", "--dist", "loadfile", "python"]
    if subprocess.run(pytest, cwd=ROOT / "tests", check=False).returncode != 0:
        raise StepError("pytest failed: see above")


def install_fresh(*options: str) -> Step:
    """Make a step that installs into a new environment and runs the Python program there."""

    def step() -> None:
        with tempfile.TemporaryDirectory() as folder:
            run(sys.executable, "-m", "venv", folder)
            python = Path(folder, "bin", "python")
            run(python, "-m", "pip", "install", "-q", *options)
            run(python, ROOT / "examples" / "digits" / "digits.py", "reference:0", cwd=Path(folder))
            build = Path(folder, "digits")
            prefix = run(Path(folder, "bin", "wia-config"), "--cmake", cwd=Path(folder)).strip()
            run("cmake", "-S", "examples/digits", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
            run("cmake", "--build", build)
            run(build / "digits", "reference:0", cwd=Path(folder))

    return step


def retrain() -> None:
    """Train the digits network again, in numpy and on devices; each accuracy is at least 97 %."""
    devices = ("reference:0", "npu:0", "emulator:0")
    with tempfile.TemporaryDirectory() as folder:
        for options in (
            ["--output", folder],
            *(["--device", device, "--epochs", "30"] for device in devices),
        ):
            text = run(sys.executable, "examples/digits/train.py", *options)
            line = next(line for line in text.splitlines() if line.startswith("held-out"))
            if float(line.split()[-1].rstrip("%")) < 97:
                raise StepError(text)


def conformance() -> None:
    """Run the whole suite on the drivers of this repository; the reports stay in the build tree."""
    for device in ("reference:0", "null:0", "npu:0", "emulator:0"):
        report = BUILD / "conformance" / device.partition(":")[0]
        options = ["--device", device, "--report", str(report), "--jobs", "2"]
        run(BIN / "wia-conformance", "run", *options, cwd=BUILD)


def layers() -> None:
    """Run tests of C, Python and conformance with all layers on: the results are the same.

    But for tests that break the rules on purpose, a finding fails the call that it is made by.
    """
    c_tests("c")()
    with tempfile.TemporaryDirectory() as folder:
        given = ["env", f"WIA_TRACE_FILE={folder}/%p.json", "WIA_LAYERS=validate,trace"]
        strict = [*given, "WIA_VALIDATE=error"]
        ctest = ["ctest", "--test-dir", str(BUILD / "c"), "--output-on-failure", "-j2"]
        racing = "|".join(RACING_TESTS)
        # What a test leaves live on purpose is told at its end: not on the stderr that it looks at.
        silent = [*strict, "WIA_LOG=warning,validate=none"]
        tests = [f"python/{name}.py" for name in LAYERED_TESTS]
        cases = ["--device", "reference:0", "--filter", "*matmul/*", "--filter", "add/*"]
        run_all(
            Command(*given, *ctest, "-R", racing),
            Command(*strict, *ctest, "-E", racing),
            Command(*silent, BIN / "pytest", "-q", *tests, cwd=ROOT / "tests"),
            Command(*silent, BIN / "wia-conformance", "run", *cases, "--jobs", "2", cwd=BUILD),
        )


def onnx_suite() -> None:
    """Run all cases of ONNX's suite for back ends; what doesn't pass is listed in tests/golden."""
    print()
    for device in ("reference:0", "npu:0"):
        report = BUILD / f"onnx_suite_{device.partition(':')[0]}.tsv"
        options: list[str | Path] = ["--device", device, "--report", report]
        text = run(sys.executable, "onnx_suite.py", *options, cwd=ROOT / "tests" / "python")
        print(text, end="", flush=True)


def trained_models() -> None:
    """Run trained models from packages: their answers, and outputs beside onnxruntime's."""
    print("\n" + run(sys.executable, "examples/models/ask.py"), flush=True)


def beside_torch() -> None:
    """Run the tests that compare with PyTorch: values, gradients, and tensors in its memory."""
    run(sys.executable, "-c", "import torch")  # without it they would be skipped
    names = ("test_gradients_torch", "test_interop", "test_values_torch")
    tests = [f"python/{name}.py" for name in names]
    run(BIN / "pytest", "-q", "-k", "torch", *tests, cwd=ROOT / "tests")


def try_mutants() -> None:
    """Every guard of the library that tests/mutants.toml lists has a test that fails without it."""
    run(sys.executable, "tests/mutate.py")


def add_operation() -> None:
    """An entry of the catalog, added at one place of a copy, arrives everywhere and runs."""
    run(sys.executable, "tests/add_operation.py")


def fuzz() -> None:
    """Run every fuzzer for a minute, from another seed each time; what fails tells its own."""
    run(sys.executable, "tests/fuzz", "--seconds", "60")
    run(sys.executable, "onnx_fuzz.py", cwd=ROOT / "tests" / "python")


def coverage() -> None:
    """Show how much of hal/ the C tests and fuzzers run; no share fails the step."""
    print("\n" + run(sys.executable, "tests/c_coverage.py"), flush=True)


def run_benchmarks() -> None:
    """Measure the budgets; the table is shown, and no time fails the step."""
    print(
        "\n" + run(sys.executable, "benchmarks", "--output", BUILD / "benchmarks-page"), flush=True
    )


def count_instructions() -> None:
    """Count the instructions of calls: none takes more than docs/benchmarks/counts.txt says."""
    print("\n" + run(sys.executable, "benchmarks/counts.py", "--check"), flush=True)


STEPS: dict[str, Step] = {
    "lengths": check_lengths,
    "c-format": check_c_format,
    "ruff": check_python,
    "types": check_types,
    "c": c_tests("c"),
    "c-address": c_tests("c-address", "-DWIA_SANITIZE=address,undefined", "-DWIA_BUILD_PYTHON=OFF"),
    "c-thread": c_tests("c-thread", "-DWIA_SANITIZE=thread", "-DWIA_BUILD_PYTHON=OFF"),
    "docs": build_docs,
    "python": python_tests,
}
EXTRA: dict[str, Step] = {
    "wheel": install_fresh(str(ROOT)),
    "editable": install_fresh("-e", str(ROOT)),
    "retrain": retrain,
    "conformance": conformance,
    "layers": layers,
    "onnx": onnx_suite,
    "models": trained_models,
    "torch": beside_torch,
    "mutants": try_mutants,
    "operation": add_operation,
    "fuzz": fuzz,
    "coverage": coverage,
    "counts": count_instructions,
    "benchmarks": run_benchmarks,
}
LIVE = ("python",)

if __name__ == "__main__":
    sys.exit(main())
