"""Objects that hold a handle: closing them, and the net for those that nobody closed."""

from __future__ import annotations

import sys
import warnings
from typing import Any, ClassVar, NoReturn, Self

from wia._native import lib

__all__ = ["Resource", "destroyer"]


class Resource:
    """Base of contexts, streams, events and plans: a context manager with close().

    An object that is collected without having been closed is destroyed too, with a ResourceWarning.
    """

    __slots__ = ("__weakref__", "_closed", "_handle")

    _destroy: ClassVar[Any]
    """The C function that destroys the handle."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._closed

    def close(self) -> None:
        """Gives the object back; what was made with it lives on. Later calls do nothing."""
        if not self._closed:
            self._closed = True
            type(self)._destroy(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_closed", True):
            return
        if not sys.is_finalizing():
            warnings.warn(
                f"{self!r} was never closed. Use it in a with statement, or call close().",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"A {type(self).__name__} can't be pickled: it belongs to this process. Create one "
            "where it is needed."
        )


def destroyer(name: str) -> Any:
    """The C function wia_destroy_<name>, without binding to an instance."""
    return staticmethod(getattr(lib, f"wia_destroy_{name}"))
