"""The version of the library."""

from __future__ import annotations

from wia._native import ffi, lib

__all__ = ["__version__"]


def _read() -> str:
    numbers = ffi.new("int32_t[3]")
    lib.wia_get_version(numbers, numbers + 1, numbers + 2)
    return ".".join(str(number) for number in numbers)


__version__ = _read()
