"""Streams: queues of asynchronous work, in order each."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from wia import _host
from wia._errors import check
from wia._explain import checked, explains_methods
from wia._functions import HostFunction, enqueue_function, keep_function
from wia._native import ffi, lib, new_struct
from wia._resource import Resource, destroyer
from wia._wait import wait

if TYPE_CHECKING:
    from wia._context import Context
    from wia._event import Event
    from wia._graph import Graph

__all__ = ["Stream", "capture_keeps", "enqueue_with", "keep"]


@explains_methods
class Stream(Resource):
    """A queue of work on the device of a context.

    >>> import wia
    >>> with wia.Context("reference") as ctx, ctx.stream() as stream:
    ...     total = ctx.add(ctx.tensor([1.0, 2.0]), ctx.tensor([3.0, 4.0]), stream=stream)
    ...     stream.synchronize(timeout=10)
    ...     total.tolist()
    [4.0, 6.0]
    """

    __slots__ = ("_context",)
    _destroy = destroyer("stream")

    def __init__(self, context: Context, *, priority: int = 0) -> None:
        """A stream of a priority in the device's stream_priorities; lower numbers go first."""
        out = ffi.new("wia_stream_t **")
        config = new_struct("wia_stream_config_t")
        config.priority = priority
        check(lib.wia_create_stream_with_config(out, context._handle, config))
        super().__init__(out[0])
        self._context = context

    @property
    def context(self) -> Context:
        """The context that the stream was made with."""
        return self._context

    @property
    def done(self) -> bool:
        """Whether all work enqueued so far is done. Raises the error of the first that failed."""
        done = ffi.new("uint32_t *")
        check(lib.wia_query_stream(self._handle, done))
        return bool(done[0])

    def synchronize(self, timeout: float | None = None) -> None:
        """Waits until all work enqueued so far is done.

        Raises DeadlineExceededError after timeout seconds, and the error of the first work that
        failed, each time, until reset().
        """
        handle, done = self._handle, ffi.new("uint32_t *")
        wait(
            repr(self),
            lambda left: int(lib.wia_synchronize_stream(handle, left)),
            lambda: lib.wia_query_stream(handle, done) != 0,
            timeout,
        )

    def wait(self, event: Event) -> None:
        """Makes later work on this stream wait for the event's point; doesn't wait itself."""
        check(lib.wia_enqueue_wait(self._handle, event._handle))

    @checked
    def capture(self, *, name: str = "graph") -> AbstractContextManager[Graph]:
        """Notes what is enqueued inside of the with block instead of running it, as a graph.

        Another stream joins with wait() for an event that was recorded in the capture, and this one
        has to wait for an event behind its work before the end. What would have to wait for
        captured work raises FailedPreconditionError. Arrays that are copied from or to, and
        functions, are used anew by each launch, and kept by the graph. An exception drops the
        capture.
        """
        from wia._graph import capture

        return capture(self, name)

    @property
    def is_capturing(self) -> bool:
        """Whether what is enqueued is captured: by capture() here, or by another that it joined."""
        return _is_capturing(self._handle)

    @checked
    def call(self, function: HostFunction) -> None:
        """Has a function called in the stream's order, on a thread of the library.

        It gets None when the work before is done, else the reason why it is not (a WiaError: the
        stream failed or was cancelled). What it raises fails the stream. It may use the stream, but
        waiting for it raises FailedPreconditionError.
        """
        if self.is_capturing:
            entry, handle = keep_function(function)
            keep(self, [handle])
            check(lib.wia_enqueue_host_function(self._handle, entry, handle))
        else:
            enqueue_function(self._handle, function)

    def cancel(self) -> None:
        """Fails what is queued with CancelledError; what is running goes on. Doesn't wait.

        If there was anything to cancel, the stream needs reset() afterwards.
        """
        check(lib.wia_cancel_stream(self._handle))

    def reset(self) -> None:
        """Makes a failed stream usable again: drops its queue and forgets the error."""
        check(lib.wia_reset_stream(self._handle))

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"{int(ffi.cast('uintptr_t', self._handle)):#x}"
        return f"wia.Stream({state}, device={self._context.device.name!r})"


_EXIT_TIMEOUT_NS = 10_000_000_000
# Host memory that enqueued copies read or write, each with an event recorded behind its copy.
_in_use: list[tuple[Any, object]] = []
_lock = threading.Lock()
# Of each capture that goes on, what its graph is to keep.
_captures: list[list[Any]] = []


@contextmanager
def capture_keeps(kept: list[Any]) -> Iterator[None]:
    """While a capture goes on: what is given to keep() is added to the list."""
    _captures.append(kept)
    try:
        yield
    finally:
        _captures[:] = [other for other in _captures if other is not kept]


def _is_capturing(handle: Any) -> bool:
    capturing = ffi.new("uint32_t *")
    check(lib.wia_query_capture(handle, capturing))
    return bool(capturing[0])


def keep(stream: Stream, values: list[Any]) -> bool:
    """Keeps what captured work uses, as long as the graph; False: the stream doesn't capture.

    Which capture a stream has joined only the library knows, so all that go on keep it.
    """
    if not _is_capturing(stream._handle):
        return False
    for kept in list(_captures):
        kept.extend(values)
    return True


def enqueue_with(stream: Stream, value: object, enqueue: Callable[[], int]) -> None:
    """Enqueues work that uses the memory of an object, and keeps it alive until that is done."""
    if keep(stream, [value]):
        check(enqueue())
        return
    out = ffi.new("wia_event_t **")
    check(lib.wia_create_event(out, stream._context._handle))
    event = ffi.gc(out[0], lib.wia_destroy_event)
    with _lock:
        _in_use[:] = [entry for entry in _in_use if _is_pending(entry[0])]
        check(enqueue())
        _in_use.append((event, value))
        check(lib.wia_record_event(event, stream._handle))


def _forget() -> None:
    """In a process that was forked off: the copies are the parent's."""
    global _lock
    _lock = threading.Lock()
    _in_use.clear()
    _captures.clear()


os.register_at_fork(after_in_child=_forget)


def _is_pending(event: Any) -> bool:
    state = ffi.new("int32_t *")
    return not lib.wia_query_event(event, state) and state[0] == lib.WIA_EVENT_PENDING


def _wait_for_all() -> None:
    """At exit: the interpreter is about to free the memory that copies still use."""
    deadline = time.monotonic_ns() + _EXIT_TIMEOUT_NS
    with _lock:
        for event, _ in _in_use:
            lib.wia_wait_event(event, max(0, deadline - time.monotonic_ns()))


_host.at_exit(_wait_for_all)
