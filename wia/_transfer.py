"""Elements of tensors on the host: numpy arrays in and out, views on host memory, texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wia import _dtype
from wia._device import DeviceFlag
from wia._errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    UnimplementedError,
    WiaError,
    check,
)
from wia._native import NULL, ffi, lib
from wia._packed import pack, unpack
from wia._stream import enqueue_with

if TYPE_CHECKING:
    import numpy as np

    from wia._stream import Stream
    from wia._tensor import Tensor

__all__ = [
    "array_at",
    "array_interface",
    "copy",
    "describe",
    "fill",
    "is_viewable",
    "read",
    "settle",
    "to_buffer",
    "to_numpy",
    "view_on_host",
    "write",
]


def _pointer(array: np.ndarray[Any, Any]) -> Any:
    """Where an array's data begins."""
    try:
        return ffi.from_buffer(array)
    except ValueError:  # of a custom dtype, which the buffer protocol can't say
        return ffi.cast("void *", array.__array_interface__["data"][0])


def as_array(value: object, code: int | None) -> tuple[np.ndarray[Any, Any], int]:
    """Any array-like as a row-major array in native byte order, and its dtype's number.

    Arrays are cast; a Python number that the dtype can't hold raises InvalidArgumentError.
    """
    import numpy as np

    if type(value) is np.ndarray and value.flags.c_contiguous:  # most are good as they are
        found = _dtype.dtype_code(value.dtype)
        if code in (None, found) and value.dtype.isnative:
            return value, found
    is_array = isinstance(value, np.ndarray | np.generic) or hasattr(value, "__array__")
    try:
        if code is None or is_array:
            array = np.asarray(value)
            if code is None:
                is_float = array.dtype == float and not is_array
                code = _dtype.dtype_code("float32" if is_float else array.dtype)
        else:
            array = np.array(value, _dtype.numpy_dtype(code))
        return np.ascontiguousarray(array, _dtype.numpy_dtype(code)).reshape(array.shape), code
    except WiaError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        wanted = "an array" if code is None else f"an array of {_dtype.NAMES[code]}"
        raise InvalidArgumentError(
            f"{type(value).__qualname__} doesn't convert to {wanted}: {error}"
        ) from None


def write(tensor: Tensor, value: object, stream: Stream | None) -> None:
    """Copies an array-like into a tensor, broadcast to its shape."""
    import numpy as np

    array, code = as_array(value, tensor._code)
    if array.shape != tensor._shape:
        try:
            array = np.ascontiguousarray(np.broadcast_to(array, tensor._shape))
        except ValueError:
            raise InvalidArgumentError(
                f"An array of shape {array.shape} was given for a tensor of shape {tensor._shape}."
            ) from None
    bits = _dtype.BITS[code]
    data = pack(array, bits) if bits < 8 else array
    handle, pointer = tensor._handle, _pointer(data)
    if stream is None:
        check(lib.wia_write_tensor(handle, pointer, data.nbytes, NULL))
    else:
        enqueue_with(
            stream,
            data,
            lambda: int(lib.wia_write_tensor(handle, pointer, data.nbytes, stream._handle)),
        )


def read(tensor: Tensor, out: np.ndarray[Any, Any], stream: Stream | None) -> None:
    """Copies a tensor into an array of its shape and dtype."""
    import numpy as np

    if (
        not isinstance(out, np.ndarray)
        or out.shape != tensor._shape
        or out.dtype != tensor.dtype
        or not out.flags.c_contiguous
        or not out.flags.writeable
        or _dtype.BITS[tensor._code] < 8
    ):
        given = f"{out.dtype}{list(out.shape)}" if hasattr(out, "dtype") else type(out).__qualname__
        raise InvalidArgumentError(
            f"{given} was given to read into; expected a writable, contiguous array of "
            f"{tensor.dtype}{list(tensor._shape)} with elements of at least 8 bits."
        )
    handle, pointer = tensor._handle, _pointer(out)
    if stream is None:
        check(lib.wia_read_tensor(handle, pointer, out.nbytes, NULL))
    else:
        enqueue_with(
            stream,
            out,
            lambda: int(lib.wia_read_tensor(handle, pointer, out.nbytes, stream._handle)),
        )


