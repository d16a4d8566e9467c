"""Streams and events: order, waits, failures (scenarios 16 to 18), signals, threads."""

from __future__ import annotations

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from slow_driver import Slow
from support import RunPython, need

import wia


def test_work_on_a_stream(ctx: wia.Context) -> None:
    need(ctx, "add", "float32")
    with ctx.stream() as stream, wia.Event(ctx) as event:
        assert event.state == "none"
        assert stream.done
        total = ctx.zeros(1000)
        one = ctx.full(1000, 1)
        for _ in range(50):
            ctx.add(total, one, out=total, stream=stream)
        event.record(stream)
        event.wait(timeout=20)
        assert event.state == "done"
        stream.synchronize(timeout=20)
        assert stream.done
        assert total.tolist() == [50.0] * 1000
        event.reset()
        assert event.state == "none"


def test_reading_waits_for_the_work(slow: wia.Context) -> None:
    """A read on no stream waits for work on the memory that it reads, and for nothing else."""
    with slow.stream() as stream:
        a, other = slow.tensor([-1.0, 2.0]), slow.tensor([5.0])
        out = slow.relu(a, stream=stream)
        assert not stream.done
        assert other.tolist() == [5.0]
        assert "shape=(2,)" in repr(out)  # a text doesn't wait
        threading.Timer(0.2, Slow.gate.set).start()
        assert out.tolist() == [0.0, 2.0]
        assert out.numpy(copy=False).tolist() == [0.0, 2.0]


def test_time_outs(slow: wia.Context) -> None:
    """Scenario 18: zero and finite time-outs; an event that was never recorded."""
    with slow.stream() as stream, wia.Event(slow) as event, wia.Event(slow) as never:
        slow.relu(slow.zeros(1), stream=stream)
        event.record(stream)
        assert event.state == "pending"
        for timeout in (0, 0.25):
            start = time.monotonic()
            for wait in (stream.synchronize, event.wait, never.wait):
                with pytest.raises(TimeoutError, match=f"within {timeout:g} s"):
                    wait(timeout)
            assert 3 * timeout <= time.monotonic() - start < 3 * timeout + 5
        with pytest.raises(wia.InvalidArgumentError):
            stream.synchronize(-1)
        with pytest.raises(wia.InvalidArgumentError):
            event.wait(float("nan"))
        with pytest.raises(wia.FailedPreconditionError):
            event.elapsed_ns(never)
        Slow.gate.set()
        event.wait(20)
        assert event.elapsed_ns(event) == 0


def test_streams_are_ordered_by_events(slow: wia.Context) -> None:
    with slow.stream() as first, slow.stream() as second, wia.Event(slow) as event:
        a, b = slow.tensor([-1.0]), slow.empty(1)
        slow.relu(a, out=b, stream=first)
        event.record(first)
        second.wait(event)
        result = np.empty(1, np.float32)
        b.read(result, stream=second)
        assert not second.done
        Slow.gate.set()
        second.synchronize(20)
        assert result[0] == 0.0


def test_a_failure_stays_with_its_stream(slow: wia.Context) -> None:
    """Scenarios 16 and 17: waiters wake, the stream repeats its first failure, others live.

    Guards: the failure kept in the stream's queue; without it synchronize() returns at once.
    """
    one, two = slow.full(1, 1), slow.full(1, 2)
    with slow.stream() as bad, slow.stream() as good, wia.Event(slow) as event:
        slow.add(one, one, stream=bad)
        event.record(bad)
        for _ in range(2):
            with pytest.raises(wia.DataLossError, match="the first failure") as caught:
                bad.synchronize(20)
        assert caught.value.driver == "slow"
        assert "Traceback" in caught.value.cause
        with pytest.raises(wia.DataLossError, match="the first failure"):
            slow.add(one, two, stream=bad)
        with pytest.raises(wia.DataLossError, match="the first failure"):
            assert bad.done
        with pytest.raises(wia.DataLossError, match="the first failure"):
            event.wait(20)
        assert event.state == "failed"
        # Who waits for a failed point fails with it; a stream that doesn't, goes on.
        with slow.stream() as follower:
            follower.wait(event)
            with pytest.raises(wia.DataLossError, match="the first failure"):
                follower.synchronize(20)
        Slow.gate.set()
        slow.relu(one, stream=good)
        good.synchronize(20)
        bad.reset()
        bad.synchronize(20)
        slow.relu(one, stream=bad)
        bad.synchronize(20)


def test_a_failure_that_is_a_time_out(slow: wia.Context) -> None:
    """An endless wait ends when the work failed with the status of a time-out.

    Guard: is_failed in wia._wait.wait; without it this waits for ever.
    """
    one = slow.full(1, 1)
    with slow.stream() as stream:
        slow.mul(one, one, stream=stream)
        with pytest.raises(wia.DeadlineExceededError, match="the hardware timed out"):
            stream.synchronize()


