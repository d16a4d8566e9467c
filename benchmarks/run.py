"""Builds the C programs, runs everything that measures, and gathers the samples."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from samples import Group
from table import ALL, NATIVE, Key

HERE = Path(__file__).resolve().parent
_NOT_SET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
"""They make numpy's BLAS another one than a user would have."""


@dataclass(frozen=True)
class Program:
    """Something that measures, and the drivers on whose first device it does: "" for none."""

    command: Callable[[Path, str], list[str]]
    drivers: tuple[str, ...]
    needs: tuple[str, ...] = ()  # packages of Python


def _c_program(name: str, drivers: tuple[str, ...]) -> Program:
    return Program(lambda build, device: [str(build / name), device], drivers)


def _start(build: Path, device: str) -> list[str]:
    programs = [str(build / "start"), str(build / "bare"), device] if device else []
    return [sys.executable, str(HERE / "start.py"), *programs]


PROGRAMS = {
    "dispatch": _c_program("dispatch", ALL),
    "graph": _c_program("graph", ALL),
    "stream": _c_program("stream", ALL),
    "memory": _c_program("memory", ALL),
    "threads": _c_program("threads", ALL),
    "calls": Program(
        lambda _, device: [sys.executable, str(HERE / "calls.py"), device],
        ALL,
        ("onnx", "onnxruntime"),
    ),
    "models": Program(
        lambda _, device: [sys.executable, str(HERE / "models.py"), device],
        ("npu",),
        ("onnx", "onnxruntime"),
    ),
    "opencl": _c_program("opencl", ("sample",)),
    "start": Program(_start, ("", *NATIVE)),
}


@dataclass(frozen=True)
class Results:
    """All samples, and what they were measured on."""

    groups: dict[Key, Group]
    machine: list[str]

    def save(self, path: Path) -> None:
        """Writes them down."""
        groups = [[*key, group.kernel, group.times] for key, group in self.groups.items()]
        parts = {"groups": groups, "machine": self.machine}
        path.write_text(json.dumps(parts), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Results:
        """Reads what save() wrote."""
        parts = json.loads(path.read_text(encoding="utf-8"))
        groups = {
            (program, driver, group): Group(kernel, times)
            for program, driver, group, kernel, times in parts["groups"]
        }
        return cls(groups, parts["machine"])


def build(folder: Path) -> None:
    """Builds the C programs and the sample driver against the installed WIA."""
    cmake = _output([str(Path(sysconfig.get_path("scripts"), "wia-config")), "--cmake"])
    configure = ["cmake", "-S", str(HERE / "c"), "-B", str(folder), f"-Dwia_DIR={cmake.strip()}"]
    for command in (configure, ["cmake", "--build", str(folder)]):
        _output(command)


def run(
    folder: Path, *, seconds: float, passes: int, only: str, tell: Callable[[str], None]
) -> Results:
    """Runs the programs whose name and device contain a text, each group for some seconds.

    The seconds are spread over the passes, since a machine may be slow for as long as one takes.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_SET}
    environment["WIA_DRIVER_PATH"] = str(folder / "driver")
    environment["WIA_EMULATOR"] = "1xsample"
    environment["BENCHMARK_SECONDS"] = str(seconds / passes)
    chosen = [
        (name, driver)
        for name, program in PROGRAMS.items()
        for driver in program.drivers
        if only in _title(name, driver)
    ]
    reasons = {key: _missing(folder, *key) for key in chosen}
    groups: dict[Key, Group] = {}
    for number in range(passes):
        for name, driver in chosen:
            if reasons[name, driver]:
                continue
            tell(f"{number + 1} of {passes}: {_title(name, driver)}")
            text = _output(PROGRAMS[name].command(folder, _device(driver)), environment)
            for group, found in _parse(text):
                key = (name, driver, group)
                groups[key] = groups[key].joined(found) if key in groups else found
    notes = [
        f"{_title(*key)} was not measured: {reason}" for key, reason in reasons.items() if reason
    ]
    return Results(groups, [*_machine(environment), *notes])


def _device(driver: str) -> str:
    return f"{driver}:0" if driver else ""


def _title(name: str, driver: str) -> str:
    return f"{name} {_device(driver)}".strip()


def _missing(folder: Path, name: str, driver: str) -> str:
    """Why a program can't run here; "" if it can."""
    needs = [*PROGRAMS[name].needs, *(["numba"] if driver == "npu" else [])]
    missing = [package for package in needs if importlib.util.find_spec(package) is None]
    if missing:
        return f"{', '.join(missing)} is not installed"
    if name == "opencl" and not (folder / name).is_file():
        return "OpenCL was not found when the programs were built"
    return ""


def _parse(text: str) -> Iterator[tuple[str, Group]]:
    for line in text.splitlines():
        parts = json.loads(line)
        yield parts["group"], Group(parts["kernel"], parts["times"])


def _machine(environment: dict[str, str]) -> list[str]:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    fields = dict(part.split(":", 1) for part in lines if ":" in part)
    cpu = {key.strip(): value.strip() for key, value in fields.items()}
    model = cpu.get("model name", platform.machine())
    detail = f"family {cpu['cpu family']}, model {cpu['model']}" if "cpu family" in cpu else "-"
    compiler = _output(["cc", "--version"]).splitlines()[0]
    return [
        f"{model} ({detail}), {os.cpu_count()} processors, {platform.system()} "
        f"{platform.machine()}, {' '.join(platform.libc_ver())}",
        f"{compiler}; Python {platform.python_version()}",
        _output([sys.executable, "-c", _VERSIONS], environment).strip(),
    ]


# In a process with the environment that was measured in: there BLAS chooses its kernel.
_VERSIONS = """\
import importlib.metadata, numpy
text = f"numpy {numpy.__version__}"
try:
    import threadpoolctl
    for found in threadpoolctl.threadpool_info():
        if found["user_api"] == "blas":
            kernel = found.get("architecture", "kernel not known")
            text += f" with {found['internal_api']} {found['version']} ({kernel})"
    text += f"; onnxruntime {importlib.metadata.version('onnxruntime')}"
except ImportError:
    pass
print(text)
"""


def _output(command: list[str], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(
            f"{' '.join(command)} gave exit code {done.returncode}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout
