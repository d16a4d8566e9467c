"""The Python side of the registry: finds drivers by entry points and loads them when asked to.

Importing this module registers it with libwia. In a C process libwia itself has it imported.
"""

from __future__ import annotations

import atexit
import re
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from wia._callbacks import callback
from wia._errors import (
    DeadlineExceededError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    WiaError,
    check,
)
from wia._native import NULL, ffi, lib, new_struct, text

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["at_exit"]

GROUP = "wia.drivers"
_EXIT_TIMEOUT_NS = 10_000_000_000
_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


class _Found(NamedTuple):
    """An entry point; problem is "" or why it can't be used."""

    name: str
    source: str
    version: str
    problem: str
    entry_point: EntryPoint | None


def _find_entry_points() -> Iterator[_Found]:
    """Every entry point of the group, broken ones too; each distribution once, as imports do."""
    from importlib.metadata import distributions

    seen = set()
    for distribution in distributions():
        # The name is in METADATA, which may be what is broken: then its folder has to do.
        name, file = str(getattr(distribution, "_path", "?")), "METADATA"
        try:
            name, version = distribution.metadata["Name"] or name, distribution.version or ""
            key = re.sub(r"[-_.]+", "-", name).lower()
            if key in seen:
                continue
            seen.add(key)
            file = "entry_points.txt"
            entry_points = distribution.entry_points
        except Exception as error:
            # Other people's packages: only those that speak of WIA concern us.
            listed = _read_broken(distribution)
            if f"[{GROUP}]" in listed:
                problem = f"its {file} can't be read: {type(error).__name__}: {error}"
                yield _Found("", f"the distribution {name}", "", problem, None)
            continue
        for point in entry_points:
            if point.group == GROUP:
                source = f"{point.name} = {point.value} ({name} {version})"
                yield _Found(point.name, source, version, _find_problem(point), point)


def _read_broken(distribution: Any) -> str:
    try:
        return distribution.read_text("entry_points.txt") or ""
    except Exception:
        return ""


def _find_problem(point: EntryPoint) -> str:
    if not _REFERENCE.fullmatch(point.value):
        return f"the entry point's value is {point.value!r}; expected package.module:Class"
    return ""


@callback("discover")
def _discover(add: Any, context: Any, out_error: Any) -> int:
    for found in _find_entry_points():
        # Each text has to live until add has returned.
        texts = [
            ffi.new("char[]", value.encode("utf-8", "replace"))
            for value in (found.name, found.source, found.version, found.problem)
        ]
        add(context, *texts[:3], texts[3] if found.problem else NULL)
    return 0


class _Loading(threading.Thread):
    """Loads one driver on a thread of its own, so that one that hangs can be given up."""

    def __init__(self, found: _Found) -> None:
        super().__init__(name=f"wia-load-{found.name}", daemon=True)
        self.found = found
        self.table: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Imports the entry point and makes its table; keeps what goes wrong."""
        from wia.driver._table import make_driver, make_table

        try:
            if self.found.entry_point is None or self.found.problem:
                raise InvalidArgumentError(self.found.problem)
            driver = make_driver(self.found.entry_point.load())
            if driver.name != self.found.name:
                raise InvalidArgumentError(
                    f"the entry point is named {self.found.name!r}, but its driver's name is "
                    f"{driver.name!r}; they have to be equal"
                )
            self.table = make_table(driver)
        except BaseException as error:  # SystemExit too: it must not end more than this driver
            self.error = error


@callback("load")
def _load(name: Any, source: Any, timeout_ns: int, out_table: Any, out_error: Any) -> int:
    wanted = (text(name), text(source))
    for found in _find_entry_points():
        if (found.name, found.source) == wanted:
            break
    else:
        raise NotFoundError(f"The entry point {wanted[1]} is there no more.")
    thread = _Loading(found)
    thread.start()
    thread.join(timeout_ns / 1e9)
    if thread.is_alive():
        raise DeadlineExceededError(
            f"{found.source} was not imported within {timeout_ns / 1e9:g} s. WIA_DRIVER_TIMEOUT "
            "sets how long a driver may take.",
            cause=_where(thread),
        )
    if isinstance(thread.error, SystemExit | KeyboardInterrupt):
        raise InternalError(
            f"{found.source} raised {type(thread.error).__name__}({thread.error}) while it was "
            "imported. A driver that can't work here raises wia.UnavailableError."
        ) from thread.error
    if isinstance(thread.error, WiaError):
        raise thread.error
    if thread.error is not None:
        raise InternalError(
            f"{found.source} raised {type(thread.error).__name__}: {thread.error}"
        ) from thread.error
    out_table[0] = thread.table
    return 0


@callback("log_function")
def _log(context: Any, level: int, subsystem: Any, driver: Any, message: Any) -> None:
    from wia._log import write

    write(level, text(subsystem), text(driver), text(message))


@callback("check_signals")
def _check_signals(out_error: Any) -> int:
    # In the main thread Python has run the handlers by now: it does so before a function begins.
    return 0


def _where(thread: threading.Thread) -> str:
    """Where a thread is now."""
    import sys
    import traceback

    frame = sys._current_frames().get(thread.ident or 0)
    return "".join(traceback.format_stack(frame)) if frame else ""


_exit_hooks: list[Any] = []


def at_exit(function: Any) -> None:
    """Has a function called before the gate to Python closes, at interpreter exit."""
    _exit_hooks.append(function)


def _exit() -> None:
    """Lets nobody into Python any more, and waits for those who are inside."""
    for hook in _exit_hooks:
        hook()
    if not lib.wia__python_is_ours():
        lib.wia_set_log_callback(NULL, NULL)
    lib.wia__close_gate(_EXIT_TIMEOUT_NS)


def _register() -> Any:
    bridge = new_struct("wia__bridge_t")
    bridge.discover = ffi.addressof(lib, "wia__gate_discover")
    bridge.load = ffi.addressof(lib, "wia__gate_load")
    if not lib.wia__python_is_ours():
        bridge.check_signals = ffi.addressof(lib, "wia__gate_check_signals")
        check(lib.wia_set_log_callback(ffi.addressof(lib, "wia__gate_log_function"), NULL))
    check(lib.wia__set_bridge(bridge))
    atexit.register(_exit)
    return bridge


_bridge = _register()
