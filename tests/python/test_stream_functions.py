"""Streams and events beyond order: functions, signals, cancelling, whole devices, priorities."""

from __future__ import annotations

import gc
import threading
import time

import pytest
from slow_driver import Slow
from support import need

import wia


def test_functions(slow: wia.Context) -> None:
    """In order, with what came of the work before; what they raise fails the stream (20)."""
    told: list[str | None] = []

    def tell(error: wia.WiaError | None) -> None:
        told.append(error.status if error else None)

    def fail(error: wia.WiaError | None) -> None:
        raise wia.DataLossError("the file ended")

    x = slow.tensor([1.0])
    with slow.stream() as stream:
        out = slow.relu(x, stream=stream)
        stream.call(tell)
        assert told == []
        Slow.gate.set()
        stream.synchronize(20)
        assert told == [None]
        assert out.tolist() == [1.0]
        Slow.gate.clear()
        slow.relu(x, stream=stream)  # so that both are queued before one fails
        stream.call(fail)
        stream.call(tell)
        Slow.gate.set()
        with pytest.raises(wia.DataLossError, match="the file ended"):
            stream.synchronize(20)
        with pytest.raises(wia.DataLossError):  # refused, so never called
            stream.call(tell)
        assert told == [None, "DATA_LOSS"]
        stream.reset()


def test_a_function_does_not_wait_for_its_own_stream(ctx: wia.Context) -> None:
    caught: list[str] = []
    with ctx.stream() as stream:

        def wait(error: wia.WiaError | None) -> None:
            with pytest.raises(wia.FailedPreconditionError) as raised:
                stream.synchronize()
            caught.append(raised.value.status)

        stream.call(wait)
        stream.synchronize(20)
    assert caught == ["FAILED_PRECONDITION"]


@pytest.mark.parametrize("caller", ["stream", "event"])
def test_functions_come_back_and_close_what_they_are_called_for(
    ctx: wia.Context, caller: str
) -> None:
    """Scenario 20 from Python: new work, their own stream, event and tensor; nothing waits."""
    need(ctx, "add", "float32")
    called = threading.Event()
    problems: list[object] = []
    stream, event, x = ctx.stream(), wia.Event(ctx), ctx.tensor([1.0])

    def act(error: wia.WiaError | None) -> None:
        try:
            assert error is None
            with ctx.stream() as other:
                out = ctx.add(x, x, stream=other)
                other.synchronize(20)
                assert out.tolist() == [2.0]
            assert ctx.add(x, x).tolist() == [2.0]
            stream.close()
            event.close()
            x.close()
            gc.collect()
        except BaseException as problem:
            problems.append(problem)
        called.set()

    ctx.add(x, x, stream=stream)
    if caller == "stream":
        stream.call(act)
    else:
        event.call(act)
        event.record(stream)
    assert called.wait(30)
    assert problems == []
    with pytest.raises(wia.InvalidHandleError):
        stream.synchronize(0)


def test_a_function_that_blocks_holds_up_its_stream_alone(ctx: wia.Context) -> None:
    """And the waits for that end at their time."""
    need(ctx, "add", "float32")
    inside, go_on = threading.Event(), threading.Event()

    def block(error: wia.WiaError | None) -> None:
        inside.set()
        go_on.wait(60)

    with ctx.stream() as stream, ctx.stream() as other:
        stream.call(block)
        assert inside.wait(30)
        with pytest.raises(wia.DeadlineExceededError):
            stream.synchronize(0.01)
        x = ctx.tensor([1.0])
        assert ctx.add(x, x, stream=other).tolist() == [2.0]
        other.synchronize(20)
        go_on.set()
        stream.synchronize(20)


def test_cancel(slow: wia.Context) -> None:
    x = slow.tensor([1.0])
    told: list[str | None] = []
    with slow.stream() as stream, wia.Event(slow) as event:
        running = slow.relu(x, stream=stream)
        time.sleep(0.05)  # until it runs; if it didn't, it would be cancelled too
        slow.relu(x, stream=stream)
        event.record(stream)
        event.call(lambda error: told.append(error.status if error else None))
        stream.cancel()
        Slow.gate.set()
        with pytest.raises(wia.CancelledError):
            event.wait(20)
        with pytest.raises(wia.CancelledError):
            stream.synchronize(20)
        assert told == ["CANCELLED"]
        stream.reset()
        assert running.tolist() == [1.0]


def test_signalled_events(ctx: wia.Context) -> None:
    told: list[str | None] = []
    with ctx.stream() as stream, wia.Event(ctx) as event:
        stream.wait(event)
        event.call(lambda error: told.append(error.status if error else None))
        assert not stream.done
        event.signal()
        stream.synchronize(20)
        assert told == [None]
        stream.wait(event)
        stream.synchronize(20)
        event.signal(wia.UnavailableError("no more frames"))
        stream.wait(event)
        with pytest.raises(wia.UnavailableError, match="no more frames"):
            stream.synchronize(20)
        stream.reset()
        event.signal(KeyError("k"))
        with pytest.raises(wia.UnknownError, match="k"):
            event.wait(20)


def test_whole_devices_and_memory_in_use(slow: wia.Context) -> None:
    x = slow.tensor([1.0])
    with slow.stream() as stream:
        other = slow.full((4,), 2.0)
        slow.relu(x, stream=stream)
        other.record_stream(stream)
        with pytest.raises(wia.DeadlineExceededError):
            slow.synchronize(0.01)
        Slow.gate.set()
        slow.synchronize(20)
        assert other.tolist() == [2.0] * 4


def test_priorities(ctx: wia.Context) -> None:
    priorities = ctx.device.stream_priorities()
    assert priorities[0] == 0
    with ctx.stream(priority=priorities[-1]) as stream:
        stream.synchronize(20)
    with pytest.raises(wia.InvalidArgumentError, match="priority is 11; expected 0"):
        ctx.stream(priority=priorities[-1] + 1)
