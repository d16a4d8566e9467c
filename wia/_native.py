"""The native library: cffi's two objects, and what Python code needs to fill its structs."""

from __future__ import annotations

from typing import Any

from wia._bridge import ffi, lib

__all__ = ["NULL", "ffi", "lib", "new_struct", "text"]

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