def to_numpy(tensor: Tensor) -> np.ndarray[Any, Any]:
    """A copy of the elements."""
    import math

    import numpy as np

    code, shape = tensor._code, tensor._shape
    bits = _dtype.BITS[code]
    if bits >= 8:
        array = np.empty(shape, _dtype.numpy_dtype(code))
        check(lib.wia_read_tensor(tensor._handle, _pointer(array), array.nbytes, NULL))
        return array
    data = np.empty(-(-math.prod(shape) * bits // 8), np.uint8)
    check(lib.wia_read_tensor(tensor._handle, _pointer(data), data.nbytes, NULL))
    return unpack(data, _dtype.numpy_dtype(code), bits, shape)


class _HostMemory:
    """Host memory for numpy, which keeps this object, and so the owner, alive."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, interface: dict[str, object], owner: object) -> None:
        self._owner = owner
        self.__array_interface__ = interface


def array_at(
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    code: int,
    *,
    read_only: bool = False,
    owner: object = None,
) -> np.ndarray[Any, Any]:
    """An array on host memory; strides in elements of at least 8 bits."""
    import numpy as np

    width, dtype = _dtype.BITS[code] // 8, _dtype.numpy_dtype(code)
    interface: dict[str, object] = {
        "version": 3,
        "shape": shape,
        "strides": tuple(stride * width for stride in strides),
        # custom dtypes have no text there
        "typestr": dtype.str if dtype.isbuiltin == 1 else f"|V{width}",
        "data": (address, read_only),
    }
    return np.asarray(_HostMemory(interface, owner)).view(dtype)


def settle(tensor: Tensor) -> None:
    """Waits for the work in flight on a tensor's memory, and raises its error."""
    address = tensor.address
    if address:  # a copy of one byte does it
        byte = ffi.new("char *")
        check(lib.wia_copy_device_to_host(byte, ffi.cast("void *", address), 1, NULL))


def is_viewable(tensor: Tensor) -> bool:
    """Whether numpy can look into a tensor's memory."""
    flags = tensor.device.flags
    return DeviceFlag.HOST_ADDRESSABLE in flags and _dtype.BITS[tensor._code] >= 8


def view_on_host(tensor: Tensor) -> np.ndarray[Any, Any]:
    """An array on a tensor's own memory."""
    import numpy as np

    bits = _dtype.BITS[tensor._code]
    if DeviceFlag.HOST_ADDRESSABLE not in tensor.device.flags:
        raise UnimplementedError(
            f"{tensor.device.name} has no host addresses, so numpy can't look into its memory. "
            "t.numpy() makes a copy."
        )
    if bits < 8:
        raise UnimplementedError(
            f"Elements of {tensor.dtype} share bytes, which numpy can't show. t.numpy() makes a "
            "copy."
        )
    info = tensor._info()
    if info.element_count == 0:
        return np.empty(tensor.shape, tensor.dtype)
    settle(tensor)
    return array_at(
        info.address,
        tensor.shape,
        tensor.strides,
        tensor._code,
        read_only=bool(info.read_only),
        owner=tensor[...],  # stays when the tensor is closed
    )


def to_buffer(tensor: Tensor) -> memoryview:
    """A memoryview on a tensor's own memory."""
    if DeviceFlag.HOST_ADDRESSABLE not in tensor.device.flags:
        raise BufferError(
            f"{tensor.device.name} has no host addresses, so no buffer can be on its memory. Take "
            "memoryview(t.numpy()), which is on a copy."
        )
    if tensor.dtype.isbuiltin != 1:
        raise BufferError(
            f"Python's buffers can't tell that elements are {tensor.dtype}. Take "
            "t.numpy().view('uint8'), which is a copy, or t.__dlpack__()."
        )
    array: Any = view_on_host(tensor)  # numpy annotates its buffers from Python 3.12 on
    return memoryview(array)


def array_interface(tensor: Tensor) -> dict[str, object]:
    """What __array_interface__ gives, for dtypes that numpy has itself."""
    dtype, info = tensor.dtype, tensor._info()
    if not is_viewable(tensor) or dtype.isbuiltin != 1 or info.element_count == 0:
        raise AttributeError(f"{tensor.device.name} can't show its {dtype} as __array_interface__.")
    settle(tensor)
    view = tensor[...]  # stays when the tensor is closed
    layout = info.layout
    start = ffi.cast("char *", info.address + layout.span_begin)
    memory = ffi.buffer(ffi.gc(start, lambda _: view.close()), layout.span_end - layout.span_begin)
    return {
        "version": 3,
        "shape": tensor.shape,
        "strides": tuple(stride * dtype.itemsize for stride in tensor.strides),
        "typestr": dtype.str,
        "data": memoryview(memory).toreadonly() if info.read_only else memory,
        "offset": -layout.span_begin,
    }


def fill(tensor: Tensor, value: object) -> None:
    """Sets all elements to a number."""

    array, code = as_array(value, tensor._code)
    if array.shape != ():
        raise ArgumentTypeError(f"{value!r} was given to fill with; expected one number.")
    info = tensor._info()
    if info.element_count == 0:
        return
    bits = _dtype.BITS[code]
    if not info.contiguous or bits < 8:
        write(tensor, array, None)
        return
    target = ffi.cast("void *", info.address)
    check(lib.wia_fill_memory(target, _pointer(array), bits // 8, info.size, NULL))


def copy(destination: Tensor, source: Tensor) -> None:
    """Copies between contiguous tensors with elements, on one device or two."""
    check(
        lib.wia_copy_device_to_device(
            ffi.cast("void *", destination.address),
            ffi.cast("void *", source.address),
            source.nbytes,
            NULL,
        )
    )


def describe(tensor: Tensor, limit: int) -> str:
    """The text of a tensor: its values if there are few and they can be had without waiting."""
    import math

    import numpy as np

    what = f"dtype={_dtype.NAMES[tensor._code]}, device={tensor.device.name!r}"
    if math.prod(tensor.shape) <= limit:
        try:
            if not _is_pending(tensor):
                prefix = "wia.Tensor("
                values = np.array2string(tensor.numpy(), separator=", ", prefix=prefix)
                return f"{prefix}{values}, {what})"
        except WiaError as error:
            what += f", {error.status}"
    return f"wia.Tensor(shape={tensor.shape}, {what})"


def _is_pending(tensor: Tensor) -> bool:
    info = ffi.new("wia_address_info_t *")
    info.struct_size = ffi.sizeof("wia_address_info_t")
    address = tensor.address
    if not address:
        return False
    check(lib.wia_query_address(ffi.cast("void *", address), info))
    return bool(info.pending)
