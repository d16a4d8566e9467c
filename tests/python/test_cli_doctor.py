"""`wia doctor`: each thing that can be wrong is found, and said how to mend."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from support import RunPython

import wia
from wia._config import prefix

BROKEN = {"xpu": "raise ValueError('broken on purpose')"}
DOCTOR = "import sys; from wia._cli import main; sys.exit(main(['doctor', '--json']))"


class Findings:
    """The answer of the command in an interpreter of its own."""

    def __init__(self, result: subprocess.CompletedProcess[str]) -> None:
        self.code = result.returncode
        answer = json.loads(result.stdout)
        self.checks: list[dict[str, str]] = answer["checks"]
        wrong = [check for check in self.checks if check["state"] == "wrong"]
        assert answer["problem_count"] == len(wrong)
        assert self.code == min(len(wrong), 1)
        self.wrong = {check["name"]: check for check in wrong}
        assert all(check["remedy"] for check in wrong)

    def state(self, name: str) -> str:
        return next(check["state"] for check in self.checks if check["name"] == name)


def doctor(
    run_python: RunPython,
    environment: Mapping[str, str] | None = None,
    drivers: Mapping[str, str] | None = None,
    code: str = DOCTOR,
) -> Findings:
    return Findings(run_python(code, drivers, environment))


def test_nothing_is_wrong_here(run_python: RunPython) -> None:
    found = doctor(run_python)
    assert found.wrong == {}
    names = [check["name"] for check in found.checks]
    assert names[:7] == [
        "python",
        "package",
        "dependencies",
        "bridge",
        "library",
        "headers",
        "entry points",
    ]
    assert {"driver reference", "default device", "libpython", "compiler", "C program"} <= {*names}
    assert found.state("WIA_DRIVER_PATH") == "ok"


def test_the_table(run_python: RunPython) -> None:
    code = DOCTOR.replace("--json", "-q")
    result = run_python(code)
    assert (result.returncode, result.stdout) == (0, "")
    result = run_python(code, None, {"WIA_PLAN_CACHE_SIZE": "0"})
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    assert lines[0].split()[:2] == ["STATE", "CHECK"]
    assert lines[1].split()[:3] == ["wrong", "WIA_PLAN_CACHE_SIZE", "'0':"]
    assert lines[2].strip().startswith("Set it to such a number")
    assert lines[-1].endswith("checks found something wrong.")
    assert lines[-1].startswith("1 of ")


@pytest.mark.parametrize(
    ("name", "value", "message", "remedy"),
    [
        ("WIA_PLAN_CACHE_SIZE", "many", "from 1 to 1048576", "unset WIA_PLAN_CACHE_SIZE"),
        ("WIA_DRIVER_TIMEOUT", "1.5", "from 1 to 86400", "unset WIA_DRIVER_TIMEOUT"),
        ("WIA_DRIVERS", "*,-nul", "matches 'nul'", "Did you mean null?"),
        ("WIA_DEFAULT_DEVICE", "refrence", "no driver of this name", "Did you mean reference?"),
        ("WIA_DEFAULT_DEVICE", "null:1", "a default is a driver", "Leave out :1."),
        ("WIA_DRIVER_PATH", "/nowhere/at/all", "/nowhere/at/all", "Make it"),
        ("WIA_LIBPYTHON", "/nowhere/libpython3.so", "no such file", "unset it"),
        ("WIA_DRIVRES", "null", "Nothing reads", "Did you mean WIA_DRIVERS?"),
    ],
)
def test_variables(run_python: RunPython, name: str, value: str, message: str, remedy: str) -> None:
    found = doctor(run_python, {name: value})
    assert message in found.wrong[name]["message"]
    assert remedy in found.wrong[name]["remedy"]


def test_variables_that_nobody_can_judge(run_python: RunPython) -> None:
    found = doctor(run_python, {"WIA_NULL_DEPTH": "3", "WIA_UNHEARD_OF": "1"})
    assert found.wrong == {}
    assert found.state("WIA_NULL_DEPTH") == "ok"
    assert found.state("WIA_UNHEARD_OF") == "note"


def test_a_broken_driver(run_python: RunPython) -> None:
    found = doctor(run_python, drivers=BROKEN)
    assert "broken on purpose" in found.wrong["driver xpu"]["message"]
    assert "WIA_DRIVERS='*,-xpu'" in found.wrong["driver xpu"]["remedy"]
    assert "ValueError: broken on purpose" in found.wrong["driver xpu"]["remedy"]
    found = doctor(run_python, {"WIA_DRIVERS": "*,-xpu"}, BROKEN)
    assert found.wrong == {}
    assert found.state("driver xpu") == "note"


def test_entry_points_that_cannot_be_read(run_python: RunPython, tmp_path: Path) -> None:
    info = tmp_path / "garbled-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: garbled\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[wia.drivers]\nno equals sign\n")
    found = doctor(run_python)
    assert "garbled" in found.wrong["entry points"]["message"]


def test_wia_installed_twice(run_python: RunPython, tmp_path: Path) -> None:
    info = tmp_path / "wia-9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: wia\nVersion: 9.9\n")
    found = doctor(run_python)
    assert f"9.9 in {tmp_path.resolve()}" in found.wrong["package"]["message"]
    # The first one on the path is what Python calls the package, and the library is another one.
    assert "9.9" in found.wrong["library"]["message"]


def test_a_dependency_is_missing(run_python: RunPython, tmp_path: Path) -> None:
    info = tmp_path / "wia-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: wia\nVersion: {wia.__version__}\n"
        "Requires-Dist: numpy>=2.0\nRequires-Dist: not-there>=1\n"
        "Requires-Dist: not-asked-for ; extra == 'test'\n"
    )
    found = doctor(run_python)
    assert found.wrong["dependencies"]["message"] == "not-there is missing."


def test_another_library(run_python: RunPython, tmp_path: Path) -> None:
    """The loader takes one of that SONAME that is there before the bridge asks for its own."""
    other = tmp_path / "libwia.so.0"
    shutil.copy(prefix() / "lib" / "libwia.so.0", other)
    found = doctor(run_python, code=f"import ctypes; ctypes.CDLL({str(other)!r})\n{DOCTOR}")
    assert found.wrong["library"]["message"].startswith(f"{other} was loaded, and not ")


def test_a_second_library(run_python: RunPython, tmp_path: Path) -> None:
    other = tmp_path / "libwia.so.0"
    shutil.copy(prefix() / "lib" / "libwia.so.0", other)
    code = f"import ctypes, wia; ctypes.CDLL({str(other)!r})\n{DOCTOR}"
    message = doctor(run_python, code=code).wrong["library"]["message"]
    assert message.startswith("This process has loaded 2: ")
    assert str(other) in message


def test_no_compiler(run_python: RunPython, tmp_path: Path) -> None:
    found = doctor(run_python, {"PATH": str(tmp_path)})
    assert found.wrong == {}
    assert found.state("compiler") == "note"


def test_a_compiler_that_fails(run_python: RunPython, tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho 'error: out of order' >&2\nexit 1\n")
    compiler.chmod(0o755)
    found = doctor(run_python, {"PATH": str(tmp_path)})
    assert "error: out of order" in found.wrong["compiler"]["message"]


def test_a_libpython_that_is_none(run_python: RunPython, tmp_path: Path) -> None:
    """Only the program in C can tell."""
    path = tmp_path / "libpython3.so"
    path.write_bytes(b"not a library")
    found = doctor(run_python, {"WIA_LIBPYTHON": str(path)})
    assert set(found.wrong) == {"C program"}
    assert "reference:0" in found.wrong["C program"]["message"]


# -- wia can't be imported --


def call_without(
    folder: Path, *missing: str, arguments: tuple[str, ...]
) -> subprocess.CompletedProcess[str]:
    """Runs the command on a copy of the packages that lacks some files."""
    for name in ("wia", "wia_command"):
        source = Path(str(sys.modules["wia"].__file__)).parents[1] / name
        shutil.copytree(source, folder / name, dirs_exist_ok=True)
    shutil.copytree(prefix(), folder / "wia", dirs_exist_ok=True)
    for pattern in missing:
        for path in folder.glob(pattern):
            path.unlink()
    code = (
        f"import sys; sys.argv[1:] = {arguments!r}\nfrom wia_command import main\nsys.exit(main())"
    )
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_library_is_missing(tmp_path: Path) -> None:
    result = call_without(tmp_path, "wia/lib/libwia.so*", arguments=("doctor",))
    assert (result.returncode, result.stderr) == (1, "")
    assert f"wrong  library: {tmp_path}/wia/lib/libwia.so.0 is missing." in result.stdout
    assert "wrong  import: wia can't be imported: ImportError" in result.stdout
    assert "pip install --force-reinstall wia" in result.stdout
    result = call_without(tmp_path, "wia/lib/libwia.so*", arguments=("devices",))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("wia: error: wia can't be imported: ImportError")
    assert result.stderr.endswith("(wia doctor says more)\n")
    assert result.stderr.count("\n") == 1


def test_the_bridge_is_missing(tmp_path: Path) -> None:
    result = call_without(tmp_path, "wia/_bridge.*", arguments=("doctor",))
    assert result.returncode == 1
    assert "wia can't be imported" in result.stdout
    assert "_bridge" in result.stdout


def test_the_command_works_from_a_copy(tmp_path: Path) -> None:
    """So that the tests above fail for what they take away."""
    result = call_without(tmp_path, arguments=("--version",))
    assert (result.returncode, result.stdout) == (0, f"wia {wia.__version__}\n")
