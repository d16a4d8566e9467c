"""Drivers announced by entry points: good, broken, several of a name (scenarios 6 to 8)."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support import RunPython, install

GOOD = """
from wia.driver import Driver, kernel
class Test(Driver):
    name = "{name}"
    version = "2.5"
    @kernel("relu", dtypes=["float32"])
    def relu(self, node):
        def run(x, out):
            out[...] = x
        return run
"""
REPORT = """
import json, wia
try:
    with wia.Context({name!r}) as ctx:
        result = ctx.relu(ctx.tensor([1.0])).tolist()
except wia.WiaError as error:
    result = [error.status, str(error), error.cause]
names = [device.name for device in wia.devices()]
print(json.dumps([result, names, [record._asdict() for record in wia.load_report()]]))
"""


def ask(
    run_python: RunPython,
    drivers: Mapping[str, str],
    name: str = "xpu",
    **environment: str,
) -> tuple[list[Any], list[str], dict[str, dict[str, Any]]]:
    """What becomes of a driver that is asked for: result or error, all devices, the load report."""
    result = run_python(REPORT.format(name=name), drivers, environment)
    assert result.returncode == 0, result.stderr
    got, names, records = json.loads(result.stdout.splitlines()[-1])
    assert "reference:0" in names  # one broken driver doesn't keep others from loading
    return got, names, {record["name"]: record for record in records}


def test_a_good_one(run_python: RunPython) -> None:
    got, names, records = ask(run_python, {"xpu": GOOD.format(name="xpu")})
    assert got == [1.0]
    assert "xpu:0" in names
    record = records["xpu"]
    assert (record["state"], record["kind"], record["version"]) == ("loaded", "python", "2.5")
    assert "test_driver_xpu:Test" in record["source"]
    assert "wia-test-drivers 1.0" in record["source"]


HALF = """
import wia
from wia.driver import Driver
class Test(Driver):
    name = "xpu"
    def device_count(self):
        return 2
    def open_device(self, device):
        if device == 0:
            raise wia.UnavailableError("the card is in another's hands")
"""


def test_a_device_that_cannot_be_opened(run_python: RunPython) -> None:
    """It is left out of the list, with a warning that says why; the driver's others stay."""
    code = "import warnings, wia; warnings.simplefilter('default'); print(wia.devices())"
    result = run_python(code, {"xpu": HALF})
    assert "'xpu:1'" in result.stdout
    assert "'xpu:0'" not in result.stdout
    assert "'reference:0'" in result.stdout
    assert "RuntimeWarning: A device is left out: " in result.stderr
    assert "the card is in another's hands" in result.stderr


def test_finding_imports_nothing(run_python: RunPython) -> None:
    """A driver that can't even be imported harms nobody who doesn't ask for it."""
    code = "import wia; print([r.state for r in wia.load_report() if r.name == 'xpu'])"
    result = run_python(code, {"xpu": "import os; os._exit(9)"})
    assert result.stdout == "['found']\n", result.stderr


BROKEN = {
    "raises": ("raise ValueError('broken on purpose')", "ValueError: broken on purpose"),
    "missing": ("import no_such_module", "No module named 'no_such_module'"),
    "classless": ("", "no attribute 'Test'"),
    "syntax": ("def :", "SyntaxError"),
    "exits": ("import sys; sys.exit(3)", "raised SystemExit(3)"),
    "interrupts": ("raise KeyboardInterrupt", "raised KeyboardInterrupt"),
    "other": ("Test = 5", "wia.driver.Driver"),
    "misnamed": (GOOD.format(name="gpu"), "named 'xpu', but its driver's name is 'gpu'"),
    "in_init": (
        GOOD.format(name="xpu") + "    def __init__(self): raise OSError('no such device file')",
        "OSError: no such device file",
    ),
    "refuses": (
        GOOD.format(name="xpu")
        + "    def __init__(self):\n        import wia\n        raise wia.UnavailableError('off')",
        "off",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_broken_ones(run_python: RunPython, fault: str) -> None:
    """Scenario 7: refused with a reason and the traceback, and nobody else is concerned.

    Guard: the except clause of _Loading.run in wia._host.
    """
    source, expected = BROKEN[fault]
    got, names, records = ask(run_python, {"xpu": source})
    status, message, cause = got
    assert expected in message + cause
    assert "xpu:0" not in names
    record = records["xpu"]
    assert record["state"] == "refused"
    assert record["status"] == status
    assert expected in record["message"] + record["cause"]
    if fault not in ("other", "misnamed", "classless"):
        assert "Traceback" in record["cause"]
    assert status == ("UNAVAILABLE" if fault == "refuses" else status)


def test_one_that_hangs(run_python: RunPython) -> None:
    """Scenario 7: given up after WIA_DRIVER_TIMEOUT. Guard: the time-out of join in wia._host."""
    source = "import time\ntime.sleep(60)\n" + GOOD.format(name="xpu")
    got, names, records = ask(run_python, {"xpu": source}, WIA_DRIVER_TIMEOUT="4")
    assert got[0] == "DEADLINE_EXCEEDED"
    assert "WIA_DRIVER_TIMEOUT" in got[1]
    assert "time.sleep(60)" in got[2]
    assert records["xpu"]["state"] == "refused"
    assert "xpu:0" not in names


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("xpu = not a reference", "expected package.module:Class"),
        ("xpu = module_only", "expected package.module:Class"),
        ("xpu = :Test", "expected package.module:Class"),
        ("XPU = test_driver_xpu:Test", "lower-case"),
        ("no equals sign", "can't be read"),
    ],
)
def test_malformed_entry_points(
    run_python: RunPython, tmp_path: Path, line: str, expected: str
) -> None:
    """Scenario 6: told in the report, skipped else. Guard: _find_problem in wia._host."""
    result = run_python("", {})
    assert result.returncode == 0
    info = tmp_path / "wia_test_broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: wia-test-broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[wia.drivers]\n{line}\n")
    code = """
import json, wia
names = [device.name for device in wia.devices()]
print(json.dumps([names, [record._asdict() for record in wia.load_report()]]))
"""
    result = run_python(code, {})
    assert result.returncode == 0, result.stderr
    names, records = json.loads(result.stdout)
    assert "reference:0" in names
    problems = [r for r in records if r["state"] == "refused"]
    assert len(problems) == 1, records
    assert expected in problems[0]["message"]


