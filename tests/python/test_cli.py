"""The command `wia`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest
from support import RunPython

import wia
from wia._cli import main

BROKEN = {"npu": "raise ValueError('broken on purpose')"}
RUN = "import sys; from wia._cli import main; sys.exit(main({arguments!r}))"


def test_devices(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["DEVICE", "DESCRIPTION", "DRIVER", "MEMORY"]
    assert lines[1].startswith("reference:0")
    assert lines[1].endswith("default")
    assert any(line.startswith("null:0") for line in lines)


def test_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "-v"]) == 0
    text = capsys.readouterr().out
    assert "  flags         host_addressable, simulated" in text
    assert "  add           float64, float32" in text
    assert "null 0.1.0: loaded, python, null = wia_null:NullDriver" in text


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["version"] == wia.__version__
    null = next(device for device in found["devices"] if device["name"] == "null:0")
    assert null["flags"] == ["host_addressable", "simulated"]
    assert null["operations"]["relu"] == ["float32"]
    assert {driver["state"] for driver in found["drivers"]} == {"loaded"}


def test_broken_drivers_are_told(run_python: RunPython) -> None:
    result = run_python(RUN.format(arguments=["devices"]), BROKEN)
    assert result.returncode == 0
    assert "reference:0" in result.stdout
    assert "broken on purpose" in result.stderr
    assert "wia devices -v" in result.stderr
    result = run_python(RUN.format(arguments=["devices", "-v"]), BROKEN)
    assert "| Traceback" in result.stdout


def test_usage() -> None:
    command = [sys.executable, "-m", "wia._cli"]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout == f"wia {wia.__version__}\n"
    wrong = subprocess.run([*command, "devics"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "devices" in wrong.stderr


def test_a_reader_that_stops_is_no_error() -> None:
    command = [sys.executable, "-m", "wia._cli", "devices", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()  # before the first line is written
        assert process.stderr.read() == b""
    assert process.returncode == 128 + signal.SIGPIPE
