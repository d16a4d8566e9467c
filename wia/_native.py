"""The native library: cffi's two objects, and what Python code needs to fill its structs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from wia._bridge import check_interpreter, ffi, lib

__all__ = ["NULL", "Buffer", "ffi", "lib", "new_struct", "text"]

check_interpreter()
NULL = ffi.NULL


def new_struct(name: str, **fields: object) -> Any:
    """A zeroed struct of that type with struct_size set, as its _INIT macro gives it."""
    struct = ffi.new(f"{name} *")
    struct.struct_size = ffi.sizeof(name)
    for field, value in fields.items():
        setattr(struct, field, value)
    return struct


def text(pointer: Any) -> str:
    """The text of a C string; "" for NULL."""
    return "" if pointer == NULL else ffi.string(pointer).decode("utf-8", "replace")


if TYPE_CHECKING or sys.version_info >= (3, 12):

    class Buffer:
        """A base of classes with `__buffer__`: they export what it returns."""

        __slots__ = ()

else:

    def _make_buffer() -> type:
        made: list[type] = []
        if lib.wia__make_buffer_class(id(made)):
            raise MemoryError("No host memory is left for a class.")
        return made[0]

    Buffer = _make_buffer()
