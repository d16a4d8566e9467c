"""An allocator of a device from outside of Python's package: the C functions by ctypes."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path

import numpy as np

import wia


class Request(ctypes.Structure):
    """wia_memory_request_t."""

    _fields_ = (
        ("struct_size", ctypes.c_uint32),
        ("device_id", ctypes.c_int32),
        ("kind", ctypes.c_int32),
        ("reserved", ctypes.c_uint32),
        ("size", ctypes.c_uint64),
        ("alignment", ctypes.c_uint64),
        ("stream", ctypes.c_void_p),
    )


ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(Request))
FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(Request))
RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Allocator(ctypes.Structure):
    """wia_allocator_t."""

    _fields_ = (
        ("struct_size", ctypes.c_uint32),
        ("kinds", ctypes.c_uint32),
        ("allocate", ALLOCATE),
        ("free", FREE),
        ("release", RELEASE),
        ("context", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
    )


def test_tensors_lie_in_memory_of_an_allocator() -> None:
    """It is set by the device's id, holds what contexts of Python allocate, and has it all back."""
    library = ctypes.CDLL(str(Path(wia.__file__).parent / "lib" / "libwia.so.0"))
    libc = ctypes.CDLL(None)
    libc.aligned_alloc.restype = ctypes.c_void_p
    libc.aligned_alloc.argtypes = ctypes.c_size_t, ctypes.c_size_t
    libc.free.argtypes = (ctypes.c_void_p,)
    given: dict[int, int] = {}
    returned: list[int] = []
    released: list[bool] = []

    def allocate(_: int, request: ctypes._Pointer[Request]) -> int:
        alignment, size = request.contents.alignment, request.contents.size
        address = int(libc.aligned_alloc(alignment, -(-size // alignment) * alignment))
        given[address] = size
        return address

    def free(_: int, address: int, request: ctypes._Pointer[Request]) -> None:
        assert given[address] == request.contents.size
        returned.append(address)
        libc.free(address)

    functions = ALLOCATE(allocate), FREE(free), RELEASE(lambda _: released.append(True))
    allocator = Allocator(ctypes.sizeof(Allocator), 0, *functions, None, b"libc")
    device = wia.find_device("reference")
    assert library.wia_set_device_allocator(device.id, ctypes.byref(allocator)) == 0
    try:
        with wia.Context("reference") as context:
            a = context.tensor(np.arange(8, dtype="float32"))
            assert any(0 <= a.address - base < size for base, size in given.items())
            assert context.add(a, a).numpy().tolist() == [2.0 * i for i in range(8)]
            a.close()
    finally:
        assert library.wia_set_device_allocator(device.id, None) == 0
    deadline = time.monotonic() + 30
    while not released and time.monotonic() < deadline:  # while another thread is inside of a call
        wia.find_device("reference")
        time.sleep(0.001)
    assert sorted(returned) == sorted(given)
    assert released == [True]
