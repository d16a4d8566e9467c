"""Kernels: what a driver returns from prepare, and the call of the Python ones."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from wia._errors import ArgumentTypeError, InvalidArgumentError
from wia._native import NULL, ffi, lib

if TYPE_CHECKING:
    from wia.driver._layout import Layout

__all__ = [
    "Cost",
    "CostFunction",
    "Kernel",
    "Launch",
    "NativeKernel",
    "fill_cost",
    "fill_kernel",
    "measure_kernel",
    "native_address",
    "release_kernel",
]


_KEPT_LAYOUTS = 64


class Cost(NamedTuple):
    """What one launch costs; below 0: not known."""

    flops: float = -1.0
    bytes: float = -1.0
    time_ns: float = -1.0
    energy_pj: float = -1.0


CostFunction = Callable[[Sequence["Layout | None"]], Cost]


class Kernel:
    """A Python callable as a kernel, with what is to be said about it.

    It is called as function(*inputs, *outputs, **scalars) on numpy arrays over the operands (None
    for an input that is left out) and writes into the outputs. Inputs are read-only. The arrays are
    valid during the call.

    any_shape: it works for row-major arrays of any shape, with the dtypes, ranks and attributes
    that it was prepared for; then it is not prepared again for other shapes. cost may be a function
    of the operands' layouts (None for one that is left out), to tell it for all of them.
    """

    __slots__ = ("any_shape", "cost", "function", "in_place", "name", "thread_safe")

    def __init__(
        self,
        function: Callable[..., object],
        *,
        any_shape: bool = False,
        in_place: bool = False,
        thread_safe: bool = True,
        cost: Cost | CostFunction | None = None,
        name: str = "",
    ) -> None:
        self.function = function
        self.any_shape = any_shape
        self.in_place = in_place
        self.thread_safe = thread_safe
        self.cost = cost or Cost()
        self.name = name


class NativeKernel:
    """A compiled kernel: the address of a `wia_status_t fn(void *state, const args *)`.

    It runs without Python. `state` is handed to it; `keepalive` is any object that has to live as
    long as the kernel (the code, what state points to). Sizes are in bytes. any_shape: as Kernel's;
    shapes are in the layouts of the operands. cost may be a function, as Kernel's, when state isn't
    0 and no other kernel has it. prompt: it waits for no thread that may run Python, and takes
    microseconds for 2,048 elements of all operands together; up to these it may run with the GIL.
    """

    __slots__ = (
        "address",
        "any_shape",
        "cost",
        "in_place",
        "keepalive",
        "name",
        "prompt",
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
        any_shape: bool = False,
        in_place: bool = False,
        thread_safe: bool = True,
        prompt: bool = False,
        cost: Cost | CostFunction | None = None,
        name: str = "",
    ) -> None:
        found = address if isinstance(address, int) else native_address(address)
        if not found:
            raise ArgumentTypeError(
                f"{address!r} was given as the address of a kernel; expected a number above 0, a "
                "Numba cfunc, or a function pointer of cffi or ctypes."
            )
        if callable(cost) and state == 0:
            raise InvalidArgumentError(
                f"The kernel {name!r} was given a function as cost and no state, by which the "
                "function is found again; expected a state, or the cost itself."
            )
        self.address = found
        self.state = state
        self.prompt = prompt
        self.keepalive = (address, keepalive)
        self.workspace_size = workspace_size
        self.workspace_alignment = workspace_alignment
        self.any_shape = any_shape
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
        kernel: Kernel,
        input_count: int,
        scalars: Sequence[tuple[str, int]],
    ) -> None:
        """Scalars are names and their indices in the launch."""
        self._function = kernel.function
        self._input_count = input_count
        self._scalars = tuple(scalars)
        self._last: tuple[tuple[int, ...], tuple[Any, ...]] = ((), ())
        # By id, which is never given again; few, since a kernel for any shape meets many.
        self._layouts: dict[int, Layout] = {}

    def run(self, args: Any) -> None:
        """Runs the kernel on a `const wia_kernel_args_t *`."""
        operands = args.operands
        count = args.input_count + args.output_count
        places = []
        for i in range(count):
            operand = operands[i]
            places.append(operand.address)
            places.append(operand.layout.id if operand.layout else 0)
        known, arrays = self._last
        if known != (place := tuple(places)) or not arrays:
            arrays = self._make_arrays(operands, count)
            self._last = (place, arrays)
        if self._scalars:
            scalars = args.scalars
            values = {name: scalars[i].f64 for name, i in self._scalars}
            self._function(*arrays, **values)
        else:
            self._function(*arrays)

    def _make_arrays(self, operands: Any, count: int) -> tuple[Any, ...]:
        arrays: list[Any] = []
        for i in range(count):
            operand = operands[i]
            array = self._layout(operand.layout).array(operand.address) if operand.layout else None
            if array is not None and i < self._input_count:
                array.flags.writeable = False
            arrays.append(array)
        return tuple(arrays)

    def _layout(self, layout: Any) -> Layout:
        from wia.driver._layout import Layout

        found = self._layouts.get(layout.id)
        if found is None:
            if len(self._layouts) > _KEPT_LAYOUTS:
                self._layouts = {}
            found = self._layouts[layout.id] = Layout(layout)
        return found


class _Kept:
    """What the kernels with one state keep alive, and how many of them there are."""

    __slots__ = ("cost", "count", "values")

    def __init__(self) -> None:
        self.cost: Cost | CostFunction = Cost()
        self.count = 0
        self.values: list[object] = []


# By the state, since that is all that a release is told. Kernels without a state share 0.
_kept: dict[int, _Kept] = {}
_kept_lock = Lock()


def _renew_lock() -> None:
    """In a process that was forked off, where its owner may be gone."""
    global _kept_lock
    _kept_lock = Lock()


os.register_at_fork(after_in_child=_renew_lock)


def _keep(state: Any, value: object, cost: Cost | CostFunction) -> None:
    with _kept_lock:
        kept = _kept.setdefault(int(ffi.cast("uintptr_t", state)), _Kept())
        kept.count += 1
        kept.cost = cost
        kept.values.append(value)


def release_kernel(state: Any) -> None:
    """The other end of fill_kernel: lets go of what the kernel with that state kept alive."""
    with _kept_lock:
        key = int(ffi.cast("uintptr_t", state))
        kept = _kept[key]
        kept.count -= 1
        if kept.count == 0:
            del _kept[key]


def measure_kernel(state: Any, layouts: Sequence[Layout | None]) -> Cost:
    """What a launch of the kernel with that state costs on operands of these layouts."""
    with _kept_lock:
        cost = _kept[int(ffi.cast("uintptr_t", state))].cost
    return cost(layouts) if callable(cost) else cost


def fill_cost(out: Any, cost: Cost) -> None:
    """Fills a `wia_cost_t *`, or one inside a struct."""
    out.flops, out.bytes, out.time_ns, out.energy_pj = cost


def fill_kernel(
    out: Any,
    kernel: Kernel | NativeKernel,
    launch: Launch | None,
    layouts: Sequence[Layout | None],
) -> None:
    """Fills a `wia_driver_kernel_t *`. launch is given for a Python kernel."""
    flags = lib.WIA_KERNEL_THREAD_SAFE if kernel.thread_safe else 0
    flags |= lib.WIA_KERNEL_IN_PLACE if kernel.in_place else 0
    flags |= lib.WIA_KERNEL_ANY_SHAPE if kernel.any_shape else 0
    name = ffi.new("char[]", kernel.name.encode()) if kernel.name else NULL
    out.flags = flags
    out.name = name
    if callable(kernel.cost):
        fill_cost(out.cost, kernel.cost(layouts))
        out.measure = ffi.addressof(lib, "wia__gate_measure")
    else:
        fill_cost(out.cost, kernel.cost)
    if isinstance(kernel, NativeKernel):
        out.flags |= lib.WIA_KERNEL_PROMPT if kernel.prompt else 0
        out.fn = ffi.cast("wia_kernel_fn_t", kernel.address)
        out.workspace_size = kernel.workspace_size
        out.workspace_alignment = kernel.workspace_alignment
        out.state = ffi.cast("void *", kernel.state)
        _keep(out.state, (kernel.keepalive, name), kernel.cost)
    else:
        out.fn = ffi.addressof(lib, "wia__gate_launch")
        handle = ffi.new_handle(launch)
        out.state = handle
        _keep(handle, (handle, launch, name), kernel.cost)
    out.release = ffi.addressof(lib, "wia__gate_release")
