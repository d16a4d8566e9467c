"""DLPack: arrays of other packages as tensors and tensors as arrays of theirs, without a copy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from wia import _dtype, _transfer, _views
from wia._device import DeviceFlag
from wia._errors import (
    ArgumentTypeError,
    IncompatibleError,
    InvalidArgumentError,
    ResourceExhaustedError,
    UnimplementedError,
    check,
)
from wia._explain import explained
from wia._native import NULL, ffi, lib, new_struct
from wia._tensor import Tensor, allocate

if TYPE_CHECKING:
    from wia._context import Context

__all__ = ["SupportsDLPack", "device_of", "from_dlpack", "to_dlpack"]

_CPU, _EXTENSION = 1, 12
_HOST_MEMORY = (_CPU, 3, 11)  # also what CUDA and ROCm pin
_VERSION = (lib.WIA__DLPACK_MAJOR, lib.WIA__DLPACK_MINOR)
_KINDS = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "complex": 5, "bool": 6}
_SMALL_FLOATS = {
    "float8_e3m4": 7,
    "float8_e4m3": 8,
    "float8_e4m3b11fnuz": 9,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14,
    "float6_e2m3fn": 15,
    "float6_e3m2fn": 16,
    "float4_e2m1fn": 17,
}


class SupportsDLPack(Protocol):
    """What numpy, torch and others give their arrays."""

    def __dlpack__(self, *, stream: Any = None) -> Any: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


def _kind(name: str) -> int:
    small = _SMALL_FLOATS.get(name)
    return _KINDS[name.rstrip("0123456789")] if small is None else small


_TO_DLPACK = {code: (_kind(name), _dtype.BITS[code]) for code, name in _dtype.NAMES.items()}
_FROM_DLPACK = {given: code for code, given in _TO_DLPACK.items()}


# -- in -------------------------------------------------------------------------------------------


@explained
def from_dlpack(x: SupportsDLPack, context: Context, *, copy: bool | None = None) -> Tensor:
    """A tensor of the context on the memory of an array of another package.

    Only devices with host addresses can use foreign memory, and only memory of the host can be
    used; copy=True makes a copy, which every device can have. The memory stays while the tensor, a
    view of it or work in flight needs it. What x says is read-only is refused as output.
    Raises ArgumentTypeError for what doesn't speak DLPack, UnimplementedError for other devices and
    dtypes, IncompatibleError for a newer DLPack, AlreadyExistsError for memory that partly is a
    tensor's already.
    """
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise ArgumentTypeError(
            f"{type(x).__qualname__} was given; expected an object with __dlpack__ and "
            "__dlpack_device__, such as an array of numpy or a tensor of torch. ctx.tensor(...) "
            "copies anything that numpy understands."
        )
    if isinstance(x, Tensor) and (copy or x.device.id == context.device.id):
        return context.tensor(x) if copy else x.to(context)
    device = context.device
    if not copy and DeviceFlag.HOST_ADDRESSABLE not in device.flags:
        raise UnimplementedError(
            f"{device.name} has no host addresses, so it can't use the memory of a "
            f"{type(x).__qualname__}. copy=True copies it."
        )
    kind = x.__dlpack_device__()[0]
    if kind not in _HOST_MEMORY:
        raise UnimplementedError(
            f"A {type(x).__qualname__} on device type {int(kind)} of DLPack was given; expected "
            "host memory (1). Move it to the host first."
        )
    return _take(_ask(x, copy), context, bool(copy))


def _ask(x: SupportsDLPack, copy: bool | None) -> object:
    """The capsule; packages from before DLPack 1.0 know none of the keywords."""
    keywords: dict[str, object] = {"max_version": _VERSION}
    if copy is False:
        keywords["copy"] = False
    try:
        return x.__dlpack__(**keywords)
    except TypeError:
        return x.__dlpack__()


def _take(capsule: object, context: Context, copy: bool) -> Tensor:
    out = ffi.new("wia__dlpack_legacy_t **")
    out_versioned = ffi.new("wia__dlpack_versioned_t **")
    if lib.wia__take_dlpack(id(capsule), out, out_versioned):
        raise InvalidArgumentError(
            f"__dlpack__ gave {capsule!r}; expected an unused DLPack capsule. Each serves once."
        )
    versioned = out_versioned[0] != NULL
    managed = out_versioned[0] if versioned else out[0]
    release = "wia__release_versioned_dlpack" if versioned else "wia__release_legacy_dlpack"
    config = new_struct("wia_import_config_t", release=ffi.addressof(lib, release))
    config.context = managed
    try:
        if versioned and managed.major != _VERSION[0]:
            raise IncompatibleError(
                f"An array of DLPack {managed.major}.{managed.minor} was given; this version of "
                f"WIA reads {_VERSION[0]}.x and older. Upgrade wia."
            )
        flags = managed.flags if versioned else 0
        if flags & lib.WIA__DLPACK_READ_ONLY:
            config.flags = lib.WIA_IMPORT_READ_ONLY
        tensor = (_copy if copy else _import)(managed.array, flags, context, config)
    except BaseException:
        getattr(lib, release)(managed)
        raise
    if copy:
        getattr(lib, release)(managed)
    return tensor


def _read(array: Any, flags: int) -> tuple[int, tuple[int, ...], tuple[int, ...] | None, int]:
    """The dtype's number, shape, strides and address of element 0."""
    given = (array.dtype_code, array.dtype_bits)
    code = _FROM_DLPACK.get(given)
    if code is None or array.dtype_lanes != 1 or (flags & lib.WIA__DLPACK_PADDED and given[1] < 8):
        raise UnimplementedError(
            f"A dtype of DLPack was given that WIA doesn't have: code {given[0]}, {given[1]} bits, "
            f"{array.dtype_lanes} lanes. Cast the array first."
        )
    if not 0 <= array.rank <= lib.WIA_MAX_RANK:
        raise InvalidArgumentError(
            f"An array of rank {array.rank} was given; WIA has tensors up to rank "
            f"{lib.WIA_MAX_RANK}."
        )
    if array.rank and array.shape == NULL:
        raise InvalidArgumentError(
            f"An array of rank {array.rank} was given whose shape is NULL; expected {array.rank} "
            "sizes. The package that made it is at fault."
        )
    shape = tuple(ffi.unpack(array.shape, array.rank)) if array.rank else ()
    has_strides = array.strides != NULL and array.rank
    strides = tuple(ffi.unpack(array.strides, array.rank)) if has_strides else None
    address = int(ffi.cast("uintptr_t", array.data)) + array.byte_offset
    if 0 not in shape and (array.data == NULL or address >= 2**64):
        raise InvalidArgumentError(
            f"An array was given whose elements are {array.byte_offset} bytes from address "
            f"{int(ffi.cast('uintptr_t', array.data)):#x}; expected memory of the host. The "
            "package that made it is at fault."
        )
    return code, shape, strides, address