def test_errors_found_at_submission_fail_no_stream(ctx: wia.Context) -> None:
    need(ctx, "add", "float32")
    with ctx.stream() as stream:
        with pytest.raises(wia.InvalidArgumentError):
            ctx.add(ctx.zeros(2), ctx.zeros(3), stream=stream)
        ctx.add(ctx.zeros(2), ctx.zeros(2), stream=stream)
        stream.synchronize(20)


def test_copies_on_a_stream_keep_the_host_memory(slow: wia.Context) -> None:
    """Temporary arrays live until the copy is done.

    Guard: enqueue_with; without it the copy reads memory that numpy has given to others.
    """
    with slow.stream() as stream:
        blocker = slow.relu(slow.zeros(1), stream=stream)
        tensors = [slow.empty(100_000) for _ in range(20)]
        for i, tensor in enumerate(tensors):
            tensor.write(np.full(100_000, i, np.float32), stream=stream)
        garbage = [np.full(100_000, -1, np.float32) for _ in range(40)]
        Slow.gate.set()
        stream.synchronize(20)
        assert len(garbage) == 40
        for i, tensor in enumerate(tensors):
            assert set(tensor.tolist()) == {i}
        assert blocker.tolist() == [0.0]


def test_closing_a_stream_with_work_in_flight(slow: wia.Context) -> None:
    """Scenario 13 from Python: the work is done, the memory is kept for it."""
    stream = slow.stream()
    a = slow.tensor([-1.0, 3.0])
    out = slow.relu(a, stream=stream)
    stream.close()
    a.close()
    with pytest.raises(wia.InvalidHandleError):
        stream.synchronize(0)
    Slow.gate.set()
    assert out.tolist() == [0.0, 3.0]


def test_many_threads(ctx: wia.Context) -> None:
    """Contexts, tensors and one stream, shared by threads."""
    need(ctx, "add", "float32")
    with ctx.stream() as stream:
        one = ctx.full(64, 1)

        def work(seed: int) -> None:
            mine = ctx.full(64, seed)
            for _ in range(100):
                mine = ctx.add(mine, one, stream=stream if seed % 2 else None)
            assert mine.tolist() == [seed + 100.0] * 64

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(16)))


def test_forgotten_resources_warn(ctx: wia.Context) -> None:
    with pytest.warns(ResourceWarning, match=r"wia\.Stream.*never closed"):
        ctx.stream()
    with pytest.warns(ResourceWarning, match=r"wia\.Event.*never closed"):
        wia.Event(ctx)


INTERRUPTED = """
import os, signal, threading, time, wia
from wia.driver import Driver, kernel
class Test(Driver):
    name = "test"
    @kernel("relu")
    def relu(self, node):
        def run(x, out):
            time.sleep(0.5)
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(3)
        return run
wia.register_driver(Test)
ctx = wia.Context("test")
stream = ctx.stream()
start = time.monotonic()
try:
    out = ctx.relu(ctx.zeros(1), stream=stream)
    WAIT
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - start < 3)
"""


@pytest.mark.parametrize("waiting", ["stream.synchronize()", "out.numpy()", "ctx.relu(out)"])
def test_waits_see_signals(waiting: str, run_python: RunPython) -> None:
    """Ctrl-C ends waits without a time-out, those for work in flight too.

    Guards: the slices of wia._wait.wait and of await_mark in hal/mark.c.
    """
    result = run_python(INTERRUPTED.replace("WAIT", waiting))
    assert result.stdout == "interrupted True\n", result.stderr


EXITING = """
import threading, time, wia
from wia.driver import Driver, kernel
class Test(Driver):
    name = "test"
    @kernel("relu", in_place=True)
    def relu(self, node):
        def run(x, out):
            raise {exception}
        return run
wia.register_driver(Test)
ctx = wia.Context("test")
stream = ctx.stream()
x = ctx.zeros(1)
try:
    ctx.relu(x{stream})
    stream.synchronize()
    time.sleep(5)
except {kind} as error:
    print("raised", error)
"""


@pytest.mark.parametrize("stream", ["", ", stream=stream"])
@pytest.mark.parametrize("exception", ["SystemExit(3)", "KeyboardInterrupt('stop')"])
def test_exits_in_kernels_rise_in_the_main_thread(
    run_python: RunPython, exception: str, stream: str
) -> None:
    """Nested, and from a worker thread. Guard: _pass_on in wia._callbacks."""
    kind, _, rest = exception.partition("(")
    code = EXITING.format(exception=exception, kind=kind, stream=stream)
    result = run_python(code)
    assert result.stdout == f"raised {rest.strip(chr(39) + ')')}\n", result.stderr


def test_signal_module_is_untouched() -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
