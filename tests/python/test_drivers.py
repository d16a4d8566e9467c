"""Drivers written in Python: what kernels are told, and what they must not do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
from support import made

import wia
from wia.driver import (
    Driver,
    Kernel,
    Node,
    kernel,
)


def copy_input(values: Any, out: Any) -> None:
    np.copyto(out, values)


def test_a_kernel_is_prepared_once_per_signature() -> None:
    asked: list[Node] = []

    @kernel("relu", dtypes=["float32"])
    def relu(self: Driver, node: Node) -> Callable[..., None]:
        asked.append(node)
        return copy_input

    with made(relu=relu) as ctx:
        a, b = ctx.tensor([[1.0, 2.0], [3.0, 4.0]]), ctx.tensor([[5.0, 6.0], [7.0, 8.0]])
        for tensor in (a, b, a):
            assert ctx.relu(tensor).tolist() == tensor.tolist()
        assert len(asked) == 1
        assert ctx.relu(a.T).tolist() == a.T.tolist()
        assert len(asked) == 2
    node = asked[1]
    assert node.op == "relu"
    layout = node.inputs[0]
    assert layout is not None
    assert (layout.dtype, layout.shape, layout.strides) == ("float32", (2, 2), (1, 2))
    assert (layout.rank, layout.contiguous, layout.packed) == (2, False, False)
    assert node.aliases == (-1,)
    assert layout.numpy_dtype == np.float32
    assert "relu" in repr(node)


def test_attributes_and_scalars() -> None:
    """Attributes have the catalog's defaults; scalars come with each launch."""
    seen: list[Any] = []

    @kernel("matmul")
    def matmul(self: Driver, node: Node) -> Callable[..., None]:
        transpose_a, transpose_b = node.attributes["transpose_a"], node.attributes["transpose_b"]
        seen.append((transpose_a, transpose_b))

        def run(a: Any, b: Any, c: Any, *, alpha: float, beta: float) -> None:
            seen.append((alpha, beta))
            product = alpha * ((a.T if transpose_a else a) @ (b.T if transpose_b else b))
            np.copyto(c, product + beta * c if beta else product)

        return run

    with made(matmul=matmul) as ctx:
        a = ctx.tensor([[1.0, 2.0], [3.0, 4.0]])
        x = a.numpy()
        np.testing.assert_array_equal(ctx.matmul(a, a).numpy(), x @ x)
        out = ctx.full((2, 2), 10)
        ctx.matmul(a, a, out=out, transpose_b=True, alpha=0.5, beta=2)
        np.testing.assert_array_equal(out.numpy(), 0.5 * (x @ x.T) + 20)
    assert seen == [(False, False), (1.0, 0.0), (False, True), (0.5, 2.0)]


def test_a_kernel_that_ignores_an_attribute_is_refused() -> None:
    """Guard: Attributes.refuse_ignored; without it the result is that of another operation."""

    @kernel("matmul")
    def matmul(self: Driver, node: Node) -> Callable[..., None]:
        def run(a: Any, b: Any, c: Any, *, alpha: float, beta: float) -> None:
            np.matmul(a, b, out=c)

        return run

    with made(matmul=matmul) as ctx:
        a = ctx.tensor([[1.0, 2.0], [3.0, 4.0]])
        assert ctx.matmul(a, a).tolist() == [[7.0, 10.0], [15.0, 22.0]]
        with pytest.raises(wia.UnimplementedError, match="doesn't look at transpose_a"):
            ctx.matmul(a, a, transpose_a=True)


def test_left_out_inputs_are_none() -> None:
    seen: list[Any] = []

    @kernel("linear")
    def linear(self: Driver, node: Node) -> Callable[..., None]:
        seen.append(node.inputs[2])

        def run(x: Any, weight: Any, bias: Any, out: Any) -> None:
            seen.append(bias)
            np.copyto(out, x @ weight.T)

        return run

    with made(linear=linear) as ctx:
        x = ctx.tensor([[1.0, 2.0]])
        assert ctx.linear(x, ctx.tensor([[3.0, 4.0]])).tolist() == [[11.0]]
    assert seen == [None, None]


