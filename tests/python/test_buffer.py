"""Tensors in Python's buffer protocol: memoryview(t), and all that takes buffers."""

from __future__ import annotations

import ctypes
import gc
import io
from typing import Any

import numpy as np
import pytest
from support import made

import wia
from wia._device import DeviceFlag


def live(context: wia.Context) -> int:
    """Live bytes of the device's own memory."""
    return context.device.memory().live_size


def memory(of: Any) -> Any:
    """A memoryview, whose type would say that its elements are whole numbers in one dimension."""
    return memoryview(of)


@pytest.mark.parametrize(
    ("dtype", "letter"),
    [
        ("float64", "d"),
        ("float32", "f"),
        ("float16", "e"),
        ("int64", "l"),
        ("int32", "i"),
        ("int16", "h"),
        ("int8", "b"),
        ("uint64", "L"),
        ("uint8", "B"),
        ("bool", "?"),
        ("complex64", "Zf"),
    ],
)
def test_a_memoryview_is_on_the_memory(reference: wia.Context, dtype: str, letter: str) -> None:
    """With the element type, the shape, and the bytes that numpy sees."""
    array = np.arange(6).reshape(2, 3).astype(dtype)
    tensor = reference.tensor(array)
    view = memory(tensor)
    assert (view.format, view.shape, view.readonly) == (letter, (2, 3), False)
    assert view.tobytes() == array.tobytes()
    assert np.frombuffer(memory(tensor), np.uint8).ctypes.data == tensor.address


def test_both_sides_see_writes(reference: wia.Context) -> None:
    """The memoryview writes into the tensor and the other way round."""
    tensor = reference.zeros((2, 2))
    view = memory(tensor)
    view[1, 0] = 3.5
    assert tensor.tolist() == [[0, 0], [3.5, 0]]
    tensor.fill(2)
    assert view.tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize("index", [(slice(None), slice(None, None, -2)), (1,), (0, 0)])
def test_views_have_their_strides(reference: wia.Context, index: Any) -> None:
    """Of any strides and rank, each with element 0 where the view has it."""
    array = np.arange(12, dtype=np.int32).reshape(3, 4)
    view = memory(reference.tensor(array)[index])
    expected = array[index]
    assert view.shape == expected.shape
    assert view.strides == expected.strides
    assert view.tolist() == expected.tolist()


def test_no_elements_and_repeated_ones(reference: wia.Context) -> None:
    """An empty tensor has an empty buffer, a broadcast one a stride of 0."""
    assert memory(reference.zeros((0, 3))).shape == (0, 3)
    repeated = memory(reference.tensor([1.0, 2.0]).broadcast_to(3, 2))
    assert repeated.strides == (0, 4)
    assert repeated.tolist() == [[1, 2]] * 3


def test_what_takes_buffers_takes_tensors(reference: wia.Context) -> None:
    """Files, bytes and comparisons read it; one that wants bytes in a row refuses strides."""
    tensor = reference.tensor(np.arange(4, dtype=np.int16))
    file = io.BytesIO()
    assert file.write(tensor) == 8
    assert bytes(tensor) == file.getvalue() == np.arange(4, dtype=np.int16).tobytes()
    assert io.BytesIO(bytes([1, 0] * 4)).readinto(tensor) == 8
    assert tensor.tolist() == [1, 1, 1, 1]
    with pytest.raises(BufferError, match="contiguous"):
        file.write(tensor[::2])


def test_the_memory_stays_for_the_buffer(reference: wia.Context) -> None:
    """Closing and dropping the tensor takes nothing away; the last buffer frees it."""
    tensor = reference.tensor([1.0, 2.0, 3.0])
    view = memory(tensor)
    part = view[1:]
    gc.collect()
    before = live(reference)
    tensor.close()
    del tensor
    view.release()
    gc.collect()
    assert live(reference) == before
    assert part.tolist() == [2, 3]
    part.release()
    del part, view
    gc.collect()
    assert live(reference) == before - 12


def test_read_only_memory_is_read_only(reference: wia.Context) -> None:
    """It can be read, and nothing that writes takes it."""
    array = np.arange(4, dtype=np.float32)
    array.flags.writeable = False
    tensor = reference.from_dlpack(array)
    view = memory(tensor)
    assert view.readonly
    with pytest.raises(TypeError, match="read-only"):
        view[0] = 1.0
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(bytes(16)).readinto(tensor)
    with pytest.raises(TypeError, match="not writable"):
        (ctypes.c_float * 4).from_buffer(tensor)


def test_a_buffer_waits_for_work_in_flight(reference: wia.Context) -> None:
    """It shows what was enqueued before."""
    a = reference.tensor(np.ones((64, 64), np.float32))
    with reference.stream() as stream:
        out = reference.matmul(a, a, stream=stream)
        assert memory(out)[63, 63] == 64


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "int4"])
def test_a_dtype_without_a_letter_is_refused(reference: wia.Context, dtype: str) -> None:
    """By name, with what to take instead."""
    tensor = reference.tensor([1, 2], dtype)
    with pytest.raises(BufferError, match=rf"{dtype}.*copy"):
        memory(tensor)
    assert np.asarray(tensor).tolist() == [1, 2]


def test_a_closed_tensor_has_no_buffer(reference: wia.Context) -> None:
    """As all other uses of it, with the same error."""
    tensor = reference.tensor([1.0])
    tensor.close()
    with pytest.raises(wia.InvalidHandleError):
        memory(tensor)


def test_memory_that_the_host_cannot_touch_is_refused() -> None:
    """By the name of the device, with what to take instead."""
    with made(flags=DeviceFlag.SIMULATED) as context:
        tensor = context.tensor([1.0, 2.0])
        with pytest.raises(BufferError, match=rf"{context.device.name} has no host.*numpy\(\)"):
            memory(tensor)
        assert bytes(memory(tensor.numpy())) == np.array([1, 2], np.float32).tobytes()
        assert np.asarray(tensor).tolist() == [1, 2]
