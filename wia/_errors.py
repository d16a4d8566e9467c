"""The exception family: one class per status code, each also the builtin that fits."""

from __future__ import annotations

from typing import NoReturn

from wia._native import lib, new_struct, text

__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "ArgumentTypeError",
    "CancelledError",
    "DataLossError",
    "DeadlineExceededError",
    "DeviceLostError",
    "FailedPreconditionError",
    "ForkedError",
    "IncompatibleError",
    "InternalError",
    "InvalidArgumentError",
    "InvalidHandleError",
    "NotFoundError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "WiaError",
    "check",
    "raise_last_error",
]

_CLASSES: dict[int, type[WiaError]] = {}


class WiaError(Exception):
    """An error of WIA: the message says what was given, what was expected and what to do.

    `code` is the number of the status, `function` the C function that failed, `driver` the driver
    concerned and `cause` the loader's text or the driver's traceback; "" where there is none.
    """

    code: int = 2

    def __init__(
        self, message: str = "", *, function: str = "", driver: str = "", cause: str = ""
    ) -> None:
        super().__init__(message)
        self.function = function
        self.driver = driver
        self.cause = cause
        if cause:
            self.add_note(f"Cause:\n{cause.rstrip()}")

    def __init_subclass__(cls) -> None:
        """Finds the status code by the class's name: NotFoundError is WIA_STATUS_NOT_FOUND."""
        words = "".join(f"_{c}" if c.isupper() else c.upper() for c in cls.__name__)
        code = getattr(lib, "WIA_STATUS" + words.removesuffix("_ERROR"), None)
        if code is not None:
            cls.code = code
            _CLASSES[code] = cls

    @property
    def status(self) -> str:
        """The name of the status, "INVALID_ARGUMENT"."""
        return text(lib.wia_get_status_name(self.code))


class CancelledError(WiaError):
    """The work was cancelled."""


class UnknownError(WiaError, RuntimeError):
    """An error that nobody could classify."""


class InvalidArgumentError(WiaError, ValueError):
    """An argument has a value that the call can't take."""


class ArgumentTypeError(InvalidArgumentError, TypeError):
    """An argument is of a type that the call can't take."""


class DeadlineExceededError(WiaError, TimeoutError):
    """A time-out passed before what was waited for happened."""


class NotFoundError(WiaError, LookupError):
    """There is no such device, driver, operation or memory."""


class AlreadyExistsError(WiaError, ValueError):
    """The name is in use."""


class PermissionDeniedError(WiaError, PermissionError):
    """The system doesn't permit it."""


class ResourceExhaustedError(WiaError, MemoryError):
    """There is not enough memory, or not enough of another resource."""


class FailedPreconditionError(WiaError, RuntimeError):
    """The object is not in a state in which the call makes sense."""


class AbortedError(WiaError, RuntimeError):
    """The work was ended by something else."""


class OutOfRangeError(WiaError, IndexError):
    """A position or size is outside the range."""


class UnimplementedError(WiaError, NotImplementedError):
    """This driver or library lacks it."""


class InternalError(WiaError, RuntimeError):
    """The library or a driver made a mistake."""


class UnavailableError(WiaError, RuntimeError):
    """It can't be had now."""


class DataLossError(WiaError, RuntimeError):
    """Data was lost or damaged."""


class UnauthenticatedError(WiaError, PermissionError):
    """There are no valid credentials."""


class InvalidHandleError(WiaError, ValueError):
    """An object was closed, or is of another type."""


class DeviceLostError(WiaError, RuntimeError):
    """The device stopped answering."""


class IncompatibleError(WiaError, RuntimeError):
    """Versions don't fit together."""


class ForkedError(WiaError, RuntimeError):
    """The process was forked after the library started."""


# Programs see the public name, in tracebacks too.
for _public in (WiaError, ArgumentTypeError, *_CLASSES.values()):
    _public.__module__ = "wia"

# An exception that must not be swallowed on the way through C, by the thread that it rose in: a
# KeyboardInterrupt in a kernel. wia._host puts it here.
interrupts: dict[int, BaseException] = {}


def raise_last_error(status: int) -> NoReturn:
    """Raises the last error of this thread, which the call that gave status has left."""
    if interrupts:
        from threading import get_ident

        interrupt = interrupts.pop(get_ident(), None)
        if interrupt is not None and status == CancelledError.code:
            raise interrupt
    info = new_struct("wia_error_info_t")
    lib.wia_get_last_error(info)
    cls = _CLASSES.get(status, WiaError)
    error = cls(
        text(info.message) or text(lib.wia_get_status_text(status)),
        function=text(info.function),
        driver=text(info.driver),
        cause=text(info.cause),
    )
    if cls is WiaError:
        error.code = status
    raise error


def make_error(status: int) -> WiaError:
    """The exception of a status, with its general text."""
    cls = _CLASSES.get(status, WiaError)
    error = cls(text(lib.wia_get_status_text(status)))
    if cls is WiaError:
        error.code = status
    return error


def check(status: int) -> None:
    """Raises the last error of this thread unless status is OK."""
    if status:
        raise_last_error(status)
