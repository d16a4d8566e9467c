"""Other packages' arrays as tensors, and tensors as theirs: numpy and DLPack."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support import made, need

import wia
from wia._device import DeviceFlag


@pytest.fixture(autouse=True)
def _host_device(request: pytest.FixtureRequest) -> None:
    """Tests on each device are about those with host addresses."""
    if "ctx" in request.fixturenames:
        context = request.getfixturevalue("ctx")
        if DeviceFlag.HOST_ADDRESSABLE not in context.device.flags:
            pytest.skip(f"{context.device.name} has no host addresses")


def imported(context: wia.Context) -> int:
    """Live bytes of imported memory."""
    return context.device.memory("imported").live_size


def live(context: wia.Context) -> int:
    """Live bytes of the device's own memory."""
    return context.device.memory().live_size


# -- in -------------------------------------------------------------------------------------------


def test_numpy_comes_in_without_a_copy(ctx: wia.Context) -> None:
    """Both sides see one memory; the array stays while the tensor or a view of it does."""
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    gone = weakref.ref(array)
    tensor = ctx.from_dlpack(array)
    assert tensor.address == array.ctypes.data
    assert tensor.shape == (2, 3)
    assert not tensor.read_only
    array[0, 0] = 7
    assert tensor.tolist() == [[7, 1, 2], [3, 4, 5]]
    tensor.write(np.ones((2, 3)))
    assert array.tolist() == [[1, 1, 1], [1, 1, 1]]
    view = tensor[1]
    del array, tensor
    gc.collect()
    assert gone() is not None
    assert view.tolist() == [1, 1, 1]
    view.close()
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0)[::3],
        np.arange(12.0)[::-2],
        np.arange(12.0).reshape(3, 4).T,
        np.arange(24).reshape(2, 3, 4)[:, ::-1, 1:3],
        np.broadcast_to(np.arange(3.0), (2, 3)),
        np.array(3, np.float32),
        np.zeros((0, 4)),
    ],
)
def test_strides(ctx: wia.Context, array: np.ndarray[Any, Any]) -> None:
    """Views of any strides, no elements, and rank 0; also as copies."""
    for copy in (None, True):
        tensor = wia.from_dlpack(array, ctx, copy=copy)
        assert tensor.dtype == array.dtype
        np.testing.assert_array_equal(tensor.numpy(), array)
        tensor.close()


def test_operations_on_foreign_memory(ctx: wia.Context) -> None:
    """As operand and as output, also on a stream."""
    need(ctx, "add", "float32")
    a, out = np.ones(8, np.float32), np.zeros(8, np.float32)
    x, y = ctx.from_dlpack(a), ctx.from_dlpack(out)
    ctx.add(x, x, out=y)
    if DeviceFlag.SIMULATED not in ctx.device.flags:
        assert out.tolist() == [2.0] * 8
    with ctx.stream() as stream:
        ctx.add(y, x, out=y, stream=stream)
        del x, y, a
        gc.collect()
        stream.synchronize()
    if DeviceFlag.SIMULATED not in ctx.device.flags:
        assert out.tolist() == [3.0] * 8


def test_read_only_comes_in_as_read_only(ctx: wia.Context) -> None:
    """It is read but never written."""
    array = np.arange(4, dtype=np.float32)
    array.flags.writeable = False
    tensor = ctx.from_dlpack(array)
    assert tensor.read_only
    assert tensor.tolist() == [0, 1, 2, 3]
    with pytest.raises(wia.InvalidArgumentError, match="read-only"):
        tensor.fill(1)
    with pytest.raises(wia.InvalidArgumentError, match="read-only"):
        tensor.write([1, 2, 3, 4])
    if "float32" in ctx.device.supports("add"):
        with pytest.raises(wia.InvalidArgumentError, match="read-only"):
            ctx.add(tensor, tensor, out=tensor)
    assert not tensor.numpy(copy=False).flags.writeable
    assert not np.asarray(tensor).flags.writeable
    with pytest.raises(BufferError, match="read-only"):
        tensor.__dlpack__()
    back = np.from_dlpack(tensor)
    assert not back.flags.writeable
    assert not tensor.copy().read_only


def test_one_memory_twice(ctx: wia.Context) -> None:
    """A part of what is a tensor's already shares; what reaches beyond is told apart."""
    array = np.arange(8, dtype=np.float32)
    gc.collect()
    before = imported(ctx)
    whole = ctx.from_dlpack(array)
    part = ctx.from_dlpack(array[2:4])
    assert imported(ctx) == before + 32
    whole.close()
    assert part.tolist() == [2, 3]
    assert ctx.from_dlpack(array).tolist() == array.tolist()
    part.close()
    assert imported(ctx) == before
    part = ctx.from_dlpack(array[2:4])
    with pytest.raises(wia.AlreadyExistsError, match="copy"):
        ctx.from_dlpack(array)
    assert ctx.from_dlpack(array, copy=True).tolist() == array.tolist()
    part.close()
    assert ctx.from_dlpack(array).address == array.ctypes.data


