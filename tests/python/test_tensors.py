"""Tensors: values in and out, views, copies, texts."""

from __future__ import annotations

import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support import need

import wia
from wia._dtype import CODES

PACKED = ("int4", "uint4", "int2", "uint2", "float4_e2m1fn")
WHOLE = [name for name in CODES if name not in PACKED]


def some(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """Small values that every dtype has."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    # 1, 2, 1, 2: e8m0 has powers of two only, the narrowest integer ends at 1.
    top = 1 if dtype in ("int2", "bool") else 2
    values = np.resize(np.arange(1, top + 1), shape)
    return values.astype(np.float32).astype(kind)


@pytest.mark.parametrize("dtype", CODES)
def test_what_goes_in_comes_out(ctx: wia.Context, dtype: str) -> None:
    """Every dtype, odd sizes and an empty one."""
    for shape in ((), (1,), (7,), (3, 5), (0, 4)):
        array = some(shape, dtype)
        tensor = ctx.tensor(array)
        assert tensor.dtype == array.dtype
        assert tensor.shape == shape
        back = tensor.numpy()
        assert back.dtype == array.dtype
        assert back.shape == shape
        np.testing.assert_array_equal(back.astype(np.complex128), array.astype(np.complex128))


def test_bytes_of_packed_dtypes(ctx: wia.Context) -> None:
    """Low bits first: [1, 2, 3] of int4 is 0x21 0x03."""
    tensor = ctx.tensor([1, 2, 3], "int4")
    assert tensor.nbytes == 2
    assert tensor.numpy().tolist() == [1, 2, 3]
    assert ctx.tensor([-1, -8, 7], "int4").numpy().astype(int).tolist() == [-1, -8, 7]
    assert ctx.tensor([1, -2, 0, -1, 1], "int2").nbytes == 2


def test_default_dtypes(ctx: wia.Context) -> None:
    """Python floats are float32, arrays keep theirs."""
    assert ctx.tensor([1.5]).dtype == np.float32
    assert ctx.tensor(2).dtype == np.int64
    assert ctx.tensor([True]).dtype == np.bool_
    assert ctx.tensor(np.zeros(2)).dtype == np.float64
    assert ctx.tensor(np.float16(1)).dtype == np.float16
    assert ctx.empty(3).dtype == np.float32


def test_arrays_of_any_order(ctx: wia.Context) -> None:
    """Strides, byte order, read-only memory."""
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for given in (array.T, array[:, ::-1], array[::2, 1:, ::3], np.asfortranarray(array)):
        np.testing.assert_array_equal(ctx.tensor(given).numpy(), given)
    big = np.arange(5, dtype=">i4")
    np.testing.assert_array_equal(ctx.tensor(big).numpy(), big)
    array.flags.writeable = False
    np.testing.assert_array_equal(ctx.tensor(array).numpy(), array)


def test_zeros_full_fill(ctx: wia.Context) -> None:
    """Also on views, where memory can't be filled in one go."""
    assert ctx.zeros((2, 2), "int32").tolist() == [[0, 0], [0, 0]]
    assert ctx.full(3, 2.5).tolist() == [2.5, 2.5, 2.5]
    assert ctx.full((), 1 + 2j, "complex128").item() == 1 + 2j
    assert ctx.full(3, 1, "int4").numpy().tolist() == [1, 1, 1]
    tensor = ctx.zeros((2, 3))
    tensor[:, 1].fill(7)
    assert tensor.tolist() == [[0, 7, 0], [0, 7, 0]]
    with pytest.raises(wia.InvalidArgumentError):
        ctx.full(3, 300, "int8")


def test_views_share_memory(ctx: wia.Context) -> None:
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    tensor = ctx.tensor(array)
    for key in (0, -1, (1, 2), np.s_[:, ::-1], np.s_[..., 1:3], np.s_[::-1, 1, ::2], None):
        np.testing.assert_array_equal(tensor[key].numpy(), array[key])
    np.testing.assert_array_equal(tensor.T.numpy(), array.T)
    np.testing.assert_array_equal(tensor.permute(1, 2, 0).numpy(), array.transpose(1, 2, 0))
    np.testing.assert_array_equal(tensor.reshape(4, -1).numpy(), array.reshape(4, -1))
    np.testing.assert_array_equal(
        tensor[:, :1].broadcast_to(2, 5, 4).numpy(), np.broadcast_to(array[:, :1], (2, 5, 4))
    )
    tensor[1, ::-2] = np.full((2, 4), -1)
    array[1, ::-2] = -1
    np.testing.assert_array_equal(tensor.numpy(), array)
    assert [row.tolist() for row in tensor[0]] == array[0].tolist()
    assert len(tensor) == 2


def test_a_view_outlives_its_tensor(ctx: wia.Context) -> None:
    tensor = ctx.tensor([1.0, 2.0, 3.0])
    view = tensor[1:]
    tensor.close()
    assert view.tolist() == [2.0, 3.0]
    with pytest.raises(wia.InvalidHandleError):
        tensor.numpy()


def test_reshape_copies_where_it_has_to(ctx: wia.Context) -> None:
    need(ctx, "reshape", "float32")
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = ctx.tensor(array)
    copy = tensor.T.reshape(6)
    np.testing.assert_array_equal(copy.numpy(), array.T.reshape(6))
    assert copy.address != tensor.address
    assert tensor.reshape(6).address == tensor.address


def test_copies(ctx: wia.Context, reference: wia.Context) -> None:
    """On the device, to another device and back, also of views."""
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    tensor = ctx.tensor(array)
    for view in (tensor, tensor[::-1, ::2], tensor[:0]):
        copy = view.copy()
        assert copy.contiguous
        np.testing.assert_array_equal(copy.numpy(), view.numpy())
        moved = view.to(reference)
        assert moved.device.name == "reference:0"
        np.testing.assert_array_equal(moved.to(ctx).numpy(), view.numpy())
    with wia.Context(ctx.device) as again:
        assert tensor.to(again).address == tensor.address
    assert ctx.tensor(tensor).address != tensor.address


def test_to_wants_a_context(ctx: wia.Context) -> None:
    name: Any = "reference"
    with pytest.raises(wia.ArgumentTypeError, match="'reference' was given as context"):
        ctx.full((2,), 1.0, "float32").to(name)


def test_host_view(ctx: wia.Context) -> None:
    """numpy on the device's memory, which lives as long as the array."""
    tensor = ctx.tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    if wia.DeviceFlag.HOST_ADDRESSABLE not in ctx.device.flags:
        with pytest.raises(wia.UnimplementedError, match="no host addresses"):
            tensor.numpy(copy=False)
        return
    array = tensor[::-1, 1:].numpy(copy=False)
    array[0, 0] = 40
    assert tensor.tolist() == [[0, 1, 2], [3, 40, 5]]
    del tensor
    assert array.tolist() == [[40, 5], [1, 2]]
    brain = ctx.tensor([1.0, 2.0], "bfloat16").numpy(copy=False)
    assert brain.dtype == np.dtype(ml_dtypes.bfloat16)
    with pytest.raises(wia.UnimplementedError, match="share bytes"):
        ctx.tensor([1], "int4").numpy(copy=False)


def test_numbers_and_arrays(ctx: wia.Context) -> None:
    tensor = ctx.tensor([[1.0, 2.0]])
    assert np.asarray(tensor).tolist() == [[1.0, 2.0]]
    assert np.asarray(tensor, np.int32).dtype == np.int32
    assert float(tensor[0, 1]) == 2.0
    assert int(tensor[0, 1]) == 2
    assert bool(tensor[0, 0])
    with pytest.raises(TypeError):
        tensor + np.zeros(2)
    with pytest.raises(TypeError):
        np.zeros(2) + tensor


def test_operators(ctx: wia.Context) -> None:
    need(ctx, "div", "float32")
    a, b = ctx.tensor([[2.0, 4.0], [6.0, 8.0]]), ctx.tensor([[1.0, 2.0], [3.0, 4.0]])
    x, y = a.numpy(), b.numpy()
    for ours, theirs in (
        (a + b, x + y),
        (a - b, x - y),
        (a * b, x * y),
        (a / b, x / y),
        (a @ b, x @ y),
        (a + 1, x + 1),
        (1 + a, 1 + x),
        (1 - a, 1 - x),
        (2 * a, 2 * x),
        (1 / a, np.float32(1) / x),
    ):
        np.testing.assert_array_equal(ours.numpy(), theirs)


def test_read_into_an_array(ctx: wia.Context) -> None:
    tensor = ctx.tensor([[1.0, 2.0], [3.0, 4.0]])
    out = np.zeros((2, 2), np.float32)
    tensor.T.read(out)
    assert out.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    for bad in (np.zeros((2, 2)), np.zeros(4, np.float32), out.T, [[0.0] * 2] * 2):
        with pytest.raises(wia.InvalidArgumentError, match="expected a writable, contiguous array"):
            tensor.read(bad)  # type: ignore[arg-type]


def test_texts(ctx: wia.Context) -> None:
    device = ctx.device.name
    assert repr(ctx.tensor([1, 2])) == f"wia.Tensor([1, 2], dtype=int64, device='{device}')"
    assert repr(ctx.empty((30, 40))) == (
        f"wia.Tensor(shape=(30, 40), dtype=float32, device='{device}')"
    )
    closed = ctx.tensor([1.0])
    closed.close()
    assert "INVALID_HANDLE" in repr(closed)
    assert repr(ctx) == f"wia.Context('{device}')"


def test_objects_refuse_to_be_pickled(ctx: wia.Context) -> None:
    with pytest.raises(TypeError, match=r"t\.numpy\(\)"):
        pickle.dumps(ctx.tensor([1.0]))
    with pytest.raises(TypeError, match="belongs to this process"):
        pickle.dumps(ctx)


@pytest.mark.parametrize(
    ("shape", "dtype", "error"),
    [
        ((-1,), "float32", wia.InvalidArgumentError),
        ((1,) * 9, "float32", wia.InvalidArgumentError),
        ((2**40, 2**40), "float32", wia.InvalidArgumentError),
        ((2**62,), "float64", wia.InvalidArgumentError),
        ((2**70,), "float32", wia.InvalidArgumentError),
        ((2**45,), "float32", wia.ResourceExhaustedError),
        ("ab", "float32", wia.ArgumentTypeError),
        (1.5, "float32", wia.ArgumentTypeError),
        ((1,), "float33", wia.InvalidArgumentError),
        ((1,), None, wia.ArgumentTypeError),
        ((1,), object, wia.InvalidArgumentError),
    ],
)
def test_impossible_tensors(
    ctx: wia.Context, shape: Any, dtype: Any, error: type[wia.WiaError]
) -> None:
    """Scenario 14: right error each, and the device works on afterwards."""
    with pytest.raises(error):
        ctx.empty(shape, dtype)
    assert ctx.full(2, 1).tolist() == [1.0, 1.0]


def test_exhaust_and_recover(ctx: wia.Context) -> None:
    """Scenario 14: a device that refused memory gives it again."""
    before = ctx.device.memory()
    with pytest.raises(MemoryError) as caught:
        ctx.empty(2**50, "uint8")
    assert isinstance(caught.value, wia.ResourceExhaustedError)
    after = ctx.device.memory()
    assert after.failed_count == before.failed_count + 1
    assert after.live_size == before.live_size
    assert ctx.empty(1024).nbytes == 4096


@pytest.mark.parametrize("value", [object(), [[1], [2, 3]], "text", np.array(["a"]), {1: 2}])
def test_values_that_are_no_arrays(ctx: wia.Context, value: Any) -> None:
    with pytest.raises(wia.InvalidArgumentError):
        ctx.tensor(value)


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (2, IndexError),
        (-3, IndexError),
        ((0, 0, 0), IndexError),
        (True, TypeError),
        ("a", TypeError),
        ([0, 1], TypeError),
        (1.0, TypeError),
        (slice(0, 1, 0), ValueError),
        (slice("a"), TypeError),
        ((..., ...), ValueError),
    ],
)
def test_bad_indices(ctx: wia.Context, key: Any, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        ctx.zeros((2, 3))[key]
    assert isinstance(caught.value, wia.WiaError)
