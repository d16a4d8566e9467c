"""The base class of drivers that are written in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple, TypeVar

from wia._device import DeviceFlag, LinkInfo
from wia._dtype import CODES
from wia._errors import InvalidArgumentError, UnimplementedError
from wia._native import NULL, lib, text
from wia.driver._base import BaseDevice
from wia.driver._kernel import Kernel, NativeKernel, native_address
from wia.driver._memory import DeviceMemory, NativeMemory
from wia.driver._node import Group, Node

__all__ = ["Driver", "as_kernel", "kernel"]

Prepared = Kernel | NativeKernel | Callable[..., object] | object
"""What a kernel method returns: see Driver."""

Method = TypeVar("Method", bound=Callable[..., Prepared])


class _Mark(NamedTuple):
    """What @kernel says of a method."""

    ops: tuple[str, ...]
    dtypes: frozenset[str] | None
    in_place: bool
    thread_safe: bool


def kernel(
    *ops: str,
    dtypes: Iterable[str] | None = None,
    in_place: bool = False,
    thread_safe: bool = True,
) -> Callable[[Method], Method]:
    """Marks a method of a Driver as the one that prepares kernels of these operations.

    `dtypes` are those of the input that the catalog's are about (the first, of `where` the second;
    of an operation without such an input the output), None: all that the catalog has.
    `in_place`: the kernels work when an output is exactly an input. `thread_safe`: several threads
    may run one at once.
    """
    wanted = None if dtypes is None else frozenset(dtypes)
    unknown = sorted((wanted or frozenset()) - CODES.keys())
    if not ops or unknown:
        raise InvalidArgumentError(
            f"@kernel was given the operations {ops} and the unknown dtypes {unknown}; expected at "
            f"least one operation and dtypes out of {', '.join(CODES)}."
        )

    def mark(method: Method) -> Method:
        marks = [*getattr(method, "_wia_marks", ()), _Mark(ops, wanted, in_place, thread_safe)]
        method._wia_marks = marks  # type: ignore[attr-defined]
        return method

    return mark


class Driver:
    """One kind of device. A vendor subclasses it and marks methods with @kernel.

    A kernel method takes a Node and returns what runs it: a Python callable, called as
    f(*inputs, *outputs, **scalars) on numpy arrays; a Numba cfunc or a function pointer of cffi or
    ctypes of the type wia_kernel_fn_t; a Kernel or a NativeKernel, with more about either. It
    raises UnimplementedError for what it lacks; then the next method that fits is asked.

    Any thread may call any method. The class is instantiated without arguments, once per process.
    """

    name: ClassVar[str] = ""
    """The part of a device name before the colon: [a-z][a-z0-9_]*."""
    version: ClassVar[str] = "0"
    vendor: ClassVar[str] = ""
    description: ClassVar[str] = ""
    architecture: ClassVar[str] = ""
    flags: ClassVar[DeviceFlag] = DeviceFlag.HOST_ADDRESSABLE
    """The default fits drivers on host memory."""
    address_alignment: ClassVar[int] = 0
    """Of allocations, in bytes; 0: 64."""
    memory: DeviceMemory | NativeMemory | None = None
    """None: host memory, managed by native code. Decided before the driver is registered."""
    base_graphs: ClassVar[bool] = False
    """True: graphs are offered to the driver of the base devices, which may take them as a whole.
    For a driver with BaseMemory whose kernels are all made by BaseDevice.prepare."""

    _table: Any = NULL
    _marked: ClassVar[dict[str, list[tuple[str, _Mark]]]] = {}
    """By operation: names of methods and what their marks say."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Collects the marked methods, those of base classes behind one's own."""
        super().__init_subclass__(**options)
        cls._marked = {}
        members: dict[str, object] = {}
        for base in cls.__mro__:
            members = members | {k: v for k, v in vars(base).items() if k not in members}
        for name, member in members.items():
            marks: list[_Mark] = getattr(member, "_wia_marks", [])
            if marks and name in vars(Driver):
                raise InvalidArgumentError(
                    f"{cls.__qualname__}.{name} is marked with @kernel, but {name} is a method of "
                    "every driver; give it another name."
                )
            for mark in marks:
                for op in mark.ops:
                    cls._marked.setdefault(op, []).append((name, mark))

    def device_count(self) -> int:
        """How many devices there are now. Asked often, so it has to be cheap."""
        return 1

    def open_device(self, device: int) -> None:
        """Gets a device ready, before anything else is asked of it."""

    def get_flags(self, device: int) -> DeviceFlag:
        """What the device is; the class attribute unless overridden."""
        return self.flags

    def describe_device(self, device: int) -> str:
        """The device's description; the class attribute unless overridden."""
        return self.description

    def get_link(self, device: int, peer: int) -> LinkInfo | None:
        """What is between two of the driver's devices; None: the host, figures not known."""
        return None

    def get_option(self, name: str) -> str | None:
        """The environment variable WIA_<DRIVER>_<NAME>, or WIA_<DRIVER> for the name "".

        None when it is unset, or the process privileged.

        Not in __init__, which runs before the library knows the driver.
        """
        value = lib.wia_get_host().get_option(self._table, name.encode())
        return None if value == NULL else text(value)

    def find_base(self, name: str) -> BaseDevice:
        """A device of another driver, by its name, for a driver that builds on it.

        It is loaded and opened if need be. From open_device on. Raises InvalidArgumentError for a
        malformed name and for a device of this driver, UnimplementedError for one with
        DeviceFlag.SERIAL, FailedPreconditionError for one that builds on the device being opened,
        and what opening the device raises.
        """
        return BaseDevice(self._table, name)

    def log(self, message: str, *, is_error: bool = False) -> None:
        """Writes a warning, or an error, to the library's log."""
        level = lib.WIA_LOG_ERROR if is_error else lib.WIA_LOG_WARNING
        lib.wia_get_host().log(self._table, level, message.encode("utf-8", "replace"))

    def get_support(self, device: int, op: str) -> frozenset[str]:
        """The dtypes, by name, for which the device has kernels of an operation."""
        found: frozenset[str] = frozenset()
        for _, mark in self._marked.get(op, ()):
            if mark.dtypes is None:
                from wia.catalog import find_entry

                entry = find_entry(op)
                found |= frozenset(entry.dtypes if entry else ())
            else:
                found |= mark.dtypes
        return found

    def prepare(self, device: int, node: Node) -> Prepared:
        """Prepares a kernel for one operation: asks the marked methods that fit, in their order."""
        from wia.catalog import find_entry

        entry = find_entry(node.op)
        lead = entry.lead if entry else 0
        operands = (*(node.inputs[lead:] if lead >= 0 else ()), *node.outputs)
        first = next((layout for layout in operands if layout), None)
        dtype = first.dtype if first else ""
        marked = self._marked.get(node.op, [])
        if not marked:
            raise UnimplementedError(f"{self.name} has no kernel for {node.op}.")
        refusals = []
        for name, mark in marked:
            if mark.dtypes is not None and dtype not in mark.dtypes:
                continue
            node.attributes.forget_reads()
            try:
                prepared: Prepared = getattr(self, name)(node)
                node.attributes.refuse_ignored(node.op)
                return as_kernel(prepared, in_place=mark.in_place, thread_safe=mark.thread_safe)
            except UnimplementedError as error:
                refusals.append(f"{name}: {error}")
        if refusals:
            raise UnimplementedError(f"{self.name}: {'; '.join(refusals)}")
        raise UnimplementedError(
            f"{self.name} has no kernel for {node.op} of {dtype}; it has it for "
            f"{', '.join(sorted(self.get_support(device, node.op)))}."
        )

    def prepare_group(self, device: int, group: Group) -> Prepared:
        """Prepares a kernel for a group. Overridden by drivers that fuse operations.

        A group of several nodes may be refused with UnimplementedError; then its nodes come one by
        one. A Python kernel is called with the group's operands, and its scalars by the names of
        Group.scalars.
        """
        if len(group.nodes) != 1:
            raise UnimplementedError(
                f"{self.name} prepares single operations; a group of {len(group.nodes)} was given."
            )
        return self.prepare(device, group.nodes[0])


def as_kernel(
    prepared: Prepared, *, in_place: bool = False, thread_safe: bool = True
) -> Kernel | NativeKernel:
    """What a kernel method returned as a kernel; the flags go on one that says nothing itself."""
    if isinstance(prepared, Kernel | NativeKernel):
        return prepared
    if native_address(prepared) is not None:
        return NativeKernel(prepared, in_place=in_place, thread_safe=thread_safe)
    if callable(prepared):
        return Kernel(prepared, in_place=in_place, thread_safe=thread_safe)
    raise InvalidArgumentError(
        f"{prepared!r} was returned as a kernel; expected a callable, a function pointer, a Kernel "
        "or a NativeKernel."
    )