def test_round_trip(ctx: wia.Context) -> None:
    """A tensor that went out comes in on its own memory."""
    tensor = ctx.tensor([1.0, 2.0])
    back = ctx.from_dlpack(np.from_dlpack(tensor))
    assert back.address == tensor.address
    tensor.close()
    assert back.tolist() == [1.0, 2.0]
    assert ctx.from_dlpack(back) is back
    assert ctx.from_dlpack(back, copy=True).address != back.address


def test_a_device_without_host_addresses_copies() -> None:
    """It refuses foreign memory by name, and takes a copy."""
    with made(flags=DeviceFlag.SIMULATED) as context:
        array = np.arange(6, dtype=np.float32).reshape(2, 3)
        for copy in (None, False):
            with pytest.raises(wia.UnimplementedError, match=context.device.name):
                context.from_dlpack(array, copy=copy)
        for given in (array, array.T, array[:, ::-1], array[:0]):
            tensor = context.from_dlpack(given, copy=True)
            np.testing.assert_array_equal(tensor.numpy(), given)
        tensor = context.from_dlpack(array, copy=True)
        assert tensor.__dlpack_device__() == (12, context.device.id)
        with pytest.raises(BufferError, match=context.device.name):
            np.from_dlpack(tensor)
        assert not hasattr(tensor, "__array_interface__")
        assert np.asarray(tensor).tolist() == array.tolist()
        with pytest.raises(wia.UnimplementedError, match="host addresses"):
            tensor.__array__(copy=False)


# -- out ------------------------------------------------------------------------------------------


def test_numpy_takes_a_tensor(ctx: wia.Context) -> None:
    """On one memory, which stays when the tensor is gone."""
    tensor = ctx.tensor(np.arange(6, dtype=np.int32).reshape(2, 3))
    assert tensor.__dlpack_device__() == (1, 0)
    array = np.from_dlpack(tensor[:, ::-1])
    assert array.ctypes.data == tensor[0, 2].address
    tensor.close()
    del tensor
    gc.collect()
    assert array.tolist() == [[2, 1, 0], [5, 4, 3]]
    before = live(ctx)
    del array
    gc.collect()
    assert live(ctx) == before - 24


def test_export_waits_for_work_in_flight(reference: wia.Context) -> None:
    """The package sees what was enqueued before."""
    a = reference.tensor(np.ones((64, 64), np.float32))
    with reference.stream() as stream:
        out = reference.matmul(a, a, stream=stream)
        assert (np.from_dlpack(out) == 64).all()


# -- numpy's own protocols ------------------------------------------------------------------------


def test_asarray_shares_memory(ctx: wia.Context) -> None:
    """As numpy's rules say; and closing the tensor takes nothing away from the array."""
    tensor = ctx.tensor(np.arange(4, dtype=np.float32))
    array = np.asarray(tensor)
    array[0] = 9
    assert tensor.tolist() == [9, 1, 2, 3]
    assert np.array(tensor).ctypes.data != tensor.address
    assert tensor.__array__(np.dtype(np.float64)).dtype == np.float64
    with pytest.raises(wia.InvalidArgumentError, match="float64"):
        tensor.__array__(np.dtype(np.float64), copy=False)
    interface = tensor[::-1].__array_interface__
    assert interface["typestr"] == "<f4"
    assert interface["strides"] == (-4,)
    tensor.close()
    assert array.tolist() == [9, 1, 2, 3]
    brain = np.asarray(ctx.tensor([1.0, 2.0], "bfloat16"))
    assert brain.dtype == ml_dtypes.bfloat16
    assert not hasattr(ctx.tensor([1.0], "bfloat16"), "__array_interface__")
    assert np.asarray(ctx.tensor([1, 2], "int4")).astype(int).tolist() == [1, 2]
    assert np.asarray(ctx.zeros((0, 3))).shape == (0, 3)


# -- torch ----------------------------------------------------------------------------------------


def test_torch_both_ways(reference: wia.Context) -> None:
    """Tensors of torch, with dtypes that numpy lacks."""
    torch = pytest.importorskip("torch", reason="torch is not installed; WIA works without it")
    for dtype in (torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.bool, torch.complex64):
        given = torch.ones(2, 3).to(dtype)
        tensor = reference.from_dlpack(given.T)
        assert tensor.shape == (3, 2)
        assert tensor.address == given.data_ptr()
        back = torch.from_dlpack(tensor)
        assert back.dtype == dtype
        assert back.data_ptr() == given.data_ptr()
        del given, tensor
        gc.collect()
        assert back.float().sum() == 6 if not dtype.is_complex else back.real.sum() == 6
    out = torch.zeros(2)
    reference.add(
        reference.tensor([1.0, 2.0]), 1 + reference.zeros(2), out=reference.from_dlpack(out)
    )
    assert out.tolist() == [2.0, 3.0]
