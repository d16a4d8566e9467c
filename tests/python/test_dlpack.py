"""DLPack capsules: both kinds, every dtype, what they must not hold, and their end."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support import RunPython

import wia
from wia._dtype import BITS, CODES
from wia._native import NULL, ffi, lib


def live(context: wia.Context) -> int:
    """Live bytes of the device's own memory."""
    return context.device.memory().live_size


def collect(done: Callable[[], bool]) -> None:
    """Make calls, which give memory back that nobody uses any more."""
    with wia.Context("reference") as context:
        for _ in range(1000):
            if done():
                return
            context.tensor(1).close()


class Owner:
    """Host memory that gives capsules of a tensor's, and remembers what it was asked."""

    def __init__(self, tensor: wia.Tensor, *, legacy: bool = False, kind: int = 1) -> None:
        self.tensor, self.legacy, self.kind = tensor, legacy, kind
        self.asked: list[dict[str, Any]] = []

    def __dlpack__(self, **keywords: Any) -> Any:
        self.asked.append(keywords)
        if self.legacy:
            if keywords:
                raise TypeError("an unexpected keyword")
            return self.tensor.__dlpack__()
        return self.tensor.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 0


_NAME, _LEGACY = b"dltensor_versioned", b"dltensor"


def capsule_of(managed: Any, name: bytes) -> Any:
    """A capsule that gives nothing back when nobody takes it."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(int(ffi.cast("uintptr_t", managed)), name, None)


class Tampered(Owner):
    """Changes fields of what its capsules hold."""

    def __init__(self, tensor: wia.Tensor, **fields: Any) -> None:
        super().__init__(tensor)
        self.fields = fields

    def __dlpack__(self, **keywords: Any) -> Any:
        out = ffi.new("wia__dlpack_versioned_t **")
        capsule = self.tensor.__dlpack__(**keywords)
        assert lib.wia__take_dlpack(id(capsule), ffi.new("wia__dlpack_legacy_t **"), out) == 0
        for name, value in self.fields.items():
            of_array = name not in ("major", "minor", "flags")
            setattr(out[0].array if of_array else out[0], name, value)
        return capsule_of(out[0], _NAME)


class Copying(Owner):
    """Always gives copies."""

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.tensor.__dlpack__(**{**keywords, "copy": True})


def test_what_is_no_array(reference: wia.Context) -> None:
    """Each mistake has its message."""
    with pytest.raises(wia.ArgumentTypeError, match="__dlpack__"):
        reference.from_dlpack([1, 2])  # type: ignore[arg-type]
    tensor = reference.tensor([1.0])
    with pytest.raises(wia.UnimplementedError, match="device type 2"):
        reference.from_dlpack(Owner(tensor, kind=2))

    class Wrong:
        """Gives what is no capsule."""

        capsule: object = 3

        def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
            return self.capsule

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    with pytest.raises(wia.InvalidArgumentError, match="unused"):
        reference.from_dlpack(Wrong())
    for version in (None, (1, 1)):
        Wrong.capsule = tensor.__dlpack__(max_version=version)
        assert reference.from_dlpack(Wrong()).tolist() == [1.0]
        with pytest.raises(wia.InvalidArgumentError, match="Each serves once"):
            reference.from_dlpack(Wrong())


def test_old_and_new_capsules(reference: wia.Context) -> None:
    """The versioned one is asked for; who doesn't know the keyword gives the other."""
    tensor = reference.tensor([1.0, 2.0])
    new, old = Owner(tensor), Owner(tensor, legacy=True)
    for owner in (new, old):
        assert reference.from_dlpack(owner).tolist() == [1.0, 2.0]
    assert new.asked == [{"max_version": (1, 1)}]
    assert old.asked[-1] == {}
    assert "versioned" in repr(tensor.__dlpack__(max_version=(1, 0)))
    assert "versioned" in repr(tensor.__dlpack__(max_version=(2, 5)))
    assert "versioned" not in repr(tensor.__dlpack__(max_version=(0, 8)))
    assert "versioned" not in repr(tensor.__dlpack__())


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    [
        ({"major": 2}, wia.IncompatibleError, "DLPack 2.1"),
        ({"dtype_bits": 24}, wia.UnimplementedError, "code 2, 24 bits"),
        ({"dtype_code": 99}, wia.UnimplementedError, "code 99"),
        ({"dtype_lanes": 4}, wia.UnimplementedError, "4 lanes"),
        ({"byte_offset": 1}, wia.InvalidArgumentError, "aligned"),
        ({"rank": 9}, wia.InvalidArgumentError, "rank"),
        # found by tests/fuzz
        ({"shape": NULL}, wia.InvalidArgumentError, "shape is NULL"),
        ({"data": NULL}, wia.InvalidArgumentError, "from address 0x0"),
        ({"data": NULL, "byte_offset": 4096}, wia.InvalidArgumentError, "4096 bytes from"),
        ({"byte_offset": 2**64 - 4}, wia.InvalidArgumentError, "memory of the host"),
    ],
)
def test_what_a_capsule_must_not_hold(
    reference: wia.Context, fields: dict[str, Any], error: type[Exception], text: str
) -> None:
    """It is refused, and given back at once."""
    tensor = reference.tensor([1.0, 2.0])
    owner = Tampered(tensor, **fields)
    with pytest.raises(error, match=text):
        reference.from_dlpack(owner)
    before = live(reference)
    tensor.close()
    assert live(reference) == before - 8


