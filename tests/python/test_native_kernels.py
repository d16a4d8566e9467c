"""Compiled kernels of Python drivers, and how long kernels live."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import numpy as np
import pytest
from support import made

import wia
from wia._native import ffi, lib
from wia.driver import (
    Cost,
    Driver,
    NativeKernel,
    Node,
    kernel,
)

REASON = b"a reason of the kernel's own"
KernelType = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


@KernelType
def fill_with_state(state: int, args: int) -> int:
    """Writes the number that state points to into all elements of the output."""
    launch = ffi.cast("wia_kernel_args_t *", args)
    number = ffi.cast("float *", state or 0)
    output = launch.operands[launch.input_count]
    data = ffi.cast("float *", output.address)
    for i in range(output.layout.element_count):
        data[i] = number[0]
    return 0


@KernelType
def fail(state: int, args: int) -> int:
    error = ffi.cast("wia_kernel_args_t *", args).out_error
    ffi.memmove(error.message, REASON + b"\0", len(REASON) + 1)
    return int(lib.WIA_STATUS_ABORTED)


def test_native_kernels() -> None:
    """From ctypes and from cffi, with state and without."""

    @kernel("relu")
    def relu(self: Driver, node: Node) -> object:
        number = np.array([2.5], np.float32)
        state = int(number.__array_interface__["data"][0])
        return NativeKernel(
            fill_with_state, state=state, keepalive=number, cost=Cost(flops=4.0), name="fill"
        )

    @kernel("softmax")
    def softmax(self: Driver, node: Node) -> object:
        return fail

    @kernel("add")
    def add(self: Driver, node: Node) -> object:
        return ffi.cast("wia_kernel_fn_t", ctypes.cast(fail, ctypes.c_void_p).value)

    with made(relu=relu, softmax=softmax, add=add) as ctx:
        x = ctx.tensor([1.0, 2.0])
        assert ctx.relu(x).tolist() == [2.5, 2.5]
        with ctx.plan("relu", [x], [ctx.empty(2)]) as plan:
            assert plan.name == "fill"
            assert plan.workspace_size == 0
        for call in (lambda: ctx.softmax(x), lambda: ctx.add(x, x)):
            with pytest.raises(wia.AbortedError, match=REASON.decode()):
                call()


@pytest.mark.parametrize("address", [0, None, "f", len])
def test_addresses_that_are_none(address: object) -> None:
    with pytest.raises(wia.ArgumentTypeError, match="function pointer"):
        NativeKernel(address)


def test_workspace() -> None:
    """A native kernel gets as much scratch memory as it asked for, aligned."""
    seen: list[tuple[int, int]] = []

    @KernelType
    def look(state: int, args: int) -> int:
        launch = ffi.cast("wia_kernel_args_t *", args)
        seen.append((launch.workspace_size, launch.workspace.address))
        ffi.memmove(ffi.cast("char *", launch.workspace.address), b"\1" * 1000, 1000)
        return 0

    @kernel("relu")
    def relu(self: Driver, node: Node) -> object:
        return NativeKernel(look, workspace_size=1000, workspace_alignment=256)

    with made(relu=relu) as ctx:
        ctx.relu(ctx.zeros(3))
    size, address = seen[0]
    assert size >= 1000
    assert address % 256 == 0


def test_released_kernels_let_go() -> None:
    """Guard: release_kernel; without it every kernel ever prepared stays."""
    alive: list[weakref.ref[Any]] = []

    @kernel("relu")
    def relu(self: Driver, node: Node) -> object:
        def run(x: Any, out: Any) -> None:
            np.copyto(out, x)

        alive.append(weakref.ref(run))
        return run

    with made(relu=relu) as ctx:
        capacity = ctx.device.plan_cache().capacity
        for size in range(1, 2 * capacity + 1):
            ctx.relu(ctx.empty(size))
        assert len(alive) == 2 * capacity
        assert sum(reference() is not None for reference in alive) <= capacity + 8
        assert ctx.device.plan_cache().eviction_count >= capacity - 8
