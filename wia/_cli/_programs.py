"""Checks for C programs: compiler and libpython, and one program that is built and run."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import wia
from wia._cli._installation import NOTE, OK, WRONG, Check
from wia._config import prefix
from wia._native import lib, text

__all__ = ["check_programs"]

_COMPILERS = ("cc", "gcc", "clang")
_TIMEOUT_S = 120
# Prints the names of all devices.
_PROGRAM = """
#include <stdio.h>
#include <wia.h>
int main(void) {
  int32_t ids[1024];
  uint32_t count = 0;
  if (wia_get_devices(ids, 1024, &count) != WIA_STATUS_OK) {
    wia_error_info_t error = WIA_ERROR_INFO_INIT;
    wia_get_last_error(&error);
    fprintf(stderr, "%s\\n", error.message);
    return 1;
  }
  for (uint32_t i = 0; i < count; ++i) {
    wia_device_info_t info = WIA_DEVICE_INFO_INIT;
    if (wia_get_device_info(ids[i], &info) == WIA_STATUS_OK) puts(info.name);
  }
  return 0;
}
"""


def check_programs(devices: Sequence[wia.Device]) -> Iterator[Check]:
    """Whether C programs can be built, and find the devices that Python finds."""
    yield _check_libpython()
    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        message = "There is none (looked for cc, gcc and clang). Only programs in C need it."
        yield Check("compiler", NOTE, message, "On Debian: apt-get install build-essential.")
        return
    with tempfile.TemporaryDirectory(prefix="wia-doctor-") as folder:
        program = Path(folder, "program")
        problem = _build(compiler, program)
        if problem:
            remedy = "On Debian: apt-get install build-essential."
            yield Check("compiler", WRONG, f"{compiler} can't build a program: {problem}", remedy)
            return
        yield Check("compiler", OK, compiler)
        yield _check_program(program, devices)


def _check_libpython() -> Check:
    path = text(lib.wia__get_libpython())
    remedy = (
        "Set WIA_LIBPYTHON to the path of one. On Debian: apt-get install libpython3-dev; the file "
        "is libpython3.*.so below /usr/lib."
    )
    if not path:
        message = "This Python has no shared library. C programs need one for drivers in Python."
        return Check("libpython", NOTE, message, remedy)
    if not Path(path).is_file():
        message = f"{path} is not there. C programs load it for drivers in Python."
        return Check("libpython", WRONG, message, remedy)
    return Check("libpython", OK, path)


def _build(compiler: str, program: Path) -> str:
    """Builds the program with the flags of wia-config; "" or what was wrong."""
    source = program.with_suffix(".c")
    source.write_text(_PROGRAM, encoding="utf-8")
    root = prefix()
    library = root / "lib"
    flags = [f"-I{root / 'include'}", f"-L{library}", f"-Wl,-rpath,{library}", "-lwia"]
    try:
        result = _run(compiler, str(source), *flags, "-o", str(program))
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if result.returncode == 0 else _last(result.stderr)


def _check_program(program: Path, devices: Sequence[wia.Device]) -> Check:
    """Compares the devices that the program finds with those that Python finds."""
    name = "C program"
    remedy = "Mend what the lines above call wrong; C programs start Python with libpython."
    try:
        result = _run(str(program))
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(name, WRONG, str(error), remedy)
    if result.returncode != 0:
        message = _last(result.stderr) or f"It ended with exit code {result.returncode}."
        return Check(name, WRONG, message, remedy)
    found = result.stdout.split()
    missing = [device.name for device in devices if device.name not in found]
    if missing:
        said = _last(result.stderr)
        message = f"It doesn't find {', '.join(missing)}, which Python finds. {said}".rstrip()
        return Check(name, WRONG, message, remedy)
    return Check(name, OK, f"finds {', '.join(found) or 'no device'}")


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S, errors="replace"
    )


def _last(output: str) -> str:
    """The line of an output that says most: the first error, else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), lines[-1] if lines else "")
