"""The benchmarks: the table and the programs agree, and samples become the right figures.

No time is looked at.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import counts  # noqa: E402
from run import PROGRAMS, Results  # noqa: E402
from samples import Group  # noqa: E402
from table import SECTIONS, Judge, Measurement, find  # noqa: E402

MEASUREMENTS = [measurement for section in SECTIONS for measurement in section.measurements]


def test_programs_print_what_the_table_names(tmp_path: Path) -> None:
    """Each line that is measured on the sample device has its group, subject and peer."""
    command = [sys.executable, ROOT / "benchmarks", "--only", "sample"]
    command += ["--seconds", "0", "--passes", "1"]
    done = subprocess.run(
        [*map(str, command), "--build", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    groups = Results.load(tmp_path / "samples.json").groups
    measured = {program for program, _, _ in groups}
    assert measured >= {"dispatch", "stream", "memory", "threads", "start"}
    for measurement in MEASUREMENTS:
        if measurement.program not in measured or measurement.group == "import":
            continue
        finding = find(measurement, "sample", groups)
        assert finding is not None, measurement
        assert finding.time > 0
        assert measurement.what in done.stdout
    assert "| sample |" in done.stdout
    assert "kernels `add`" in done.stdout


def test_every_line_has_a_program_for_its_budget() -> None:
    """A budget for a driver that isn't measured would be kept by nobody looking."""
    for measurement in MEASUREMENTS:
        drivers = PROGRAMS[measurement.program].drivers
        assert set(measurement.budget_for) <= set(drivers) or measurement.budget is None


def test_plots_are_on_the_page() -> None:
    """Those that the sections name are those that are drawn."""
    from page import PLOTS
    from plots import PLOTS as DRAWN

    named = [plot for section in SECTIONS for plot in section.plots]
    assert sorted(named) == sorted(PLOTS) == sorted(DRAWN)


@pytest.mark.parametrize(
    ("judge", "value"), [(Judge.OVER, 5.0), (Judge.RATIO, 1.5), (Judge.TIME, 15.0)]
)
def test_a_disturbed_round_is_left_out(judge: Judge, value: float) -> None:
    """Whoever was disturbed: the relation is taken within rounds, over the calmest of them."""
    times = {"subject": [15.0, 90.0, 15.0, 15.5], "peer": [10.0, 10.0, 70.0, 10.5]}
    groups = {("program", "sample", "group"): Group("kernel", times)}
    measurement = Measurement("", "program", "group", "subject", "peer", "", judge, 20.0)
    finding = find(measurement, "sample", groups)
    assert finding is not None
    assert (finding.value, finding.kept, finding.round_count) == (value, 1, 4)
    assert finding.share == value / 20
    every = Measurement("", "program", "group", "subject", "peer", "", judge, keep=1.0)
    finding = find(every, "sample", groups)
    assert finding is not None
    assert finding.kept == 4
    assert find(measurement, "npu", groups) is None


def test_a_slow_peer_does_not_choose_the_rounds() -> None:
    """A disturbance counts by how many times it slowed, not by its nanoseconds."""
    times = {"subject": [1.0, 1.0, 3.0, 3.0], "peer": [1050.0, 1040.0, 1000.0, 1010.0]}
    assert sorted(Group("", times).calmest(0.5)) == [0, 1]


def test_passes_are_joined() -> None:
    """Round by round, for each variant."""
    first, second = Group("k", {"a": [1.0], "b": [2.0]}), Group("k", {"a": [3.0], "b": [4.0]})
    assert first.joined(second) == Group("k", {"a": [1.0, 3.0], "b": [2.0, 4.0]})


def test_samples_are_kept(tmp_path: Path) -> None:
    """What is written down is read back."""
    groups = {("a", "", "b"): Group("k", {"x": [1.0]})}
    path = tmp_path / "samples.json"
    Results(groups, ["a machine"]).save(path)
    assert json.loads(path.read_text(encoding="utf-8"))
    assert Results.load(path) == Results(groups, ["a machine"])


def test_a_call_that_takes_more_instructions_is_told() -> None:
    """Up to three of a hundred are allowed, and none where a layer is off."""
    recorded = counts.RECORDED.read_text(encoding="utf-8")
    same = dict.fromkeys((row.case for row in counts.ROWS), 100.0)
    table = counts.table(same)
    assert counts.compare(same, table) == []
    assert counts.compare(same | {"custom": 103.0}, table) == []
    (problem,) = counts.compare(same | {"custom": 104.0}, table)
    assert "custom" in problem
    assert "takes 104.0 instructions; recorded are 100.0" in problem
    (problem,) = counts.compare(same | {"trace off": 101.0}, table)
    assert "a layer that is off must cost nothing" in problem
    assert len(counts.compare(dict.fromkeys(same, 1e9), recorded)) == len(counts.ROWS)


def test_counting_needs_valgrind(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit):
        counts.main([])
    assert "apt-get install valgrind" in capsys.readouterr().err
