"""Callbacks from C into Python: how what they raise becomes a status, a message and a cause."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from wia._errors import UnimplementedError, WiaError, interrupts
from wia._native import NULL, ffi, lib

__all__ = ["callback", "report", "set_error"]

Function = TypeVar("Function", bound=Callable[..., Any])

_BUILTINS: tuple[tuple[type[BaseException], int], ...] = (
    (NotImplementedError, lib.WIA_STATUS_UNIMPLEMENTED),
    (MemoryError, lib.WIA_STATUS_RESOURCE_EXHAUSTED),
    (TimeoutError, lib.WIA_STATUS_DEADLINE_EXCEEDED),
    (ImportError, lib.WIA_STATUS_UNAVAILABLE),
)
# Classes on their way into the main thread; C code holds them without a reference.
_raised: list[type[BaseException]] = []


def callback(name: str) -> Callable[[Function], Function]:
    """Makes a function the Python side of wia__py_<name>.

    What it raises is reported in its argument `out_error`, or in that of its argument `args`. A
    function without either has nobody to tell: it is written to the log.
    """

    def onerror(
        kind: type[BaseException], exception: BaseException, traceback: TracebackType | None
    ) -> int | None:
        from traceback import format_exception

        frame = traceback.tb_frame if traceback else None
        values = frame.f_locals if frame else {}
        out_error = values.get("out_error")
        if out_error is None and "args" in values:
            out_error = values["args"].out_error
        if out_error is None:
            text = "".join(format_exception(exception)).rstrip()
            lib.wia_get_host().log(NULL, lib.WIA_LOG_ERROR, f"in {name}: {text}".encode())
            return None
        is_nested = frame is not None and frame.f_back is not None
        return report(exception.with_traceback(traceback), out_error, is_nested=is_nested)

    def register(function: Function) -> Function:
        ffi.def_extern(f"wia__py_{name}", onerror=onerror)(function)
        return function

    return register


def set_error(out_error: Any, message: str, cause: str = "") -> None:
    """Puts texts into a `wia_error_t *`."""
    lib.wia_get_host().set_error_text(
        out_error, message.encode("utf-8", "replace"), cause.encode("utf-8", "replace") or NULL
    )


def report(exception: BaseException, out_error: Any, *, is_nested: bool) -> int:
    """Puts an exception into a `wia_error_t *` and returns its status.

    is_nested: Python code below in this thread is about to see the status, so it can raise again
    what must not be lost.
    """
    from traceback import format_exception

    cause = "".join(format_exception(exception))
    if not isinstance(exception, Exception):
        _pass_on(exception, is_nested=is_nested)
        set_error(out_error, f"{type(exception).__name__} in Python code of the driver.", cause)
        return int(lib.WIA_STATUS_CANCELLED)
    if isinstance(exception, WiaError):
        # A refusal is an answer, not an accident: nobody wants to see where it was written.
        refused = isinstance(exception, UnimplementedError)
        set_error(out_error, str(exception), exception.cause or ("" if refused else cause))
        return exception.code or int(lib.WIA_STATUS_UNKNOWN)
    set_error(out_error, f"{type(exception).__name__}: {exception}", cause)
    for kind, status in _BUILTINS:
        if isinstance(exception, kind):
            return status
    return int(lib.WIA_STATUS_INTERNAL)


def _pass_on(exception: BaseException, *, is_nested: bool) -> None:
    """Sees to it that KeyboardInterrupt and SystemExit rise again where a program catches them."""
    if is_nested:
        interrupts[threading.get_ident()] = exception
        return
    main = threading.main_thread().ident
    if lib.wia__python_is_ours() or main is None or main == threading.get_ident():
        return
    # Only a class can be raised in another thread: one that makes this very exception.
    kind = type(exception)
    arguments = exception.args
    members = {
        "__init__": lambda self: kind.__init__(self, *arguments),
        "__module__": kind.__module__,
    }
    copy = type(kind.__name__, (kind,), members)
    _raised.append(copy)
    lib.wia__raise_in_thread(main, id(copy))