def test_unreadable_metadata_of_others(run_python: RunPython, tmp_path: Path) -> None:
    """Packages that have nothing to do with WIA may be as broken as they like."""
    for name, files in {
        "a": {"METADATA": "Name: a\nVersion: 1\n", "entry_points.txt": "[x]\nno equals sign\n"},
        "b": {},
        "c": {"METADATA": "\udcff\ud800"},
    }.items():
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        for file, text in files.items():
            (info / file).write_bytes(text.encode("utf-8", "surrogatepass"))
    got, _, records = ask(run_python, {"xpu": GOOD.format(name="xpu")})
    assert got == [1.0]
    assert all(record["state"] in ("found", "loaded") for record in records.values())


def test_unreadable_metadata_of_a_driver(run_python: RunPython, tmp_path: Path) -> None:
    """Scenario 6: told with the folder's name, which is all that is known; the others load.

    Guard: `name` and `file` before the try in _find_entry_points (found by a fuzzer).
    """
    info = tmp_path / "wia_test_broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_bytes(b"Name: \xed(\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[wia.drivers]\nbroken = broken:Driver\n")
    got, _, records = ask(run_python, {"xpu": GOOD.format(name="xpu")})
    assert got == [1.0]
    (refused,) = (record for record in records.values() if record["state"] == "refused")
    assert refused["source"] == f"the distribution {info}"
    assert "its METADATA can't be read: UnicodeDecodeError" in refused["message"]


STATES = """
import wia
wia.devices()
print([(r.state, r.message) for r in wia.load_report() if r.name == "xpu"])
"""


def test_two_of_one_name(run_python: RunPython, tmp_path: Path) -> None:
    """Scenario 8: the first is used, the second is refused and names the first."""
    other = tmp_path / "other"
    other.mkdir()
    drivers = {"xpu": GOOD.format(name="xpu")}
    install(other, drivers, name="wia-other-drivers")
    result = run_python(STATES, drivers, {"PYTHONPATH": str(other)})
    (first, _), (second, message) = ast.literal_eval(result.stdout)
    assert (first, second) == ("loaded", "refused")
    assert "wia-test-drivers" in message


def test_the_same_one_twice(run_python: RunPython, tmp_path: Path) -> None:
    """Scenario 8: a folder that is on the path twice announces its drivers once.

    Guard: `seen` in _find_entry_points; without it there is a second record.
    """
    again = f"{tmp_path}/../{tmp_path.name}"
    result = run_python(STATES, {"xpu": GOOD.format(name="xpu")}, {"PYTHONPATH": again})
    assert result.stdout == "[('loaded', '')]\n", result.stderr


def test_names_are_exact(run_python: RunPython) -> None:
    """Scenario 8: a name that is another's prefix."""
    drivers = {"xpu": GOOD.format(name="xpu"), "xpu2": GOOD.format(name="xpu2")}
    for name in drivers:
        _, _, records = ask(run_python, drivers, name=name)
        assert records[name]["state"] == "loaded"
    got, _, _ = ask(run_python, {"xpu2": drivers["xpu2"]}, name="xpu")
    assert got[0] == "NOT_FOUND"
    assert 'did you mean "xpu2"' in got[1]


def test_disabled(run_python: RunPython) -> None:
    got, names, records = ask(run_python, {"xpu": GOOD.format(name="xpu")}, WIA_DRIVERS="*,-xpu")
    assert got[0] in ("NOT_FOUND", "PERMISSION_DENIED", "UNAVAILABLE")
    assert "WIA_DRIVERS" in got[1]
    assert "xpu:0" not in names
    assert records["xpu"]["state"] == "disabled"