class Giving:
    """Gives a capsule with four bytes of host memory, of one kind or the other."""

    def __init__(self, legacy: bool, deleter: Any) -> None:
        kind, self.name = ("legacy", _LEGACY) if legacy else ("versioned", _NAME)
        self.memory = ffi.new("float *", 7)
        self.shape = ffi.new("int64_t[1]", [1])
        self.managed = ffi.new(f"wia__dlpack_{kind}_t *")
        if not legacy:
            self.managed.major = 1
        array = self.managed.array
        array.data, array.rank, array.shape = self.memory, 1, self.shape
        array.device_type, array.dtype_code = 1, 2
        array.dtype_bits, array.dtype_lanes = 32, 1
        self.managed.deleter = deleter

    def __dlpack__(self, **_: Any) -> Any:
        return capsule_of(self.managed, self.name)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


@pytest.mark.parametrize("legacy", [False, True])
def test_capsules_without_a_deleter(reference: wia.Context, legacy: bool) -> None:
    """One that is there is called once; the memory of one that isn't stays the owner's."""
    calls: list[Any] = []
    kind = "legacy" if legacy else "versioned"
    note = ffi.callback(f"void(struct wia__dlpack_{kind}_t *)", calls.append)
    for copy in (None, True):
        none, one = Giving(legacy, NULL), Giving(legacy, note)
        for owner in (none, one):
            tensor = reference.from_dlpack(owner, copy=copy)
            assert tensor.tolist() == [7.0]
            tensor.close()
        collect(lambda: bool(calls))
        assert calls == [one.managed]
        calls.clear()


def test_newer_minor_versions_are_read(reference: wia.Context) -> None:
    """They only add flags."""
    tensor = reference.tensor([1.0, 2.0])
    assert reference.from_dlpack(Tampered(tensor, minor=7, flags=64)).tolist() == [1.0, 2.0]


def test_unused_capsules_give_the_memory_back(reference: wia.Context) -> None:
    """Of both kinds."""
    before = live(reference)
    for version in (None, (1, 0)):
        capsule = reference.tensor(np.zeros(100)).__dlpack__(max_version=version)
        assert live(reference) == before + 800
        del capsule
        assert live(reference) == before


