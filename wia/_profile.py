"""Profiling: where the time of calls, kernels, copies and waits goes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from wia._errors import NotFoundError, check
from wia._explain import checked, explained, explains_methods
from wia._native import ffi, lib, new_struct

if TYPE_CHECKING:
    from wia._context import Context

__all__ = ["KernelTotal", "Profile", "ProfileEvent", "annotate", "profile"]

_KINDS = (
    *("", "call", "kernel", "group", "copy", "fill", "wait", "prepare", "function", "range"),
    "graph",
)


class ProfileEvent(NamedTuple):
    """One span of time, in nanoseconds of the host's monotonic clock (time.monotonic_ns())."""

    kind: str
    """call, kernel, group, copy, fill, wait, prepare, function, range or graph."""
    name: str
    begin_ns: int
    end_ns: int
    correlation_id: int
    """Of the call that the event belongs to; 0: of none."""
    range_id: int
    """The number of the innermost range around that call."""
    thread: int
    stream: int
    """0: it ran on the thread; else the number of the stream that it ran on."""
    device_id: int
    peer_device_id: int
    size: int
    """Bytes that were copied or filled."""
    cut: bool
    """Whether it began before the profile."""


class KernelTotal(NamedTuple):
    """The launches of one operation, summed up."""

    name: str
    launches: int
    total_ns: int
    mean_ns: float
    share: float
    """Of the time of all kernels, 0 to 1."""


@explains_methods
class Profile:
    """A profile, running inside of its with statement and a report afterwards; see profile()."""

    __slots__ = ("_config", "_context", "_events", "_path", "_report", "_session")

    def __init__(self, path: str | None, context: Context | None, config: Any) -> None:
        self._path = path
        self._context = context
        self._config = config
        self._events: list[ProfileEvent] | None = None
        self._report: Any = None
        self._session: Any = None

    def __enter__(self) -> Self:
        if self._session is not None or self._report is not None:
            raise RuntimeError("A profile is for one with statement. Make another: wia.profile().")
        if self._path is not None and not os.path.isdir(os.path.dirname(self._path) or "."):
            raise NotFoundError(f"There is no folder for the profile {self._path!r}.")
        out = ffi.new("wia_profiling_session_t **")
        context = ffi.NULL if self._context is None else self._context._handle
        check(lib.wia_start_profiling(context, self._config, out))
        self._session = out[0]
        return self

    def __exit__(self, *exception: object) -> None:
        out = ffi.new("wia_profiling_report_t **")
        check(lib.wia_stop_profiling(self._session, out))
        self._session = None
        self._report = ffi.gc(out[0], lib.wia_destroy_profile_report)
        if self._path is not None:
            self.save(self._path)

    def _require_report(self) -> Any:
        if self._report is None:
            raise RuntimeError("The profile has no events before its with statement has ended.")
        return self._report

    @property
    def events(self) -> list[ProfileEvent]:
        """All events in the order in which they began, outer ones first."""
        if self._events is None:
            self._events = [self._read_event(i) for i in range(self._read_info().event_count)]
        return self._events

    @property
    def lost(self) -> int:
        """Events that did not fit into the rings of their threads; the oldest ones."""
        return int(self._read_info().lost_count)

    def kernels(self) -> list[KernelTotal]:
        """The operations that ran, that with the most time first.

        Of a group that ran as several kernels each of these counts, and not the group.
        """
        counts: dict[str, list[int]] = {}
        for event in self.events:
            if event.kind == "kernel":
                entry = counts.setdefault(event.name, [0, 0])
                entry[0] += 1
                entry[1] += event.end_ns - event.begin_ns
        whole = sum(total for _, total in counts.values()) or 1
        totals = [
            KernelTotal(name, count, total, total / count, total / whole)
            for name, (count, total) in counts.items()
        ]
        return sorted(totals, key=lambda one: (-one.total_ns, one.name))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes Chrome's trace events (JSON), for ui.perfetto.dev and the like.

        Whole or not at all. Raises NotFoundError or PermissionDeniedError for a path that can't be
        written to.
        """
        check(lib.wia_save_profile_report(self._require_report(), os.fsencode(path)))

    def _read_info(self) -> Any:
        info = new_struct("wia_profiling_report_info_t")
        check(lib.wia_get_profile_report_info(self._require_report(), info))
        return info

    def _read_event(self, index: int) -> ProfileEvent:
        event = new_struct("wia_profile_event_t")
        check(lib.wia_get_profile_event(self._report, index, event))
        return ProfileEvent(
            kind=_KINDS[event.kind],
            name=ffi.string(event.name).decode(errors="replace"),
            begin_ns=event.begin_ns,
            end_ns=event.end_ns,
            correlation_id=event.correlation_id,
            range_id=event.range_id,
            thread=event.thread,
            stream=event.stream,
            device_id=event.device_id,
            peer_device_id=event.peer_device_id,
            size=event.size,
            cut=bool(event.cut),
        )


@checked
@explained
def profile(
    path: str | os.PathLike[str] | None = None,
    context: Context | None = None,
    *,
    kernels: bool = True,
    copies: bool = True,
    event_capacity: int = 0,
) -> Profile:
    """Profiles what is inside of its with statement, on a context's device or on all.

    With a path, the file of Profile.save() is written at the end; a folder that isn't there is a
    NotFoundError at the beginning. event_capacity: events that each thread keeps; 0 is 65536, and
    the newest are kept. Work of streams that is still running at the end is left out: synchronize
    first.

    >>> import wia
    >>> with wia.Context("reference") as ctx, wia.profile(context=ctx) as report:
    ...     total = ctx.add(ctx.tensor([1.0, 2.0]), ctx.tensor([3.0, 4.0]))
    >>> [(kernel.name, kernel.launches) for kernel in report.kernels()]
    [('add', 1)]
    """
    config = new_struct("wia_profiling_config_t")
    config.capture_kernels = bool(kernels)
    config.capture_memory = config.capture_communication = bool(copies)
    config.event_capacity = event_capacity
    return Profile(None if path is None else os.fspath(path), context, config)


@explained
def annotate(name: str, correlation_id: int = 0) -> AbstractContextManager[None]:
    """Names a range of this thread in profiles; it costs little where nobody profiles.

    correlation_id is the caller's own number for it, which the calls inside carry as range_id.
    """
    return _annotate(name.encode(), ffi.new("uint64_t *", correlation_id)[0])


@contextmanager
def _annotate(name: bytes, correlation_id: int) -> Iterator[None]:
    check(lib.wia_push_range(name, correlation_id))
    try:
        yield
    finally:
        check(lib.wia_pop_range())
