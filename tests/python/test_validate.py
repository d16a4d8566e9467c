"""The layer validate from Python: findings, their places, errors and leaks."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from support import RunPython

import wia


@pytest.fixture(autouse=True)
def _validate() -> Iterator[None]:
    wia.clear_findings()
    with wia.enable_layer("validate"):
        yield
    wia.clear_findings()


def line(below: int) -> str:
    """The line so many below that of the call, as findings write it."""
    frame = sys._getframe(1)
    return f"{__file__}:{frame.f_lineno + below} in {frame.f_code.co_name}"


def test_a_race_names_both_lines(ctx: wia.Context) -> None:
    a, out = ctx.tensor([1.0, 2.0]), ctx.tensor([0.0, 0.0])
    with ctx.stream() as one, ctx.stream() as two:
        first = line(1)
        ctx.add(a, a, out=out, stream=one)
        second = line(1)
        ctx.add(a, out, out=a, stream=two)
    race, *others = wia.validation_report()
    assert (race.kind, race.hazard) == ("race", "read after write")
    assert (race.operation, race.other_operation) == ("add", "add")
    assert (race.function, race.other_function) == ("wia_add", "wia_add")
    assert (race.site, race.other_site) == (second, first)
    assert race.stream != race.other_stream
    assert (race.size, race.times, race.device_id) == (8, 1, ctx.device.id)
    assert "reads its input 1 where add on stream" in race.message
    assert f"this call: {second}" in race.message
    assert [other.hazard for other in others] == ["write after read"]


def test_events_and_waits_order(ctx: wia.Context) -> None:
    a, out = ctx.tensor([1.0, 2.0]), ctx.tensor([0.0, 0.0])
    with ctx.stream() as one, ctx.stream() as two, wia.Event(ctx) as event:
        ctx.add(a, a, out=out, stream=one)
        event.record(one)
        two.wait(event)
        ctx.add(out, out, out=a, stream=two)
        assert a.tolist() == [4.0, 8.0]
        ctx.add(a, a, out=out, stream=one)
        one.synchronize()
        ctx.add(a, a, out=out, stream=two)
    assert wia.validation_report() == []


def test_interleaved_views_are_apart(ctx: wia.Context) -> None:
    whole = ctx.tensor(np.zeros(8, np.float32))
    with ctx.stream() as one, ctx.stream() as two:
        ctx.add(whole[::2], whole[::2], out=whole[::2], stream=one)
        ctx.add(whole[1::2], whole[1::2], out=whole[1::2], stream=two)
    assert wia.validation_report() == []


def test_threads_that_order_themselves_do_not_race(ctx: wia.Context) -> None:
    a = ctx.tensor([0.0])

    def step() -> None:
        ctx.add(a, a, out=a)

    for _ in range(4):
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()
    assert wia.validation_report() == []


def test_cyclic_waits(ctx: wia.Context) -> None:
    with (
        ctx.stream() as one,
        ctx.stream() as two,
        wia.Event(ctx) as first,
        wia.Event(ctx) as second,
    ):
        one.wait(second)
        two.wait(first)
        first.record(one)
        assert wia.validation_report() == []
        second.record(two)
        (cycle,) = wia.validation_report()
        assert cycle.kind == "cyclic wait"
        assert cycle.message.count("waits for an event of stream") == 2
        assert "in test_cyclic_waits" in cycle.site
        one.reset()
        two.reset()


ERRORS = """
import wia
with wia.Context("reference") as ctx:
    one, two = ctx.stream(), ctx.stream()
    a, out = ctx.tensor([1.0]), ctx.tensor([0.0])
    ctx.add(a, a, out=out, stream=one)
    try:
        ctx.add(a, a, out=out, stream=two)
    except wia.FailedPreconditionError as error:
        print(str(error).splitlines()[-1])
    one.synchronize()
    out.close(); a.close(); one.close(); two.close()
"""


def test_findings_as_errors(run_python: RunPython) -> None:
    done = run_python(ERRORS, environment={"WIA_LAYERS": "validate", "WIA_VALIDATE": "error"})
    assert done.stdout.strip() == "the other: <string>:6"
    assert done.stderr.startswith("wia: warning: validate: race, write after write: add on stream")
    assert "leak" not in done.stderr


def test_other_settings_are_a_warning(run_python: RunPython) -> None:
    done = run_python("import wia", environment={"WIA_LAYERS": "validate", "WIA_VALIDATE": "on"})
    assert 'WIA_VALIDATE is "on"; expected report or error; report is used' in done.stderr


def test_leaks_of_a_statement() -> None:
    context = wia.Context("reference")
    tensors = [context.tensor([1.0, 2.0]) for _ in range(3)]
    leaks = [leak for leak in wia.leak_report() if __file__ in leak.site]
    found = {leak.object: (leak.times, leak.size, leak.function) for leak in leaks}
    assert found["context"] == (1, 0, "wia_create_context")
    assert found["tensor"] == (3, 24, "wia_allocate_tensor")
    for tensor in tensors:
        tensor.close()
    context.close()
    assert [leak for leak in wia.leak_report() if __file__ in leak.site] == []


LEAK = """
import ctypes
import wia
from wia._native import ffi, lib
kept = ffi.new("void **")
assert lib.wia_malloc(kept, 64, wia.find_device("reference").id) == 0
"""


def test_leaks_at_exit(run_python: RunPython) -> None:
    done = run_python(LEAK, environment={"WIA_LAYERS": "validate"})
    assert done.stderr.splitlines() == [
        "wia: warning: validate: leak: memory on reference:0 (1 live, 64 bytes)",
        "  made at: <string>:6",
    ]
