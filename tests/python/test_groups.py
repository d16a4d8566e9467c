"""Groups: the same results from one kernel and from several, on every driver."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from support import made

import wia
from wia.driver import Driver, Kernel, kernel
from wia.driver import Group as DriverGroup

M, K, N = 5, 7, 11


def layer(group: wia.Group, bias: bool = True, activation: str = "relu") -> wia.Value:
    """act(x w + b)."""
    x, w = group.input((M, K)), group.input((K, N))
    y = x @ w
    if bias:
        y = y + group.input(N)
    return group.apply(activation, [y]) if activation else y


def operands(ctx: wia.Context, bias: bool = True) -> list[wia.Tensor]:
    random = np.random.default_rng(3)
    shapes = [(M, K), (K, N), *([(N,)] if bias else [])]
    return [ctx.tensor(random.standard_normal(shape).astype("f")) for shape in shapes]


def separately(ctx: wia.Context, given: Sequence[wia.Tensor], activation: str) -> Any:
    y = ctx.matmul(given[0], given[1])
    if len(given) == 3:
        y = ctx.add(y, given[2])
    return (ctx.execute(activation, [y])[0] if activation else y).numpy()


@pytest.fixture(params=["reference", "sample", "npu", "emulator:1"])
def any_ctx(request: pytest.FixtureRequest) -> Iterator[wia.Context]:
    """A context on each driver that computes."""
    if request.param == "npu":
        pytest.importorskip("numba")
    with wia.Context(request.param) as context:
        yield context


@pytest.mark.parametrize("bias", [True, False])
def test_a_layer(any_ctx: wia.Context, bias: bool) -> None:
    """One call, the bits of separate calls."""
    group = any_ctx.group()
    y = layer(group, bias)
    given = operands(any_ctx, bias)
    out = any_ctx.empty(y.shape)
    with group.plan(y) as plan, wia.Stream(any_ctx) as stream:
        plan(*given, out)
        expected = separately(any_ctx, given, "relu")
        assert out.numpy().tobytes() == expected.tobytes()
        out.fill(0)
        for _ in range(5):
            plan(*given, out, stream=stream)
        assert out.numpy().tobytes() == expected.tobytes()
        assert repr(plan) == f"wia.Plan('matmul, {'add, ' if bias else ''}relu')"
        if any_ctx.device.driver_name in ("npu", "sample"):
            assert plan.kernel_count == 1
        if any_ctx.device.driver_name == "sample":
            assert (plan.kernel_count, plan.workspace_size) == (1, 0)
        if any_ctx.device.driver_name == "reference":
            assert plan.kernel_count == 2 + bias
            assert plan.name == f"matmul, {'add, ' if bias else ''}relu"
            assert (
                plan.workspace_size == 256 * bias + 4 * M * N
            )  # the first of two to whole 64 bytes


@pytest.mark.parametrize("product", ["matmul", "linear", "addmm", "batch"])
@pytest.mark.parametrize("end", ["", "silu", "gelu", "gelu of tanh", "sigmoid"])
def test_what_the_npu_fuses(product: str, end: str) -> None:
    """Every product with every end: one kernel, the bits of several, from one chunk or many."""
    pytest.importorskip("numba")
    random = np.random.default_rng(5)
    every: dict[str, list[tuple[int, ...]]] = {
        "matmul": [(600, 70), (70, 530)],
        "linear": [(3, 4, 9), (21, 9), (21,)],
        "addmm": [(1, 8), (5, 6), (6, 8)],
        "batch": [(2, 1, 4, 5), (3, 5, 6)],
    }
    shapes = every[product]
    op = "matmul" if product == "batch" else product
    with wia.Context("npu") as ctx:
        given = [ctx.tensor(random.standard_normal(shape).astype("f")) for shape in shapes]
        given[1] = ctx.tensor(given[1].T.numpy()).T  # strides of columns
        expected = ctx.execute(op, given)[0]
        bias = ctx.tensor(random.standard_normal((2 * expected.shape[-1],)).astype("f"))[::2]
        expected = ctx.add(bias, expected)
        approximate: dict[str, Any] = {"approximate": 1} if end == "gelu of tanh" else {}
        if end:
            (expected,) = ctx.execute(end.split()[0], [expected], **approximate)
        group = ctx.group()
        row = group.input(bias)
        y = row + group.apply(op, [group.input(tensor) for tensor in given])
        if end:
            y = group.apply(end.split()[0], [y], **approximate)
        out = ctx.empty(y.shape)
        with group.plan(y) as plan:
            assert (plan.kernel_count, plan.name) == (1, f"npu_{plan.op.replace(', ', '_')}")
            plan(bias, *given, out)
        assert out.numpy().tobytes() == expected.numpy().tobytes()


def test_what_the_npu_does_not_fuse() -> None:
    """It is split, and right."""
    pytest.importorskip("numba")
    with wia.Context("npu") as ctx:
        a = ctx.tensor(np.arange(-8, 8, dtype="f").reshape(4, 4))
        column = ctx.tensor(np.arange(4, dtype="f").reshape(4, 1))
        group = ctx.group()
        x, c = group.input(a), group.input(column)
        values = {
            "column": (x @ x) + c,
            "twice": group.apply("exp", [group.apply("relu", [x @ x])]),
            "itself": (lambda y: y + y)(x @ x),
            "other": group.apply("relu", [x]),
        }
        product = a @ a
        expected = {
            "column": product + column,
            "twice": ctx.exp(ctx.relu(product)),
            "itself": product + product,
            "other": ctx.relu(a),
        }
        outs = {name: ctx.empty((4, 4)) for name in values}
        with group.plan(*values.values()) as plan:
            assert plan.kernel_count == 8
            plan(a, column, *outs.values())
        for name, out in outs.items():
            assert out.numpy().tobytes() == expected[name].numpy().tobytes(), name
        alone = ctx.group()
        x, c = alone.input(a), alone.input(column)
        with alone.plan((x @ x) + c) as plan:
            assert plan.kernel_count == 2
            plan(a, column, outs["column"])
        assert outs["column"].numpy().tobytes() == expected["column"].numpy().tobytes()


def test_scalars_of_a_launch(reference: wia.Context) -> None:
    """One scalar for two nodes, its own default, and others by launch."""
    group = reference.group()
    x, w = group.input((2, 2)), group.input((2, 2))
    factor = group.scalar("factor", 2.0)
    y = group.apply("matmul", [group.apply("matmul", [x, w], alpha=factor), w], alpha=factor)
    one, out = reference.tensor([[1.0, 0.0], [0.0, 1.0]]), reference.empty((2, 2))
    with group.plan(y) as plan:
        plan(one, one, out)
        assert out.tolist() == [[4.0, 0.0], [0.0, 4.0]]
        plan(one, one, out, factor=3)
        assert out.tolist() == [[9.0, 0.0], [0.0, 9.0]]
        with pytest.raises(wia.InvalidArgumentError, match="its scalars are factor"):
            plan(one, one, out, alpha=1)
    with pytest.raises(wia.InvalidArgumentError, match="already"):
        group.scalar("factor", 1)
    other = reference.group()
    with pytest.raises(wia.InvalidArgumentError, match="a scalar of this group"):
        other.apply("matmul", [other.input((2, 2)), other.input((2, 2))], alpha=factor)
    with pytest.raises(wia.InvalidArgumentError, match="for one of alpha, beta"):
        group.apply("matmul", [x, w], transpose_a=factor)


def test_operators_attributes_and_inputs_of_tensors(reference: wia.Context) -> None:
    given = reference.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    group = reference.group()
    x = group.input(given.T)
    y = -((x + x) * x - x) / x
    total = group.apply("reduce_sum", [y], axes=[0], keepdims=False)
    assert (x.shape, x.strides, x.dtype.name) == ((3, 2), (1, 3), "float32")
    assert (total.shape, total.strides, y.strides) == ((2,), (1,), (2, 1))
    assert repr(group) == "wia.Group(add, mul, sub, neg, div, reduce_sum)"
    assert repr(total) == "wia.Value(6, float32, [2])"
    out, every = reference.empty(2), reference.empty((3, 2))
    with group.plan(total, y) as plan:
        plan(given.T, out, every)
    np.testing.assert_array_equal(every.numpy(), 1 - 2 * given.numpy().T)
    np.testing.assert_array_equal(out.numpy(), (1 - 2 * given.numpy().T).sum(0))


def test_in_place(any_ctx: wia.Context) -> None:
    """An output that is an input: where it is read no more it may be written."""
    group = any_ctx.group()
    x = group.input((4, 4))
    y = group.apply("relu", [x @ x])
    a = any_ctx.tensor(np.arange(-8, 8, dtype="f").reshape(4, 4))
    expected = separately(any_ctx, [a, a], "relu")
    with group.plan(y, in_place={y: x}) as plan:
        plan(a, a)
        assert a.numpy().tobytes() == expected.tobytes()
        with pytest.raises(wia.InvalidArgumentError):
            plan(a, any_ctx.empty((4, 4)))
    early = group.apply("add", [y, x])
    with pytest.raises(wia.UnimplementedError, match=r"reads after node 1 \(relu\) has written it"):
        group.plan(y, early, in_place={y: x})
    with pytest.raises(wia.InvalidArgumentError, match="an output of the plan"):
        group.plan(early, in_place={y: x})


def test_errors_name_the_node(reference: wia.Context) -> None:
    group = reference.group()
    x = group.input((2, 3))
    with pytest.raises(wia.InvalidArgumentError, match="matmul"):
        x @ x
    with pytest.raises(wia.NotFoundError):
        group.apply("matmull", [x, x])
    with pytest.raises(wia.ArgumentTypeError, match="expected a value of this group"):
        group.apply("relu", [reference.group().input(3)])
    with pytest.raises(wia.ArgumentTypeError, match="expected a value of this group"):
        group.plan(x, "y")  # type: ignore[arg-type]
    with pytest.raises(wia.ArgumentTypeError, match="has its own"):
        group.input(reference.zeros(3), "float32")
    with pytest.raises(wia.InvalidArgumentError):
        group.plan()
    with pytest.raises(wia.InvalidArgumentError, match="0 nodes"):
        group.plan(x)
    group.apply("relu", [x])
    with pytest.raises(wia.InvalidArgumentError, match="nothing writes"):
        group.plan(x)
    with wia.Context("sample") as sample:
        group = sample.group()
        y = group.apply("relu", [group.input(3)])
        z = group.apply("exp", [y], source="model.py:7")
        with pytest.raises(wia.UnimplementedError, match=r"node 1 of a group, model\.py:7: ") as e:
            group.plan(z)
        assert e.value.driver == "sample"


def test_threads_share_a_plan(any_ctx: wia.Context) -> None:
    """What lies between the kernels of one launch is not that of another."""
    group = any_ctx.group()
    y = layer(group)
    given = operands(any_ctx)
    failures: list[Any] = []
    with group.plan(y) as plan:

        def use(scale: float) -> None:
            mine = [any_ctx.tensor(given[0].numpy() * scale), *given[1:]]
            expected = separately(any_ctx, mine, "relu")
            out = any_ctx.empty(y.shape)
            for _ in range(30):
                plan(*mine, out)
                if out.numpy().tobytes() != expected.tobytes():
                    failures.append(scale)

        threads = [threading.Thread(target=use, args=(scale,)) for scale in (1.0, 2.0, -3.0)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


# -- drivers in Python --


def test_a_driver_that_fuses() -> None:
    """It gets the whole group; what it refuses comes node by node."""
    seen: list[Any] = []

    def prepare_group(self: Driver, device: int, group: DriverGroup) -> Any:
        ops = [node.op for node in group.nodes]
        if ops != ["matmul", "relu"]:
            return Driver.prepare_group(self, device, group)
        dict(group.nodes[0].attributes)
        seen.append((group.operand_of(group.node_outputs[0][0]), group.operand_of(-1)))
        seen.append([group.operand_of(value) for value in group.node_inputs[0]])
        seen.append(group.node_outputs[1] == group.outputs)

        def run(w: Any, x: Any, out: Any, *, alpha_0: float, beta_0: float) -> None:
            np.copyto(out, np.maximum(alpha_0 * (x @ w), 0))

        return Kernel(run, name="matmul_relu")

    @kernel("relu")
    def relu(self: Driver, node: Any) -> Callable[..., None]:
        return lambda x, out: np.copyto(out, np.maximum(x, 0))

    with made(prepare_group=prepare_group, relu=relu) as ctx:
        group = ctx.group()
        w, x = group.input((2, 2)), group.input((1, 2))
        alpha = group.scalar("alpha", 1.0)
        y = group.apply("relu", [group.apply("matmul", [x, w], alpha=alpha)])
        one, row = ctx.tensor([[1.0, 0.0], [0.0, 1.0]]), ctx.tensor([[-1.0, 2.0]])
        out = ctx.empty((1, 2))
        with group.plan(y) as plan:
            assert (plan.kernel_count, plan.name) == (1, "matmul_relu")
            plan(one, row, out, alpha=3)
            assert out.tolist() == [[0.0, 6.0]]
        assert seen == [(-1, -1), [1, 0], True]
        z = group.apply("relu", [y])
        with pytest.raises(wia.UnimplementedError, match="node 0 of a group: matmul"):
            group.plan(z)
        twice = ctx.group()
        x = twice.input(2)
        with twice.plan(twice.apply("relu", [twice.apply("relu", [x])])) as plan:
            assert plan.kernel_count == 2
