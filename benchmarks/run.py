"""Builds the C programs, runs everything, and gathers the numbers."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import first_line_ms, interleave

HERE = Path(__file__).resolve().parent
_NOT_SET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
"""They make numpy's BLAS another one than a user would have."""


@dataclass(frozen=True)
class Results:
    """What was measured, in the units that the keys end with, and on what."""

    dispatch: dict[str, dict[str, dict[str, float]]]
    stream: dict[str, float]
    python: dict[str, Any]
    import_ms: dict[str, float]
    start_ms: dict[str, float]
    machine: list[str]


def build(folder: Path) -> Path:
    """Builds the C programs and the sample driver against the installed WIA; returns the folder."""
    cmake = _output([str(Path(sysconfig.get_path("scripts"), "wia-config")), "--cmake"])
    configure = ["cmake", "-S", str(HERE), "-B", str(folder), f"-Dwia_DIR={cmake}"]
    for command in (configure, ["cmake", "--build", str(folder)]):
        _output(command)
    return folder


def run(folder: Path) -> Results:
    """Runs all measurements with the programs of a folder: about a minute."""
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_SET}
    environment["WIA_DRIVER_PATH"] = str(folder / "driver")
    library = str(folder / "driver" / "libwia_sample.so")
    calls = [sys.executable, str(HERE / "python_calls.py")]
    python = json.loads(_output(calls, environment))
    return Results(
        dispatch=json.loads(_output([str(folder / "dispatch"), library], environment)),
        stream=json.loads(_output([str(folder / "stream")], environment)),
        python=python,
        import_ms=_import_ms(environment),
        start_ms=_start_ms(folder, environment),
        machine=_machine(python["versions"]),
    )


def _import_ms(environment: dict[str, str]) -> dict[str, float]:
    text = (
        "import time; start = time.perf_counter(); import {}; "
        "print((time.perf_counter() - start) * 1e3)"
    )

    def turn(module: str) -> float:
        return float(_output([sys.executable, "-P", "-c", text.format(module)], environment))

    return interleave({"wia": lambda: turn("wia"), "cffi": lambda: turn("cffi")}, 21)


def _start_ms(folder: Path, environment: dict[str, str]) -> dict[str, float]:
    def turn(name: str) -> float:
        passed, line = first_line_ms([str(folder / name)], environment)
        if line != "5, no Python":
            raise RuntimeError(f"{name} printed {line!r}; expected '5, no Python'")
        return passed

    return interleave({"start": lambda: turn("start"), "bare": lambda: turn("bare")}, 41)


def _machine(versions: dict[str, str]) -> list[str]:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    fields = dict(part.split(":", 1) for part in lines if ":" in part)
    cpu = {key.strip(): value.strip() for key, value in fields.items()}
    model = cpu.get("model name", platform.machine())
    detail = f"family {cpu['cpu family']}, model {cpu['model']}" if "cpu family" in cpu else "-"
    compiler = _output(["cc", "--version"]).splitlines()[0]
    return [
        f"{model} ({detail}), {os.cpu_count()} processors, {platform.system()} "
        f"{platform.machine()}, {' '.join(platform.libc_ver())}",
        f"{compiler}; Python {platform.python_version()}; numpy {versions['numpy']} with "
        f"{versions['blas']}; onnxruntime {versions['onnxruntime']}",
    ]


def _output(command: list[str], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(
            f"{' '.join(command)} gave exit code {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout.strip()
