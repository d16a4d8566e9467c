"""The conformance suite: its runs on our drivers, its command and its reports."""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import wia
import wia_conformance
from wia.catalog import OPERATIONS
from wia_conformance import (
    Options,
    Ready,
    Report,
    content_hash,
    list_cases,
    run_cases,
    select_cases,
)
from wia_conformance._cli import _Progress, main
from wia_conformance._forms import FORMS
from wia_conformance._journal import read_journal
from wia_conformance._outcome import FAILURES, RESULTS

ROOT = Path(__file__).parents[2]
CASES = list_cases()
SOME = CASES[::23]
BROKEN = """
import os
import wia
from wia.driver import Driver, kernel

class Broken(Driver):
    name = "broken"

    @kernel("add", dtypes=["float32"])
    def prepare_add(self, node):
        def add(a, b, out):
            print("<last & words>", flush=True)
            os.abort()
        return add

wia.register_driver(Broken)
"""


# -- runs --


def test_our_drivers_fail_nowhere(device: str) -> None:
    """Each 23rd case, so that all forms come up; .ci/full runs all of them."""
    counts: Counter[str] = Counter()
    passed = set()
    for item in run_cases(SOME, Options(device=device, jobs=2)):
        if not isinstance(item, Ready):
            case, outcome = item
            assert outcome.result in ("pass", "unsupported"), (case.id, outcome.detail)
            assert outcome.result != "unsupported" or device in outcome.detail, case.id
            counts[outcome.result] += 1
            passed |= {case.op} if outcome.result == "pass" else set()
    assert counts.total() == len(SOME)
    with wia.Context(device) as ctx:
        claimed = {op.name for op in OPERATIONS if ctx.device.supports(op.name)}
    assert passed == claimed
    if device == "reference:0":
        assert counts["pass"] == len(SOME)


def test_other_seeds_give_other_inputs() -> None:
    """And they pass too."""
    cases = select_cases(CASES, ["matmul/*/7x9,31x9/*/packed", "softmax/*/3x33/wide/packed"])
    for seed in (1, 2):
        items = list(run_cases(cases, Options(device="reference", seed=seed)))
        assert [item[1].result for item in items if not isinstance(item, Ready)] == ["pass"] * 12


def test_devices_that_cannot_be_opened() -> None:
    with pytest.raises(wia_conformance.DeviceError, match="nosuch"):
        list(run_cases(SOME[:1], Options(device="nosuch:0")))
    with pytest.raises(wia_conformance.DeviceError, match="ModuleNotFoundError"):
        list(run_cases(SOME[:1], Options(device="null", modules=("nosuch",))))


def test_the_manual_explains_forms_and_results() -> None:
    page = (ROOT / "docs" / "howto" / "certify_driver.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([\w-]+) \| (.*) \|$", page.replace("`", ""), re.MULTILINE))
    named = {form.replace("in-place", "in-place-a"): text for form, text in FORMS.items()}
    named["in-place-a"] = named["in-place-a"].replace("the input that is named", "the input a")
    named |= {result: RESULTS[result] for result in FAILURES}
    assert {name: rows.get(name) for name in named} == named


