"""The library's log in Python's logging: loggers below "wia", one per subsystem."""

from __future__ import annotations

import sys

from wia._errors import check
from wia._explain import explained
from wia._native import lib

__all__ = ["set_log_level", "write"]

_WORDS = ("none", "error", "warning", "info", "debug")
_LEVELS = (0, 40, 30, 20, 10)
"""Those of the standard module, which is imported when there is a line to write."""


@explained
def set_log_level(levels: str) -> None:
    """Sets what the library logs: a level, then exceptions, as in WIA_LOG.

    The levels are none, error, warning, info and debug; "info,plan=debug" also tells of each kernel
    that is prepared. Lines go to the loggers "wia.<subsystem>" and "wia.driver.<driver>" of the
    module logging, or to stderr while these have no handler. A line has to pass the level here,
    then that of its logger. Raises InvalidArgumentError, which lists the subsystems.

    >>> import wia
    >>> wia.set_log_level("warning,discovery=info")
    """
    check(lib.wia_set_log_level(levels.encode()))


def write(level: int, subsystem: str, driver: str, message: str) -> None:
    """Hands a line to its logger, or to stderr as a C program has it."""
    import logging

    name = ".".join(filter(None, ("wia", subsystem, driver if subsystem == "driver" else "")))
    logger = logging.getLogger(name)
    if logger.hasHandlers():
        shown = f"{driver}: {message}" if driver and subsystem != "driver" else message
        logger.log(_LEVELS[level], "%s", shown)
        return
    parts = [driver or subsystem] if subsystem == "driver" else [subsystem, driver]
    print(*filter(None, ("wia", _WORDS[level], *parts, message)), sep=": ", file=sys.stderr)
