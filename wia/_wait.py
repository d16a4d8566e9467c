"""Waiting in slices, so that a signal is seen while the library waits."""

from __future__ import annotations

import time
from collections.abc import Callable

from wia._errors import DeadlineExceededError, InvalidArgumentError, raise_last_error
from wia._native import lib

__all__ = ["wait"]

_SLICE_NS = 100_000_000


def wait(
    what: str,
    wait_for: Callable[[int], int],
    is_failed: Callable[[], bool],
    timeout: float | None,
) -> None:
    """Calls wait_for(timeout in ns) until it is done, failed, or timeout seconds are over.

    A wait that fails with the status of a time-out may be a failure of what is waited for:
    is_failed tells. Raises DeadlineExceededError, or the failure.
    """
    if timeout is not None and not timeout >= 0:
        raise InvalidArgumentError(
            f"A time-out of {timeout!r} was given; expected seconds from 0, or None for no end."
        )
    deadline = None if timeout is None else time.monotonic_ns() + int(min(timeout, 1e9) * 1e9)
    while True:
        left = _SLICE_NS
        if deadline is not None:
            left = max(0, min(left, deadline - time.monotonic_ns()))
        status = wait_for(left)
        if not status:
            return
        if status != lib.WIA_STATUS_DEADLINE_EXCEEDED:
            raise_last_error(status)
        if is_failed():
            wait_status = wait_for(0)
            raise_last_error(wait_status or status)
        if deadline is not None and time.monotonic_ns() >= deadline:
            raise DeadlineExceededError(
                f"{what} was not done within {timeout:g} s. Wait longer, or find what holds it up."
            )
