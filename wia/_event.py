"""Events: points in the work of a stream that others wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wia._errors import check
from wia._explain import checked, explains_methods
from wia._functions import HostFunction, call_on_event
from wia._native import NULL, ffi, lib
from wia._resource import Resource, destroyer
from wia._wait import wait

if TYPE_CHECKING:
    from wia._context import Context
    from wia._stream import Stream

__all__ = ["Event"]

_STATES = {
    lib.WIA_EVENT_NONE: "none",
    lib.WIA_EVENT_PENDING: "pending",
    lib.WIA_EVENT_DONE: "done",
    lib.WIA_EVENT_FAILED: "failed",
}


@explains_methods
class Event(Resource):
    """A point in the work of a stream, for streams of any device.

    >>> import wia
    >>> with wia.Context("reference") as ctx, ctx.stream() as stream, wia.Event(ctx) as event:
    ...     event.record(stream)
    ...     event.wait(timeout=10)
    ...     event.state
    'done'
    """

    __slots__ = ()
    _destroy = destroyer("event")

    def __init__(self, context: Context) -> None:
        out = ffi.new("wia_event_t **")
        check(lib.wia_create_event(out, context._handle))
        super().__init__(out[0])

    def record(self, stream: Stream) -> None:
        """Moves the event behind all work enqueued on the stream so far."""
        check(lib.wia_record_event(self._handle, stream._handle))

    def wait(self, timeout: float | None = None) -> None:
        """Waits for the event's point; for its first, if it was never recorded.

        Raises DeadlineExceededError after timeout seconds, and the error of the work that failed.
        """
        handle = self._handle
        wait(
            repr(self),
            lambda left: int(lib.wia_wait_event(handle, left)),
            lambda: self.state == "failed",
            timeout,
        )

    @checked
    def signal(self, error: BaseException | None = None) -> None:
        """Finishes the event from the host: as done, or as failed with an exception.

        Who waits for it gets the exception's status (UnknownError for one that is no WiaError) and
        text. An event that was recorded before gets a new point.
        """
        code, message = lib.WIA_STATUS_OK, NULL
        if error is not None:
            code = getattr(error, "code", None) or lib.WIA_STATUS_UNKNOWN
            message = (str(error) or type(error).__name__).encode("utf-8", "replace")
        check(lib.wia_signal_event(self._handle, code, message))

    @checked
    def call(self, function: HostFunction) -> None:
        """Has a function called when the event's point is finished; at once if it is.

        It gets None, or a WiaError of the failure's status, on whatever thread finishes the point,
        so it should be short. What it raises is only logged.
        """
        call_on_event(self._handle, function)

    @property
    def state(self) -> str:
        """One of none, pending, done and failed."""
        state = ffi.new("int32_t *")
        check(lib.wia_query_event(self._handle, state))
        return _STATES[state[0]]

    def elapsed_ns(self, end: Event) -> int:
        """Nanoseconds from this event's point to that of end.

        Raises FailedPreconditionError while one of them is not done.
        """
        elapsed = ffi.new("int64_t *")
        check(lib.wia_get_elapsed_time(self._handle, end._handle, elapsed))
        return int(elapsed[0])

    def reset(self) -> None:
        """Puts the event back to never recorded."""
        check(lib.wia_reset_event(self._handle))

    def __repr__(self) -> str:
        return "wia.Event(closed)" if self.closed else f"wia.Event({_number(self):#x})"


def _number(event: Event) -> int:
    return int(ffi.cast("uintptr_t", event._handle))