def _import(array: Any, flags: int, context: Context, config: Any) -> Tensor:
    code, shape, strides, address = _read(array, flags)
    out = ffi.new("wia_tensor_t *")
    check(
        lib.wia_import_tensor(
            context._handle,
            ffi.cast("void *", address),
            shape,
            NULL if strides is None else strides,
            len(shape),
            code,
            config,
            out,
        )
    )
    return Tensor(context, out[0], code, shape, strides)


def _copy(array: Any, flags: int, context: Context, config: Any) -> Tensor:
    del config
    code, shape, strides, address = _read(array, flags)
    row_major = _views.row_major(shape)
    tensor = allocate(context, shape, code)
    if math.prod(shape) == 0:
        return tensor
    if strides is None or all(
        size == 1 or a == b for size, a, b in zip(shape, strides, row_major, strict=True)
    ):
        source = ffi.cast("void *", address)
        check(lib.wia_write_tensor(tensor._handle, source, tensor.nbytes, NULL))
    elif _dtype.BITS[code] < 8:
        raise UnimplementedError(
            f"Elements of {_dtype.NAMES[code]} share bytes, so only row-major arrays of them are "
            "read. Make the array contiguous first."
        )
    else:
        tensor.write(_transfer.array_at(address, shape, strides, code))
    return tensor


# -- out ------------------------------------------------------------------------------------------


def device_of(tensor: Tensor) -> tuple[int, int]:
    """The device in DLPack's terms: the host's for what has host addresses, else an extension."""
    if DeviceFlag.HOST_ADDRESSABLE in tensor.device.flags:
        return _CPU, 0
    return _EXTENSION, tensor.device.id


def _refuse(why: str) -> NoReturn:
    raise BufferError(why)


def to_dlpack(
    tensor: Tensor,
    stream: object,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> object:
    """A capsule with the tensor's memory, or with a copy of it; see Tensor.__dlpack__."""
    name = tensor.device.name
    if stream is not None:
        _refuse(
            f"stream={stream!r} was given; memory of {name} is exchanged without streams: None."
        )
    on_host = device_of(tensor)[0] == _CPU
    if dl_device is not None and tuple(dl_device) not in {(_CPU, 0), device_of(tensor)}:
        _refuse(
            f"{name} was asked for memory on device {dl_device} of DLPack; it gives {(_CPU, 0)}."
        )
    if not on_host:
        if dl_device is None or tuple(dl_device) != (_CPU, 0) or copy is False:
            _refuse(
                f"{name} has no host addresses, so no package can use its memory. t.numpy() copies."
            )
        return tensor.numpy().__dlpack__(max_version=max_version)
    # Between 0 and 1 the layout changed; a reader of a later major version is given ours.
    versioned = max_version is not None and max_version[0] >= _VERSION[0]
    flags = lib.WIA__DLPACK_COPIED if copy else 0
    tensor = tensor.copy() if copy else tensor
    info = tensor._info()
    if info.read_only:
        if not versioned:
            _refuse(
                "The tensor is on read-only memory, which DLPack before 1.0 can't tell. Ask for "
                "max_version=(1, 0), or for a copy."
            )
        flags |= lib.WIA__DLPACK_READ_ONLY
    _transfer.settle(tensor)
    return _give(tensor, info, versioned, flags)


def _give(tensor: Tensor, info: Any, versioned: bool, flags: int) -> object:
    rank = len(tensor._shape)
    kind, bits = _TO_DLPACK[tensor._code]
    shape, strides = ffi.new("int64_t[]", rank + 1), ffi.new("int64_t[]", rank + 1)
    shape[0:rank], strides[0:rank] = tensor._shape, tensor.strides
    array = ffi.new("wia__dlpack_array_t *")
    array.data = ffi.cast("void *", info.address)
    array.device_type, array.device_id = _CPU, 0
    array.rank = rank
    array.dtype_code, array.dtype_bits, array.dtype_lanes = kind, bits, 1
    array.shape, array.strides = shape, strides
    out = ffi.new("wia_tensor_t *")
    check(lib.wia_view_tensor(tensor._handle, 0, tensor._shape, tensor.strides, rank, out))
    capsules: list[object] = []
    if lib.wia__give_dlpack(id(capsules), versioned, flags, array, out[0]):
        lib.wia_destroy_tensor(out[0])
        raise ResourceExhaustedError("No host memory is left for a DLPack capsule.")
    return capsules.pop()
