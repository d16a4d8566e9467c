"""Contexts: one user's connection to one device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, overload

from wia import _device, _memory_pool
from wia._attributes import find_operation, pack_attributes
from wia._dlpack import SupportsDLPack, from_dlpack
from wia._dtype import dtype_code
from wia._errors import ArgumentTypeError, check
from wia._explain import explains_methods
from wia._group import Group, Value
from wia._infer import Described, infer
from wia._native import NULL, ffi, lib
from wia._operations import Operations
from wia._plan import Plan
from wia._resource import Resource, destroyer
from wia._stream import Stream
from wia._tape import record, tapes
from wia._tensor import Tensor, allocate, handles, shape_of
from wia._transfer import as_array
from wia._wait import wait

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from wia._device import Device

__all__ = ["Context"]

_CACHE_SIZE = 4096

Output = TypeVar("Output", Tensor, Tensor | None)
"""A tensor for an output, or None for one that is left out."""


@explains_methods
class Context(Resource, Operations):
    """A connection to a device, given by name ("npu:0", "npu"), as Device, or left to WIA.

    It has one method per operation of the catalog. Tensors, streams and plans that were made with
    it can be read, run and given to other contexts' calls after it is closed.

    >>> import wia
    >>> with wia.Context("reference") as ctx:
    ...     ctx.matmul(ctx.tensor([[1.0, 2.0]]), ctx.tensor([[3.0], [4.0]])).tolist()
    [[11.0]]
    """

    __slots__ = ("_device", "_inferred")
    _destroy = destroyer("context")

    def __init__(self, device: str | Device | None = None) -> None:
        """Opens the device. Raises NotFoundError, or what its driver raises."""
        if device is None or isinstance(device, str):
            device = _device.find_device(device or "")
        elif not isinstance(device, _device.Device):
            raise ArgumentTypeError(
                f"{device!r} was given as device; expected a name such as 'reference:0', a Device "
                "of wia.devices(), or None for the default device."
            )
        out = ffi.new("wia_context_t **")
        check(lib.wia_create_context(out, device.id))
        super().__init__(out[0])
        self._device = device
        self._inferred: dict[object, tuple[Described, ...]] = {}

    @property
    def device(self) -> Device:
        """The device, as it was when the context was made."""
        return self._device

    def tensor(
        self, value: ArrayLike | Tensor, dtype: object = None, *, stream: Stream | None = None
    ) -> Tensor:
        """Copies an array, nested lists, a number, or a tensor of any device into a new tensor.

        Arrays keep their dtype unless one is given; Python floats become float32. With a stream
        the copy is enqueued; value must not be changed until it is done.
        """
        if isinstance(value, Tensor):
            copy = value.copy() if value.device.id == self._device.id else value
            moved = copy.to(self)
            return moved if dtype is None else self.cast(moved, dtype=dtype)
        array, code = as_array(value, None if dtype is None else dtype_code(dtype))
        tensor = allocate(self, array.shape, code)
        tensor.write(array, stream=stream)
        return tensor

    def empty(self, shape: int | Sequence[int], dtype: object = "float32") -> Tensor:
        """A new tensor whose elements are not set."""
        return allocate(self, shape_of(shape), dtype_code(dtype))

    def zeros(self, shape: int | Sequence[int], dtype: object = "float32") -> Tensor:
        """A new tensor of zeros."""
        return self.full(shape, 0, dtype)

    def full(self, shape: int | Sequence[int], value: object, dtype: object = "float32") -> Tensor:
        """A new tensor with all elements of one value."""
        tensor = allocate(self, shape_of(shape), dtype_code(dtype))
        tensor.fill(value)
        return tensor

    def from_dlpack(self, x: SupportsDLPack, *, copy: bool | None = None) -> Tensor:
        """wia.from_dlpack on this context: a tensor on the memory of another package's array."""
        return from_dlpack(x, self, copy=copy)

    def stream(self, *, priority: int = 0) -> Stream:
        """A new stream on the context's device; lower priorities go first."""
        return Stream(self, priority=priority)

    def memory_stats(self) -> _memory_pool.MemoryStats:
        """Statistics of the memory that the context has of its device, in use and free."""
        return _memory_pool.statistics(self)

    def memory_summary(self) -> str:
        """The statistics as a table to read."""
        return _memory_pool.summary(self)

    def reset_memory_peaks(self) -> None:
        """Sets the peaks of the statistics to what is there now."""
        check(lib.wia_reset_memory_peaks(self._handle))

    def configure_memory(
        self, *, pool: bool | None = None, limit: int | None = None, keep: int | None = None
    ) -> None:
        """Sets the bytes that the context may have at most, and that may lie free in its pool.

        None is what the variable WIA_MEMORY_POOL says. Without a pool each tensor's memory comes
        from the driver and goes back to it. keep=0 keeps nothing.
        """
        mode = 0 if pool is None else 1 if pool else 2
        _memory_pool.configure(self, mode, limit or 0, keep or (0 if keep is None else 1))

    def trim_memory(self, keep: int = 0) -> int:
        """Gives free memory back to the device until at most keep bytes are free.

        Memory that work in flight uses stays. Returns the bytes that went.
        """
        return _memory_pool.trim(self, keep)

    def synchronize(self, timeout: float | None = None) -> None:
        """Waits for all work enqueued so far on all streams of the device, of any context.

        Raises DeadlineExceededError after timeout seconds, and the first failure that is met.
        """
        device = self._device.id
        wait(
            repr(self),
            lambda left: int(lib.wia_synchronize_device(device, left)),
            lambda: False,
            timeout,
        )

    def plan(
        self,
        op: str | int,
        inputs: Sequence[Tensor | None],
        outputs: Sequence[Tensor | None],
        **attributes: object,
    ) -> Plan:
        """Prepares an operation once for these layouts, to be run many times."""
        return Plan(self, op, inputs, outputs, **attributes)

    def group(self) -> Group:
        """An empty group: operations are added to it, and its plan runs them all."""
        return Group(self)

    @overload
    def execute(
        self,
        op: str | int,
        inputs: Sequence[Tensor | None],
        outputs: None = None,
        *,
        stream: Stream | None = None,
        **attributes: object,
    ) -> Sequence[Tensor]: ...

    @overload
    def execute(
        self,
        op: str | int,
        inputs: Sequence[Tensor | None],
        outputs: Sequence[Output],
        *,
        stream: Stream | None = None,
        **attributes: object,
    ) -> Sequence[Output]: ...

    def execute(
        self,
        op: str | int,
        inputs: Sequence[Tensor | None],
        outputs: Sequence[Tensor | None] | None = None,
        *,
        stream: Stream | None = None,
        **attributes: object,
    ) -> Sequence[Tensor | None]:
        """Runs any operation by name or number, and returns the outputs; None makes all of them.

        An input or output that may be left out is None in its list.
        """
        entry = find_operation(op)
        if outputs is None:
            outputs = self._new_outputs(entry.number, tuple(inputs), attributes)
        packed, count, kept = pack_attributes(entry, attributes)
        given = handles(inputs)
        made = handles(outputs)
        check(
            lib.wia_execute(
                self._handle,
                entry.number,
                given,
                len(inputs),
                made,
                len(outputs),
                packed,
                count,
                NULL if stream is None else stream._handle,
            )
        )
        del kept
        if tapes:
            record(entry.name, inputs, attributes, outputs)
        return outputs

    # -- what the generated methods use -----------------------------------------------------------

    def _new_output(
        self,
        op: int,
        inputs: tuple[Tensor | None, ...],
        attributes: Mapping[str, object] | None = None,
    ) -> Tensor:
        """A tensor for the output of an operation, as the library's shape rule says.

        What the rules said is remembered for calls without attributes.
        """
        return allocate(self, *self._find_outputs(op, inputs, attributes)[0])

    def _new_outputs(
        self,
        op: int,
        inputs: tuple[Tensor | None, ...],
        attributes: Mapping[str, object] | None = None,
    ) -> tuple[Tensor, ...]:
        """The same for all outputs."""
        found = self._find_outputs(op, inputs, attributes)
        return tuple(allocate(self, *described) for described in found)

    def _find_outputs(
        self,
        op: int,
        inputs: tuple[Tensor | None, ...],
        attributes: Mapping[str, object] | None,
    ) -> tuple[Described, ...]:
        if attributes:
            return self._infer(op, inputs, attributes)
        key = (op, *[t if t is None else (t._code, t._shape) for t in inputs])
        found = self._inferred.get(key)
        if found is None:
            found = self._infer(op, inputs, {})
            if len(self._inferred) >= _CACHE_SIZE:
                self._inferred.clear()
            self._inferred[key] = found
        return found

    def _infer(
        self, op: int, inputs: Sequence[Tensor | Value | None], attributes: Mapping[str, object]
    ) -> tuple[Described, ...]:
        """Shapes and dtype numbers of the outputs of an operation."""
        given = [None if tensor is None else (tensor._shape, tensor._code) for tensor in inputs]
        return infer(op, given, attributes)

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"wia.Context({self._device.name!r}{state})"
