"""Profiles: what is in the file, and that a reader can make sense of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wia


def check_trace(path: Path) -> list[dict[str, Any]]:
    """Reads a trace; asserts what readers of the format rely on. Its spans, in the file's order."""
    trace = json.loads(path.read_text(encoding="utf-8"))
    other = trace["otherData"]
    assert other["library"].startswith("WIA ")
    assert other["lost_events"] >= 0
    events = trace["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    named = {
        (event["pid"], event["tid"])
        for event in events
        if event["ph"] == "M" and event["name"] == "thread_name"
    }
    rows = defaultdict(list)
    for span in spans:
        begin, end = in_ns(span["ts"]), in_ns(span["ts"]) + in_ns(span["dur"])
        assert span["ts"] >= 0
        assert span["dur"] >= 0
        assert end <= other["duration_ns"]
        rows[span["pid"], span["tid"]].append((begin, -end))
    assert set(rows) == named
    for row in rows.values():
        check_nesting(row)
    check_arrows(events, spans)
    return spans


def in_ns(microseconds: float) -> int:
    return round(microseconds * 1000)


def check_nesting(row: list[tuple[int, int]]) -> None:
    open_ends: list[int] = []
    for begin, negative_end in sorted(row):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        assert not open_ends or -negative_end <= open_ends[-1]
        open_ends.append(-negative_end)


def check_arrows(events: list[dict[str, Any]], spans: list[dict[str, Any]]) -> None:
    """Each arrow has two ends, each of them in a span of its row, from a call to its work."""

    def spans_at(end: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            span
            for span in spans
            if (span["pid"], span["tid"]) == (end["pid"], end["tid"])
            and in_ns(span["ts"]) <= in_ns(end["ts"]) <= in_ns(span["ts"]) + in_ns(span["dur"])
        ]

    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    assert set(starts) == set(ends)
    for number, start in starts.items():
        assert start["ts"] <= ends[number]["ts"]
        calls = {s["args"]["correlation"] for s in spans_at(start) if s["cat"] == "call"}
        assert calls & {s["args"]["correlation"] for s in spans_at(ends[number])}


def test_checker_finds_crossing_spans() -> None:
    with pytest.raises(AssertionError):
        check_nesting([(0, -10), (5, -15)])
    check_nesting([(0, -10), (0, -10), (2, -3), (10, -11)])


@pytest.mark.parametrize("name", ["reference", "npu", "emulator:0"])
def test_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / "out.json"
    with wia.Context(name) as ctx, ctx.stream() as one, ctx.stream() as two:
        a = ctx.tensor([[1.0, 2.0], [3.0, 4.0]])
        with wia.profile(path, ctx):
            ctx.matmul(a, a)
            for stream in (one, two):
                with wia.annotate("step", 42):
                    ctx.relu(ctx.matmul(a, a, stream=stream), stream=stream)
            one.synchronize()
            two.synchronize()
    spans = check_trace(path)
    kernels = [span for span in spans if span["cat"] == "kernel"]
    assert sorted(span["name"] for span in kernels) == ["matmul"] * 3 + ["relu"] * 2
    calls = {span["args"]["correlation"]: span for span in spans if span["cat"] == "call"}
    for kernel in kernels:
        assert calls[kernel["args"]["correlation"]]["name"].startswith("wia_")
        assert kernel["args"]["device"] == (name if ":" in name else f"{name}:0")
    rows = {(span["pid"], span["tid"]) for span in kernels}
    assert len(rows) == 3, "the thread and two streams"
    assert sum(span["args"]["range"] == 42 for span in kernels) == 4
    assert sum(span["name"] == "step" for span in spans) == 2


def test_stopping_while_a_kernel_runs(tmp_path: Path) -> None:
    """The file leaves out what has not ended; the next one has it, cut, and no call for it."""
    path = tmp_path / "out.json"
    running, may_end = threading.Event(), threading.Event()
    with wia.Context("reference") as ctx, ctx.stream() as stream:
        a, out = ctx.tensor([1.0]), ctx.tensor([0.0])

        def wait(_error: wia.WiaError | None) -> None:
            running.set()
            assert may_end.wait(60)

        with wia.profile(path, ctx):
            with wia.annotate("step"):
                stream.call(wait)
                ctx.relu(a, out=out, stream=stream)
            assert running.wait(60)
        spans = check_trace(path)
        assert not [span for span in spans if span["cat"] in ("function", "kernel")]
        assert [span["name"] for span in spans if span["cat"] == "range"] == ["step"]
        with wia.profile(path, ctx):
            may_end.set()
            stream.synchronize()
        spans = check_trace(path)
        (function,) = (span for span in spans if span["cat"] == "function")
        assert (function["ts"], function["args"]["cut"]) == (0, True)
        (kernel,) = (span for span in spans if span["cat"] == "kernel")
        assert kernel["ts"] >= function["ts"] + function["dur"]
        assert "cut" not in kernel["args"]