@pytest.mark.parametrize("dtype", [name for name, code in CODES.items() if BITS[code] >= 8])
def test_every_dtype_goes_out_and_in(reference: wia.Context, dtype: str) -> None:
    """Through capsules of both kinds; numpy itself knows only its own dtypes."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    powers = np.array([[1, 2, 4], [8, 1, 2]], np.float32)  # which each dtype has, but for bool
    tensor = reference.tensor(powers.astype(kind))
    for owner in (Owner(tensor), Owner(tensor, legacy=True)):
        back = reference.from_dlpack(owner)
        assert back.dtype == kind
        np.testing.assert_array_equal(back.numpy(), tensor.numpy())
        assert back.address == tensor.address
        copied = reference.from_dlpack(owner, copy=True)
        np.testing.assert_array_equal(copied.numpy(), tensor.numpy())
    if kind.isbuiltin == 1:
        assert np.from_dlpack(tensor).dtype == kind


@pytest.mark.parametrize("dtype", ["int4", "uint4", "float4_e2m1fn"])
def test_packed_dtypes(reference: wia.Context, dtype: str) -> None:
    """Elements that share bytes are exchanged packed."""
    tensor = reference.tensor([1, 2, 1, 2], dtype)
    back = reference.from_dlpack(Owner(tensor))
    assert back.dtype == tensor.dtype
    assert back.address == tensor.address
    copied = reference.from_dlpack(Owner(tensor), copy=True)
    assert copied.numpy().tolist() == tensor.numpy().tolist()


def test_what_an_export_refuses(reference: wia.Context) -> None:
    """Streams and other devices."""
    tensor = reference.tensor([1.0])
    with pytest.raises(BufferError, match="stream"):
        tensor.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="device"):
        tensor.__dlpack__(dl_device=(2, 0))


def test_exporting_a_copy(reference: wia.Context) -> None:
    """copy=True gives other memory, which only the capsule owns."""
    tensor = reference.tensor([1.0, 2.0])
    array = np.from_dlpack(Copying(tensor))
    array[0] = 5
    assert tensor.tolist() == [1.0, 2.0]


def test_capsules_end_on_any_thread(reference: wia.Context) -> None:
    """Each once: the memory that is live is what it was."""
    gc.collect()  # what tests before this one left
    for _ in range(10):
        reference.tensor(1).close()
    before = live(reference)

    def exchange() -> None:
        for _ in range(100):
            array = np.from_dlpack(reference.tensor(np.ones(16)))
            assert reference.from_dlpack(array).numpy().sum() == 16

    arrays = [np.from_dlpack(reference.tensor(np.ones(16))) for _ in range(100)]
    threads = [threading.Thread(target=exchange) for _ in range(3)]
    threads.append(threading.Thread(target=arrays.clear))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    collect(lambda: live(reference) == before)
    assert live(reference) == before


RAISING = """
import sys, wia
from wia._native import NULL, ffi, lib

calls = []
class Owner:
    def __init__(self, tensor):
        self.tensor = tensor
    def __dlpack__(self, **keywords):
        capsule = self.tensor.__dlpack__(**keywords)
        out = ffi.new("wia__dlpack_versioned_t **")
        assert lib.wia__take_dlpack(id(capsule), ffi.new("wia__dlpack_legacy_t **"), out) == 0
        original = out[0].deleter
        def delete(managed):
            calls.append(managed)
            original(managed)
            raise RuntimeError("a deleter of somebody")
        self.callback = ffi.callback("void(struct wia__dlpack_versioned_t *)", delete)
        out[0].deleter = self.callback
        import ctypes
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(int(ffi.cast("uintptr_t", out[0])), b"dltensor_versioned", None)
    def __dlpack_device__(self):
        return 1, 0

ctx = wia.Context("reference")
tensor = ctx.tensor([1.0, 2.0])
owners = [Owner(tensor) for _ in range(3)]
with ctx.stream() as stream:
    one = ctx.from_dlpack(owners[0])
    total = ctx.add(one, one, stream=stream)
    one.close()
    stream.synchronize(timeout=30)
    assert total.tolist() == [2.0, 4.0]
copied = ctx.from_dlpack(owners[1], copy=True)
assert copied.tolist() == [1.0, 2.0]
kept = ctx.from_dlpack(owners[2])
del kept
for _ in range(1000):  # memory is given back by calls
    ctx.tensor(1).close()
    if len(calls) == 3:
        break
print(len(calls), tensor.tolist())
"""


def test_a_deleter_that_raises(run_python: RunPython) -> None:
    """It is called once for each capsule, from a call or a worker; what it raises, Python tells."""
    result = run_python(RAISING)
    assert (result.returncode, result.stdout) == (0, "3 [1.0, 2.0]\n"), result.stderr
    assert result.stderr.count("RuntimeError: a deleter of somebody") == 3
