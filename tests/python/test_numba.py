"""Kernels compiled by Numba. Without numba these tests don't run: the gate installs it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import made

import wia
from wia._native import ffi
from wia.driver import Cost, Driver, NativeKernel, Node, kernel

numba = pytest.importorskip("numba")

from wia.driver.numba import (  # noqa: E402  (it needs numba)
    KERNEL_SIGNATURE,
    operand_address,
    operand_array,
    operand_size,
    operand_stride,
    pointer,
    record,
    record_dtype,
    scalar,
    workspace_address,
)

ARGS, OPERAND = record("wia_kernel_args_t"), record("wia_operand_t")


def make_matmul(rank: int) -> Any:
    @numba.cfunc(KERNEL_SIGNATURE)
    def matmul(state: int, args: int) -> int:
        a = operand_array(args, 0, numba.float32, rank)
        b = operand_array(args, 1, numba.float32, rank)
        c = operand_array(args, 2, numba.float32, rank)
        for i in range(c.shape[0]):
            for j in range(c.shape[1]):
                total = 0.0
                for k in range(a.shape[1]):
                    total += a[i, k] * b[k, j]
                c[i, j] = scalar(args, 0) * total
        return 0

    return matmul


def test_strided_operands_and_scalars() -> None:
    @kernel("matmul", dtypes=["float32"])
    def matmul(self: Driver, node: Node) -> object:
        assert [name for name, _ in node.scalars] == ["alpha", "beta"]
        return make_matmul(node.output.rank)

    with made(matmul=matmul) as ctx:
        array = np.arange(12, dtype=np.float32).reshape(3, 4)
        a = ctx.tensor(array)
        np.testing.assert_array_equal(ctx.matmul(a, a.T).numpy(), array @ array.T)
        turned, view = array[::-1, ::2], a[::-1, ::2]
        result = ctx.matmul(view, view.T, alpha=2.0)
        np.testing.assert_array_equal(result.numpy(), 2 * (turned @ turned.T))


def test_records_and_workspace() -> None:
    """By hand: records at addresses, the state, the workspace."""

    @numba.cfunc(KERNEL_SIGNATURE)
    def relu(state: int, args: int) -> int:
        launch = numba.carray(pointer(args, ARGS), 1)[0]
        operands = numba.carray(pointer(launch.operands, OPERAND), 2)
        out = numba.carray(pointer(operands[1].address, numba.float32), 3)
        scratch = numba.carray(pointer(workspace_address(args), numba.int64), 8)
        for i in range(3):
            scratch[i] = launch.input_count + launch.output_count + i
            out[i] = scratch[i] + state
        return 0

    @kernel("relu", dtypes=["float32"])
    def prepare(self: Driver, node: Node) -> object:
        return NativeKernel(relu, state=100, workspace_size=64)

    with made(relu=prepare) as ctx:
        assert ctx.relu(ctx.zeros(3)).tolist() == [102.0, 103.0, 104.0]


@pytest.mark.parametrize("name", ["wia_kernel_args_t", "wia_operand_t", "wia_tensor_layout_t"])
def test_records_have_the_layout_of_c(name: str) -> None:
    dtype = record_dtype(name)
    assert dtype.itemsize == ffi.sizeof(name)
    assert dtype.fields is not None
    for field, member in ffi.typeof(name).fields:
        kind, offset = dtype.fields[field][:2]
        assert (kind.itemsize, offset) == (ffi.sizeof(member.type), member.offset)


def test_what_is_no_struct() -> None:
    for name in ("wia_nothing_t", "int", "wia_status_t"):
        with pytest.raises(wia.NotFoundError, match=name):
            record_dtype(name)


def test_sizes_and_strides() -> None:
    """Of a launch, for a kernel of any shape whose cost is a function."""

    @numba.cfunc(KERNEL_SIGNATURE)
    def relu(state: int, args: int) -> int:
        out = numba.carray(pointer(operand_address(args, 1), numba.float32), 2)
        out[0] = operand_size(args, 0, 1)
        out[1] = operand_stride(args, 0, 0)
        return 0

    @kernel("relu", dtypes=["float32"])
    def prepare(self: Driver, node: Node) -> object:
        prepared.append(node)
        return NativeKernel(relu, state=1, any_shape=True, cost=lambda operands: measure(operands))

    def measure(operands: Any) -> Cost:
        return Cost(flops=operands[0].shape[1])

    prepared: list[Node] = []
    with made(relu=prepare) as ctx:
        for columns in (3, 5):
            x = ctx.zeros((2, columns))
            with ctx.plan("relu", [x], [x.copy()]) as plan:
                assert plan._info().flops == columns
            assert ctx.relu(x).numpy()[0, :2].tolist() == [columns, columns]


def test_a_cost_function_needs_a_state() -> None:
    with pytest.raises(wia.InvalidArgumentError, match="no state"):
        NativeKernel(1, cost=lambda operands: Cost())