def test_report() -> None:
    with wia.Context("reference") as ctx:
        a = ctx.tensor([1.0, 2.0])
        with wia.profile(context=ctx) as profile:
            for _ in range(3):
                ctx.add(a, a)
            ctx.mul(a, a)
            a.tolist()
        totals = {one.name: one for one in profile.kernels()}
        assert {name: one.launches for name, one in totals.items()} == {"add": 3, "mul": 1}
        assert sum(one.share for one in totals.values()) == pytest.approx(1)
        assert totals["add"].mean_ns * 3 == pytest.approx(totals["add"].total_ns)
        assert profile.lost == 0
        copies = [event for event in profile.events if event.kind == "copy"]
        assert [event.size for event in copies] == [a.nbytes]
        with wia.profile(context=ctx, kernels=False, copies=False) as quiet:
            ctx.add(a, a)
        assert {event.kind for event in quiet.events} == {"call"}


def test_loss_is_counted() -> None:
    with wia.Context("reference") as ctx:
        a = ctx.tensor([1.0])
        ctx.add(a, a, out=a)  # prepares
        with wia.profile(context=ctx, event_capacity=4) as profile:
            for _ in range(10):
                ctx.add(a, a, out=a)
        assert len(profile.events) == 4
        assert profile.lost == 16


def test_misuse(tmp_path: Path) -> None:
    profile = wia.profile()
    with pytest.raises(RuntimeError, match="before its with statement has ended"):
        profile.kernels()
    with profile:
        pass
    with pytest.raises(RuntimeError, match="one with statement"), profile:
        pass
    with pytest.raises(wia.NotFoundError, match="No such file or directory"):
        profile.save(tmp_path / "missing" / "out.json")
    with pytest.raises(wia.NotFoundError, match="no folder for"):
        wia.profile(tmp_path / "missing" / "out.json").__enter__()
    (tmp_path / "folder").mkdir()
    with pytest.raises(wia.PermissionDeniedError):
        profile.save(tmp_path / "folder")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"], "nothing is left behind"


def test_names_are_escaped(tmp_path: Path) -> None:
    name = 'a "name"\\ with\nlines and é'
    with wia.profile(tmp_path / "out.json"), wia.annotate(name):
        pass
    (span,) = check_trace(tmp_path / "out.json")
    assert span["name"] == name
    with wia.profile() as profile, wia.annotate("é" * 30):
        pass
    assert profile.events[0].name == "é" * 23, "a name is not cut within a character"


PROGRAM = """
import os, sys, wia
with wia.Context("reference") as ctx, ctx.stream() as stream:
    a = ctx.tensor([1.0])
    ctx.add(a, a, stream=stream)
    stream.synchronize()
    child = os.fork()
    if child == 0:
        sys.exit(0)
    os.waitpid(child, 0)
"""


@pytest.fixture(autouse=True, scope="module")
def _no_other_session() -> Iterator[None]:
    """Ends that of WIA_LAYERS, whose rings these sessions would share."""
    traced = any(layer.enabled for layer in wia.layers() if layer.name == "trace")
    if traced:
        wia.disable_layer("trace")
    yield
    if traced:
        wia.enable_layer("trace")


def run_program(tmp_path: Path, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **variables},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stderr


def test_whole_process(tmp_path: Path) -> None:
    assert run_program(tmp_path, WIA_LAYERS="trace", WIA_TRACE_FILE="t-%p-x.json") == ""
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("t-")
    assert path.name.endswith("-x.json")
    assert "%" not in path.name
    assert [s["name"] for s in check_trace(path) if s["cat"] == "kernel"] == ["add"]


def test_layers_that_fail_are_a_warning(tmp_path: Path) -> None:
    assert '"tracer", which is no layer' in run_program(tmp_path, WIA_LAYERS="tracer")
    missing = str(tmp_path / "missing" / "t.json")
    stderr = run_program(tmp_path, WIA_LAYERS="trace", WIA_TRACE_FILE=missing)
    assert "the trace was not written" in stderr
    assert "No such file" in stderr
    assert not list(tmp_path.iterdir())
