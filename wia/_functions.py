"""Functions of Python that streams and events call, once each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wia._callbacks import callback
from wia._errors import WiaError, check, make_error
from wia._native import ffi, lib

__all__ = ["HostFunction", "call_on_event", "enqueue_function", "keep_function"]

HostFunction = Callable[[WiaError | None], object]
"""Called with None when the work before is done, else with the reason why it is not."""

# The library has only the handles: the functions live here until they are called.
_waiting: dict[int, Any] = {}


def _keep(function: HostFunction) -> Any:
    handle = ffi.new_handle(function)
    _waiting[_key(handle)] = handle
    return handle


def _key(handle: Any) -> int:
    return int(ffi.cast("uintptr_t", handle))


def _call(context: Any, status: int) -> None:
    # A captured one is called with each launch of its graph, which keeps it.
    handle = _waiting.pop(_key(context), context)
    ffi.from_handle(handle)(make_error(status) if status else None)


@callback("host_function")
def _host_function(context: Any, status: int, out_error: Any) -> int:
    _call(context, status)
    return 0


@callback("event_function")
def _event_function(context: Any, status: int) -> None:
    _call(context, status)


def _hand_over(function: HostFunction, give: Callable[[Any], int]) -> None:
    handle = _keep(function)
    try:
        check(give(handle))
    except BaseException:
        _waiting.pop(_key(handle), None)
        raise


def keep_function(function: HostFunction) -> tuple[Any, Any]:
    """A function as the library calls it any number of times, and its context, for who keeps it."""
    return ffi.addressof(lib, "wia__gate_host_function"), ffi.new_handle(function)


def enqueue_function(stream: Any, function: HostFunction) -> None:
    """Has a stream, given by its handle, call a function in its order."""
    entry = ffi.addressof(lib, "wia__gate_host_function")
    _hand_over(function, lambda handle: lib.wia_enqueue_host_function(stream, entry, handle))


def call_on_event(event: Any, function: HostFunction) -> None:
    """Has a function called when the point of an event, given by its handle, is finished."""
    entry = ffi.addressof(lib, "wia__gate_event_function")
    _hand_over(function, lambda handle: lib.wia_call_on_event(event, entry, handle))
