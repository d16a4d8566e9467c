"""Tensors: memory of a device with dtype, shape and strides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, NoReturn

from wia import _bridge, _transfer, _views
from wia._dtype import numpy_dtype
from wia._errors import ArgumentTypeError, InvalidArgumentError, UnimplementedError, check
from wia._explain import explains_methods
from wia._native import NULL, Buffer, ffi, lib, new_struct
from wia._tape import record_view, tapes
from wia._tensor_operators import Operators

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from wia._context import Context
    from wia._device import Device
    from wia._stream import Stream

__all__ = ["Tensor", "allocate", "handles", "shape_of"]

_REPR_ELEMENTS = 64


@explains_methods
class Tensor(Operators, Buffer):
    """An array on a device. Contexts make them: ctx.tensor(...), ctx.empty(...), results.

    Indexing, t.T, reshape and the like make views on the same memory. The memory is freed when
    neither a tensor nor work in flight needs it any more; close() gives it up at once.
    """

    __slots__ = ("__weakref__", "_code", "_context", "_handle", "_shape", "_strides")

    def __init__(
        self,
        context: Context,
        handle: Any,
        code: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None,
    ) -> None:
        """Takes over a `wia_tensor_t`; strides None: row-major."""
        self._context = context
        self._handle = ffi.gc(handle, lib.wia_destroy_tensor)
        self._code = code
        self._shape = shape
        self._strides = strides

    # -- what it is -------------------------------------------------------------------------------

    @property
    def context(self) -> Context:
        """The context that operators on this tensor run in."""
        return self._context

    @property
    def device(self) -> Device:
        """The device that holds the memory."""
        return self._context.device

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each dimension."""
        return self._shape

    @property
    def strides(self) -> tuple[int, ...]:
        """The distance of neighbours in each dimension, in elements."""
        return _views.row_major(self._shape) if self._strides is None else self._strides

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type as an object of numpy or ml_dtypes."""
        return numpy_dtype(self._code)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(self._info().element_count)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements, packed."""
        return int(self._info().size)

    @property
    def address(self) -> int:
        """The device address of element 0; 0 when there is no element."""
        return int(self._info().address)

    @property
    def contiguous(self) -> bool:
        """Whether the elements lie in row-major order without gaps."""
        return bool(self._info().contiguous)

    @property
    def read_only(self) -> bool:
        """Whether the memory was imported as read-only, so that the tensor is no output."""
        return bool(self._info().read_only)

    def _info(self) -> Any:
        info = new_struct("wia_tensor_info_t")
        check(lib.wia_get_tensor_info(self._handle, info))
        return info

    # -- values -----------------------------------------------------------------------------------

    def numpy(self, *, copy: bool = True) -> np.ndarray[Any, Any]:
        """The elements as an array, after the work in flight on them.

        copy=False gives an array on the same memory; only devices with host addresses can do that.
        Raises the error of the work in flight if it failed.
        """
        return _transfer.to_numpy(self) if copy else _transfer.view_on_host(self)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self.numpy().tolist()

    def item(self) -> Any:
        """The only element as a Python number."""
        return self.numpy().item()

    def write(self, value: ArrayLike, *, stream: Stream | None = None) -> None:
        """Copies an array of any dtype that casts to this one, broadcast to this shape, into it.

        With a stream the copy is enqueued; value must not be changed until it is done.
        """
        _transfer.write(self, value, stream)

    def read(self, out: np.ndarray[Any, Any], *, stream: Stream | None = None) -> None:
        """Copies the elements into a contiguous array of the same shape and dtype.

        With a stream the copy is enqueued, and out has the values once it is done.
        """
        _transfer.read(self, out, stream)

    def record_stream(self, stream: Stream) -> None:
        """Tells that work enqueued on the stream so far, unseen by WIA, uses the tensor's memory.

        Its memory is given back, and host reads start, only after that work.
        """
        if self.size:
            address = ffi.cast("void *", self.address)
            check(lib.wia_record_stream(address, stream._handle))

    def fill(self, value: object) -> None:
        """Sets all elements to one number."""
        _transfer.fill(self, value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        fits = dtype is None or dtype == self.dtype
        if copy is False and not fits:
            raise InvalidArgumentError(
                f"numpy asked for {dtype} without a copy; the tensor has {self.dtype}."
            )
        if copy is False or (copy is None and fits and _transfer.is_viewable(self)):
            return self.numpy(copy=False)
        array = self.numpy()
        return array if fits else array.astype(dtype)

    def __buffer__(self, flags: int, /) -> memoryview:
        """The memory for memoryview(t) and all that takes buffers, after the work in flight on it.

        The memory stays until the last memoryview of it is released, also when the tensor is
        closed. It is read-only where the tensor is. Raises BufferError on a device without host
        addresses, and for dtypes that the protocol has no letter for (bfloat16, float8, int4 ...).
        """
        return _transfer.to_buffer(self)

    @property
    def __array_interface__(self) -> dict[str, object]:
        """The memory for packages that know numpy's protocol; only where numpy() needs no copy."""
        return _transfer.array_interface(self)

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule on the memory, after the work in flight on it. Other packages call this.

        The memory stays until the package gives it back. Work enqueued later is not seen by the
        package. Raises BufferError, as DLPack says, where the package can't use the memory.
        """
        from wia import _dlpack

        return _dlpack.to_dlpack(self, stream, max_version, dl_device, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The device as DLPack numbers it: (1, 0), host memory, where the device allows that."""
        from wia import _dlpack

        return _dlpack.device_of(self)

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    # -- views ------------------------------------------------------------------------------------

    def _view(self, view: _views.View) -> Tensor:
        out = ffi.new("wia_tensor_t *")
        rank = len(view.shape)
        check(lib.wia_view_tensor(self._handle, view.offset, view.shape, view.strides, rank, out))
        made = Tensor(self._context, out[0], self._code, view.shape, view.strides)
        if tapes:
            record_view(self, made)
        return made

    def __getitem__(self, key: object) -> Tensor:
        return self._view(_views.index(self._shape, self.strides, key))

    def __setitem__(self, key: object, value: Tensor | ArrayLike) -> None:
        self[key].write(value.numpy() if isinstance(value, Tensor) else value)

    def __len__(self) -> int:
        if not self._shape:
            raise ArgumentTypeError("A tensor of rank 0 has no length.")
        return self._shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def permute(self, *axes: int) -> Tensor:
        """A view with the dimensions in another order; without axes in reverse order."""
        order = axes or tuple(reversed(range(len(self._shape))))
        return self._view(_views.permute(self._shape, self.strides, order))

    @property
    def T(self) -> Tensor:
        """A view with the dimensions in reverse order."""
        return self.permute()

    def broadcast_to(self, *shape: int | Sequence[int]) -> Tensor:
        """A view that repeats dimensions of size 1, with stride 0. Not for outputs."""
        return self._view(_views.broadcast(self._shape, self.strides, shape_of(*shape)))

    def reshape(self, *shape: int | Sequence[int]) -> Tensor:
        """A view of another shape (one -1 is worked out), or a copy where strides forbid it."""
        target, view = _views.reshape(self._shape, self.strides, shape_of(*shape))
        if view is not None:
            return self._view(view)
        out = allocate(self._context, target, self._code)
        self._context.reshape(self, out=out)
        return out

    def copy(self) -> Tensor:
        """A row-major copy on the same device."""
        out = allocate(self._context, self._shape, self._code)
        if self.size == 0:
            return out
        if self.contiguous:
            _transfer.copy(out, self)
            return out
        try:
            self._context.copy(self, out=out)
        except UnimplementedError:
            out.write(self.numpy())
        return out

    def to(self, context: Context) -> Tensor:
        """This tensor for another context: a view on the same device, else a copy on the other."""
        if not isinstance(context, type(self._context)):
            raise ArgumentTypeError(
                f"{context!r} was given as context; expected a wia.Context of a device."
            )
        if context is self._context:
            return self
        if context.device.id == self._context.device.id:
            view = self._view(_views.View(0, self._shape, self.strides))
            view._context = context
            return view
        out = allocate(context, self._shape, self._code)
        if self.size:
            _transfer.copy(out, self if self.contiguous else self.copy())
        return out

    # -- life -------------------------------------------------------------------------------------

    def close(self) -> None:
        """Gives the memory up now, unless a view or work in flight needs it."""
        ffi.release(self._handle)

    def __repr__(self) -> str:
        return _transfer.describe(self, _REPR_ELEMENTS)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "A Tensor can't be pickled: its memory belongs to this process. Send t.numpy(), and "
            "make a tensor of it with ctx.tensor(...) on the other side."
        )


