"""The log in Python: logging's loggers, or stderr while nobody listens."""

from __future__ import annotations

import pytest
from support import RunPython

import wia

FROM_C = """
import {imports}
from wia._native import ffi, lib
log = lib.wia_get_host().log
def speak(level, text):
    log(ffi.NULL, level, text)
"""


def test_lines_go_to_stderr(run_python: RunPython) -> None:
    """While logging has no handler for them, as in a C program."""
    code = FROM_C.format(imports="wia") + "speak(2, b'warm'); speak(3, b'chatter')"
    assert run_python(code).stderr == "wia: warning: driver: warm\n"


def test_lines_go_to_loggers(run_python: RunPython) -> None:
    """With their level, below "wia", and the driver's name where there is one."""
    code = FROM_C.format(imports="logging, wia") + (
        "logging.basicConfig(format='%(levelname)s|%(name)s|%(message)s', level=10)\n"
        "wia.set_log_level('debug')\n"
        "speak(1, b'50 %s'); speak(4, b'chatter')\n"
        "ctx = wia.Context('reference')\n"
        "logging.getLogger('wia.plan').setLevel(logging.ERROR)\n"
        "ctx.relu(ctx.zeros(4))\n"
    )
    lines = run_python(code).stderr.splitlines()
    assert lines[:2] == ["ERROR|wia.driver|50 %s", "DEBUG|wia.driver|chatter"]
    assert "INFO|wia.device|reference: reference:0 is open" in lines
    segment = "DEBUG|wia.memory|reference: 2097152 bytes"  # of the context's pool
    assert any(line.startswith(segment) for line in lines)
    assert not any("wia.plan" in line for line in lines)


DRIVER = """
from wia.driver import Driver
class Test(Driver):
    name = "xpu"
    def device_count(self):
        self.log("counted")
        return 1
"""


def test_lines_of_a_driver(run_python: RunPython) -> None:
    """They are under its name alone on stderr, and in a logger of its own."""
    assert run_python("import wia; wia.Context('xpu')", {"xpu": DRIVER}).stderr.startswith(
        "wia: warning: xpu: counted\n"
    )
    code = "import logging, wia; logging.basicConfig(format='%(name)s %(message)s')"
    result = run_python(code + "; wia.Context('xpu')", {"xpu": DRIVER})
    assert result.stderr.startswith("wia.driver.xpu counted\n")


def test_broken_drivers_are_loud_and_absent_ones_silent(run_python: RunPython) -> None:
    """One line each, when the devices are listed."""
    broken = "raise ValueError('broken on purpose')"
    result = run_python("import wia; wia.devices(); wia.devices()", {"xpu": broken})
    assert result.stderr.count("broken on purpose") == 1, result.stderr
    assert result.stderr.startswith("wia: warning: discovery: xpu: ")
    absent = "import wia; raise wia.UnavailableError('no such card')"
    assert run_python("import wia; wia.devices()", {"xpu": absent}).stderr == ""


def test_what_a_handler_raises(run_python: RunPython) -> None:
    """It is told on stderr, and harms no call."""
    code = FROM_C.format(imports="logging, wia") + (
        "class Bad(logging.Handler):\n"
        "    def emit(self, record): raise RuntimeError('bad handler')\n"
        "logging.getLogger('wia').addHandler(Bad())\n"
        "speak(2, b'warm'); print('alive')"
    )
    result = run_python(code)
    assert result.stdout == "alive\n"
    assert "bad handler" in result.stderr


def test_lines_at_exit_go_to_stderr(run_python: RunPython) -> None:
    """Python is not asked any more: wia._host._exit takes its function out."""
    code = FROM_C.format(imports="atexit, logging, wia")
    code = "import atexit\natexit.register(lambda: speak(2, b'late'))\n" + code
    assert run_python(code + "logging.basicConfig()").stderr == "wia: warning: driver: late\n"


@pytest.mark.parametrize("levels", ["loud", "", "plum=info"])
def test_malformed_levels(levels: str) -> None:
    with pytest.raises(wia.InvalidArgumentError, match="expected level"):
        wia.set_log_level(levels)