# -- the command --


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--filter", "add/float32/8,8/*"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "add/float32/8,8/in-place-a" in lines
    assert all(line.startswith("add/float32/8,8/") for line in lines)
    assert main(["list", "--filter", "nosuch"]) == 2
    assert "no case matches nosuch" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["run"], "--device"),
        (["run", "--device", "null", "--jobs", "0"], "'0' was given; expected a whole number"),
        (["run", "--device", "null", "--timeout", "-1"], "expected a number of seconds above 0"),
        (["run", "--device", "null", "--profile", "full"], "choose from"),
        (["run", "--device", "null", "--resume"], "give both"),
    ],
)
def test_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], part: str) -> None:
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert error.value.code == 2
    assert part in capsys.readouterr().err


def test_the_command_is_installed() -> None:
    command = Path(sys.executable).with_name("wia-conformance")
    result = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert result.stdout == f"wia-conformance {wia_conformance.__version__}\n"


def run(folder: Path, device: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit code of a run, and its report as data."""
    code = main(["run", "--device", device, "--report", str(folder), *arguments])
    return code, json.loads((folder / "report.json").read_text(encoding="utf-8"))


def test_report_of_a_good_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, report = run(tmp_path, "null", "--filter", "relu/*/8/*", "--seed", "5", "--jobs", "2")
    assert code == 0
    assert report["verdict"] == "passed"
    assert report["certification"] == "not certified"
    assert report["suite"]["content_hash"] == f"sha256:{content_hash(CASES)}"
    assert report["suite"]["case_count"] == len(CASES)
    assert report["suite"]["selected_count"] == len(report["outcomes"])
    assert report["driver"] == {"name": "null", "version": "0.1.0", "vendor": "WIA"}
    assert report["device"]["name"] == "null:0"
    assert report["library"]["version"] == wia.__version__
    assert (report["options"]["seed"], report["options"]["filter"]) == (5, ["relu/*/8/*"])
    assert report["machine"]["cpu"]
    row = next(row for row in report["table"] if row["dtype"] == "float32")
    assert (row["op"], row["pass"], row["unsupported"]) == ("relu", 8, 0)
    reasons = [o["detail"] for o in report["outcomes"] if o["result"] == "unsupported"]
    assert len(reasons) == report["counts"]["unsupported"] > 0
    assert all("null has no kernel for relu of" in reason for reason in reasons)
    assert "null:0, driver null 0.1.0: passed" in capsys.readouterr().out


def test_reports_do_not_name_the_machine(tmp_path: Path) -> None:
    run(tmp_path, "null", "--filter", "add/float32/*")
    for path in tmp_path.iterdir():
        assert not re.search(rf"\b{re.escape(platform.node())}\b", path.read_text("utf-8"))


def test_report_of_a_bad_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One case in each of the forms of the report, with what the process said last."""
    module = tmp_path / "broken.py"
    module.write_text(BROKEN, encoding="utf-8")
    case = "add/float32/8,8/packed"
    code, report = run(tmp_path, "broken", "--import", str(module), "--filter", case)
    assert code == 1
    assert report["verdict"] == "failed"
    (outcome,) = report["outcomes"]
    assert (outcome["id"], outcome["result"]) == (case, "crash")
    assert "signal 6" in outcome["detail"]
    assert "<last & words>" in outcome["detail"]
    assert f"crash: {case}" in capsys.readouterr().out

    suite = ElementTree.parse(tmp_path / "report.xml").getroot()[0]
    assert suite.attrib | {"time": ""} == {
        "name": "add",
        "tests": "1",
        "failures": "0",
        "errors": "1",
        "skipped": "0",
        "time": "",
    }
    assert "<last & words>" in (suite[0][0].text or "")

    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "&lt;last &amp; words&gt;" in page
    assert not re.search(r"https?:|<script|<link|src=", page)


def test_a_run_in_which_nothing_passes_is_not_passed(tmp_path: Path) -> None:
    code, report = run(tmp_path, "null", "--filter", "matmul/float32/2x3,3x4/*")
    assert (code, report["verdict"]) == (1, "nothing passed")
    assert report["counts"]["fail"] == 0


def test_a_run_ends_at_so_many_crashes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = tmp_path / "broken.py"
    module.write_text(BROKEN, encoding="utf-8")
    arguments = ["--import", str(module), "--filter", "add/float32/8,8/*", "--stop-after", "2"]
    code, report = run(tmp_path, "broken", *arguments)
    assert code == 1
    assert report["counts"]["crash"] == len(report["outcomes"]) == 2
    assert report["suite"]["selected_count"] > 2
    assert "cases were not run" in capsys.readouterr().out


def test_a_crash_costs_one_case_of_its_batch(tmp_path: Path) -> None:
    """Those before it stay, those after it run in a new process, and what it printed is its own."""
    module = tmp_path / "broken.py"
    body = 'if out.shape == (31,): print("<last & words>", flush=True), os.abort()'
    text = BROKEN.replace('print("<last & words>", flush=True)', 'print("so far", flush=True)')
    text = text.replace("os.abort()", f"{body}\n            out[...] = a + b")
    module.write_text(text, encoding="utf-8")
    wanted = ["add/float32/8,8/packed", "add/float32/31,1/packed", "add/float32/3x1x33,2x1/packed"]
    options = Options(device="broken", modules=(str(module),))
    items = list(run_cases(select_cases(CASES, wanted), options))
    done = {item[0].id: item[1] for item in items if not isinstance(item, Ready)}
    results = {name: outcome.result for name, outcome in done.items()}
    assert results == {wanted[0]: "pass", wanted[1]: "crash", wanted[2]: "pass"}
    assert done[wanted[1]].detail.count("so far") == 1


def test_scalars_of_the_second_run_fit_the_dtype() -> None:
    """A bool has no value 2."""
    cases = select_cases(CASES, ["fill/bool/*/again", "masked_fill/bool/*/again"])
    items = list(run_cases(cases, Options(device="reference")))
    assert [item[1].result for item in items if not isinstance(item, Ready)] == ["pass"] * 2


def test_interrupt(tmp_path: Path) -> None:
    """Ctrl-C ends the run at once, also while a kernel hangs."""
    module, started = tmp_path / "hangs.py", tmp_path / "started"
    hang = f"open({str(started)!r}, 'w').close(); import time; time.sleep(100)"
    module.write_text(BROKEN.replace("os.abort()", hang), encoding="utf-8")
    command = [sys.executable, "-m", "wia_conformance", "run", "--device", "broken"]
    command += ["--import", str(module), "--filter", "add/float32/8,8/packed"]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True, cwd=tmp_path
    )
    while not started.exists():
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, text = process.communicate(timeout=30)
    assert process.returncode == 130
    assert text == "wia-conformance: interrupted; no report is written\n"


def test_resume(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that was interrupted goes on; its report has all cases, each run once."""
    selected = select_cases(CASES, ["relu/float32/8/*"])
    first, rest = selected[:3], selected[3:]
    arguments = ["--filter", "relu/float32/8/*", "--report", str(tmp_path)]

    def interrupted(cases: Any, options: Any) -> Any:
        for number, item in enumerate(run_cases(cases, options)):
            if number > len(first):
                raise KeyboardInterrupt
            yield item

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wia_conformance._cli.run_cases", interrupted)
        assert main(["run", "--device", "null", *arguments]) == 130
    assert "--resume goes on from here" in capsys.readouterr().err
    facts, done = read_journal(tmp_path)
    assert [*done] == [case.id for case in first]
    assert facts["device"] == "null:0"
    with (tmp_path / "progress.jsonl").open("a", encoding="utf-8") as file:
        file.write('["relu/flo')  # the process ended in the middle of a line

    assert main(["run", "--device", "null", *arguments, "--resume", "--seed", "5"]) == 2
    assert "its seed was 0, and now it is 5" in capsys.readouterr().err

    ran: list[Any] = []

    def noted(cases: Any, options: Any) -> Any:
        ran.extend(case.id for case in cases)
        return run_cases(cases, options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wia_conformance._cli.run_cases", noted)
        assert main(["run", "--device", "null", *arguments, "--resume"]) == 0
    assert ran == [case.id for case in rest]
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert [outcome["id"] for outcome in report["outcomes"]] == [case.id for case in selected]
    assert report["verdict"] == "passed"
    assert read_journal(tmp_path) == ({}, {})


def test_the_line_of_progress(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    """The time that is left follows from the cases of this run alone."""
    now = iter((100.0, 110.0))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("wia_conformance._cli.time.monotonic", lambda: next(now))
    progress = _Progress(400, 100)
    progress.show(Counter({"pass": 140, "unsupported": 10}))
    assert "150 of 400, 0:50 left: 140 pass, 10 unsupported" in capsys.readouterr().err


def test_a_run_that_was_left_is_incomplete() -> None:
    selected = select_cases(CASES, ["relu/float32/8/*"])
    options = Options(device="null")
    run = run_cases(selected, options)
    found = next(run)
    assert isinstance(found, Ready)
    report = Report(
        profile="ops", options=options, patterns=[], cases=CASES, selected=selected, found=found
    )
    item = next(run)
    assert not isinstance(item, Ready)
    report.add(*item)
    run.close()
    assert report.verdict == "incomplete"


def test_unknown_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--device", "nosuch:0", "--filter", "relu/*"]) == 2
    assert "nosuch:0 can't be opened: " in capsys.readouterr().err