def shape_of(*shape: int | Sequence[int]) -> tuple[int, ...]:
    """A shape given as one sequence or as numbers."""
    given: Any = shape[0] if len(shape) == 1 else shape
    if type(given) is int:
        return (given,)
    try:
        return tuple([index(size) for size in given])
    except TypeError:
        pass  # not a sequence of integers: an integer, or wrong
    try:
        return (index(given),)
    except TypeError:
        raise ArgumentTypeError(
            f"{given!r} was given as shape; expected an integer or a sequence of integers."
        ) from None


def allocate(context: Context, shape: tuple[int, ...], code: int) -> Tensor:
    """A new row-major tensor; its elements are not set."""
    tensor: Tensor | None = _bridge.allocate(context, shape, code)
    if tensor is not None:
        return tensor
    out = ffi.new("wia_tensor_t *")
    try:
        status = lib.wia_allocate_tensor(context._handle, shape, len(shape), code, out)
    except OverflowError:
        raise InvalidArgumentError(
            f"The shape {shape} was given; dimensions are below 2**63."
        ) from None
    check(status)
    return Tensor(context, out[0], code, shape, None)


def handles(tensors: Sequence[Tensor | None]) -> Any:
    """A `wia_tensor_t[]` of tensors, NULL for None."""
    for tensor in tensors:
        if tensor is not None and not isinstance(tensor, Tensor):
            raise ArgumentTypeError(
                f"{type(tensor).__qualname__} was given as operand; expected a wia.Tensor, which "
                "ctx.tensor(...) makes."
            )
    return ffi.new("wia_tensor_t[]", [NULL if t is None else t._handle for t in tensors])
