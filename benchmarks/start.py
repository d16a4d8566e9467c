"""start [PROGRAM BARE DEVICE]: starting processes. Prints samples, see samples.py.

Without arguments: `import wia` beside `import cffi`, in processor time, which is what an import
takes and what doesn't depend on who else is running. With them: a C program until its first line on
the device, beside one without a library.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence

from samples import Turn, measure

IMPORTS = 7
IMPORT = "import time; s = time.process_time_ns(); import {}; print(time.process_time_ns() - s)"


def first_line(command: Sequence[str]) -> tuple[float, str]:
    """Nanoseconds from starting a program to its first line, and that line.

    Raises RuntimeError with what the program wrote when it fails.
    """
    start = time.perf_counter_ns()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        passed = time.perf_counter_ns() - start
        errors = process.stderr.read()
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} gave exit code {process.returncode}: {errors}")
    return float(passed), line.strip()


def turn_program(command: Sequence[str], expected: str) -> Turn:
    """A turn that starts a program, whose line has to be the expected one."""

    def turn() -> float:
        passed, line = first_line(command)
        if line != expected:
            raise RuntimeError(f"{command[0]} printed {line!r}; expected {expected!r}")
        return passed

    return turn


def turn_import(module: str) -> Turn:
    """A turn that imports a module in an interpreter of its own."""
    command = [sys.executable, "-P", "-c", IMPORT.format(module)]
    return lambda: float(first_line(command)[1])


def main() -> None:
    """Measures one of the two."""
    if len(sys.argv) == 1:
        turns = {"wia": turn_import("wia"), "cffi": turn_import("cffi")}
        measure("import", "", turns, min_rounds=IMPORTS)
        return
    program, bare, device = sys.argv[1:]
    python = "no Python" if device.startswith("sample") else "with Python"
    turns = {
        "start": turn_program([program, device], f"5, {python}"),
        "bare": turn_program([bare], "5, no library"),
    }
    measure("program", "", turns)


if __name__ == "__main__":
    main()
