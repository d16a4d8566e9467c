"""Kernels: what a driver returns from prepare, and the call of the Python ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from wia._errors import ArgumentTypeError
from wia._native import NULL, ffi, lib

if TYPE_CHECKING:
    from wia.driver._layout import Layout

__all__ = [
    "Cost",
    "Kernel",
    "Launch",
    "NativeKernel",
    "fill_kernel",
    "native_address",
    "release_kernel",
]


class Cost(NamedTuple):
    """What one launch costs; below 0: not known."""

    flops: float = -1.0
    bytes: float = -1.0
    time_ns: float = -1.0
    energy_pj: float = -1.0


class Kernel:
    """A Python callable as a kernel, with what is to be said about it.

    It is called as function(*inputs, *outputs, **scalars) on numpy arrays over the operands (None
    for an input that is left out) and writes into the outputs. Inputs are read-only. The arrays are
    valid during the call.
    """

    __slots__ = ("cost", "function", "in_place", "name", "thread_safe")

    def __init__(
        self,
        function: Callable[..., object],
        *,
        in_place: bool = False,
        thread_safe: bool = True,
        cost: Cost | None = None,
        name: str = "",
    ) -> None:
        self.function = function
        self.in_place = in_place
        self.thread_safe = thread_safe
        self.cost = cost or Cost()
        self.name = name


class NativeKernel:
    """A compiled kernel: the address of a `wia_status_t fn(void *state, const args *)`.

    It runs without Python. `state` is handed to it; `keepalive` is any object that has to live as
    long as the kernel (the code, what state points to). Sizes are in bytes.
    """

    __slots__ = (
        "address",
        "cost",
        "in_place",
        "keepalive",
        "name",
        "state",
        "thread_safe",
        "workspace_alignment",
        "workspace_size",
    )

    def __init__(
        self,
        address: object,
        *,
        state: int = 0,
        keepalive: object = None,
        workspace_size: int = 0,
        workspace_alignment: int = 0,
        in_place: bool = False,
        thread_safe: bool = True,
        cost: Cost | None = None,
        name: str = "",
    ) -> None:
        found = address if isinstance(address, int) else native_address(address)
        if not found:
            raise ArgumentTypeError(
                f"{address!r} was given as the address of a kernel; expected a number above 0, a "
                "Numba cfunc, or a function pointer of cffi or ctypes."
            )
        self.address = found
        self.state = state
        self.keepalive = (address, keepalive)
        self.workspace_size = workspace_size
        self.workspace_alignment = workspace_alignment
        self.in_place = in_place
        self.thread_safe = thread_safe
        self.cost = cost or Cost()
        self.name = name


def native_address(value: object) -> int | None:
    """The address of a Numba cfunc or of a function pointer of cffi or ctypes; None for others."""
    if isinstance(value, ffi.CData):
        is_function = ffi.typeof(value).kind == "function"
        return int(ffi.cast("uintptr_t", value)) if is_function else None
    if type(value).__module__.startswith("numba.") and hasattr(value, "address"):
        return int(value.address)
    ctypes = sys.modules.get("ctypes")
    if ctypes is not None and isinstance(value, ctypes._CFuncPtr):
        return int(ctypes.cast(value, ctypes.c_void_p).value or 0)
    return None


class Launch:
    """A prepared Python kernel: turns the operands of a launch into arrays and calls it.

    The arrays of the last launch are kept: most kernels run on the same memory again and again, and
    making an array takes longer than the rest of the call.
    """

    __slots__ = ("_function", "_input_count", "_last", "_layouts", "_scalars")

    def __init__(
        self,
        function: Callable[..., object],
        inputs: Sequence[Layout | None],
        outputs: Sequence[Layout],
        scalars: Sequence[tuple[str, int]],
    ) -> None:
        """Scalars are names and their indices in the launch."""
        self._function = function
        self._layouts = (*inputs, *outputs)
        self._input_count = len(inputs)
        self._scalars = tuple(scalars)
        self._last: tuple[tuple[int, ...], tuple[Any, ...]] = ((), ())

    def run(self, args: Any) -> None:
        """Runs the kernel on a `const wia_kernel_args_t *`."""
        operands = args.operands
        addresses = tuple([operands[i].address for i in range(len(self._layouts))])
        known, arrays = self._last
        if known != addresses or not arrays:
            arrays = self._make_arrays(addresses)
            self._last = (addresses, arrays)
        if self._scalars:
            scalars = args.scalars
            values = {name: scalars[i].f64 for name, i in self._scalars}
            self._function(*arrays, **values)
        else:
            self._function(*arrays)

    def _make_arrays(self, addresses: tuple[int, ...]) -> tuple[Any, ...]:
        arrays: list[Any] = []
        for layout, address in zip(self._layouts, addresses, strict=True):
            array = None if layout is None else layout.array(address)
            if array is not None and len(arrays) < self._input_count:
                array.flags.writeable = False
            arrays.append(array)
        return tuple(arrays)


class _Kept:
    """What the kernels with one state keep alive, and how many of them there are."""

    __slots__ = ("count", "values")

    def __init__(self) -> None:
        self.count = 0
        self.values: list[object] = []


# By the state, since that is all that a release is told. Kernels without a state share 0.
_kept: dict[int, _Kept] = {}
_kept_lock = Lock()


def _keep(state: Any, value: object) -> None:
    with _kept_lock:
        kept = _kept.setdefault(int(ffi.cast("uintptr_t", state)), _Kept())
        kept.count += 1
        kept.values.append(value)


def release_kernel(state: Any) -> None:
    """The other end of fill_kernel: lets go of what the kernel with that state kept alive."""
    with _kept_lock:
        key = int(ffi.cast("uintptr_t", state))
        kept = _kept[key]
        kept.count -= 1
        if kept.count == 0:
            del _kept[key]


def fill_kernel(out: Any, kernel: Kernel | NativeKernel, launch: Launch | None) -> None:
    """Fills a `wia_driver_kernel_t *`. launch is given for a Python kernel."""
    flags = lib.WIA_KERNEL_THREAD_SAFE if kernel.thread_safe else 0
    flags |= lib.WIA_KERNEL_IN_PLACE if kernel.in_place else 0
    name = ffi.new("char[]", kernel.name.encode()) if kernel.name else NULL
    out.flags = flags
    out.name = name
    cost = out.cost
    cost.flops, cost.bytes, cost.time_ns, cost.energy_pj = kernel.cost
    if isinstance(kernel, NativeKernel):
        out.fn = ffi.cast("wia_kernel_fn_t", kernel.address)
        out.workspace_size = kernel.workspace_size
        out.workspace_alignment = kernel.workspace_alignment
        out.state = ffi.cast("void *", kernel.state)
        _keep(out.state, (kernel.keepalive, name))
    else:
        out.fn = ffi.addressof(lib, "wia__gate_launch")
        handle = ffi.new_handle(launch)
        out.state = handle
        _keep(handle, (handle, launch, name))
    out.release = ffi.addressof(lib, "wia__gate_release")