def test_methods_are_asked_in_order() -> None:
    @kernel("relu", dtypes=["float32"])
    def first(self: Driver, node: Node) -> Callable[..., None]:
        raise wia.UnimplementedError("only on Sundays")

    @kernel("relu", "add", dtypes=["float32", "int32"])
    def second(self: Driver, node: Node) -> Callable[..., None]:
        if node.op == "add":
            raise NotImplementedError("not yet")
        return copy_input

    with made(first=first, second=second) as ctx:
        assert ctx.relu(ctx.tensor([1.0])).tolist() == [1.0]
        assert ctx.device.supports("relu") == {"float32", "int32"}
        assert ctx.device.supports("matmul") == set()
        with pytest.raises(wia.UnimplementedError, match="has no kernel for relu of float64"):
            ctx.relu(ctx.tensor([1.0], "float64"))
        with pytest.raises(wia.UnimplementedError, match="not yet") as caught:
            ctx.add(ctx.tensor([1.0]), ctx.tensor([1.0]))
        assert caught.value.driver.startswith("made")


def test_in_place_only_where_the_kernel_says_so() -> None:
    @kernel("relu")
    def relu(self: Driver, node: Node) -> Callable[..., None]:
        return copy_input

    @kernel("add", in_place=True)
    def add(self: Driver, node: Node) -> Callable[..., None]:
        assert node.aliases == (0,)
        return lambda a, b, out: np.add(a, b, out=out)

    with made(relu=relu, add=add) as ctx:
        a = ctx.tensor([1.0, 2.0])
        ctx.add(a, a[:], out=a)
        assert a.tolist() == [2.0, 4.0]
        with pytest.raises(wia.WiaError, match=r"(?i)place|overlap"):
            ctx.relu(a, out=a)


def test_inputs_are_read_only() -> None:
    @kernel("relu")
    def relu(self: Driver, node: Node) -> Callable[..., None]:
        def run(x: Any, out: Any) -> None:
            x[0] = 1

        return run

    with made(relu=relu) as ctx, pytest.raises(wia.InternalError, match="read-only"):
        ctx.relu(ctx.tensor([1.0]))


@pytest.mark.parametrize(
    ("exception", "expected"),
    [
        (ValueError("odd"), wia.InternalError),
        (MemoryError("full"), wia.ResourceExhaustedError),
        (NotImplementedError("later"), wia.UnimplementedError),
        (TimeoutError("slow"), wia.DeadlineExceededError),
        (wia.DataLossError("gone"), wia.DataLossError),
        (UnicodeError("\udcff \N{SNOWMAN}" * 200), wia.InternalError),
    ],
)
def test_what_kernels_raise(exception: Exception, expected: type[wia.WiaError]) -> None:
    """Scenario 16: the status fits, message and traceback arrive, and the next call works."""
    fail = [True]

    @kernel("relu")
    def relu(self: Driver, node: Node) -> Callable[..., None]:
        def run(x: Any, out: Any) -> None:
            if fail[0]:
                raise exception
            np.copyto(out, x)

        return run

    with made(relu=relu) as ctx:
        x = ctx.tensor([1.0])
        with pytest.raises(expected) as caught:
            ctx.relu(x)
        assert str(exception).encode("utf-8", "replace").decode() in str(caught.value)
        assert caught.value.function == "wia_relu"
        if expected is not wia.UnimplementedError:
            assert "in run" in caught.value.cause
        fail[0] = False
        assert ctx.relu(x).tolist() == [1.0]


@pytest.mark.parametrize("returned", [None, 3, "code", object()])
def test_what_is_no_kernel(returned: object) -> None:
    @kernel("relu")
    def relu(self: Driver, node: Node) -> object:
        return returned

    with made(relu=relu) as ctx, pytest.raises(wia.InvalidArgumentError, match="as a kernel"):
        ctx.relu(ctx.tensor([1.0]))


class Lengths(Driver):
    """relu for any shape, add for each one."""

    name = "lengths"
    prepared: ClassVar[list[str]] = []

    @kernel("relu", "add")
    def prepare_one(self, node: Node) -> Kernel:
        Lengths.prepared.append(node.op)
        if node.op == "relu":
            return Kernel(lambda x, out: np.maximum(x, 0, out=out), any_shape=True)
        return Kernel(lambda a, b, out: np.add(a, b, out=out))


def test_any_shape() -> None:
    """A thousand lengths are one preparation where the kernel says so."""
    wia.register_driver(Lengths)
    with wia.Context("lengths") as ctx:
        for length in range(1, 1001):
            x = ctx.full((length,), -1.0 if length % 2 else 2.0)
            assert ctx.relu(x)[length - 1].item() == (0.0 if length % 2 else 2.0)
        assert Lengths.prepared == ["relu"]
        for length in (1, 2):
            ctx.add(ctx.full((length,), 1.0), ctx.full((length,), 1.0))
        assert Lengths.prepared == ["relu", "add", "add"]
