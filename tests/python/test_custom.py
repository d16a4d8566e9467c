"""Operations that a program registers, on every driver."""

from __future__ import annotations

import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support import RunPython

import wia
from wia.driver import Driver, Kernel, Node

Array = np.ndarray[Any, Any]


@wia.op("test::gelu_tanh", scalars=["scale"], dtypes=("float64", "float32", "bfloat16"))
def gelu_tanh(x: Array, *, cubic: float = 0.044715, scale: float = 1.0) -> Array:
    """The tanh form of gelu, times scale."""
    wide = x.astype(np.float64)
    inner = np.tanh(np.sqrt(2 / np.pi) * (wide + cubic * wide**3))
    return np.asarray(scale * 0.5 * wide * (1 + inner), x.dtype)


@gelu_tanh.kernel()
def prepare_gelu(node: Node) -> Kernel:
    cubic = node.attributes["cubic"]

    def run(x: Array, y: Array, *, scale: float) -> None:
        with np.errstate(all="ignore"):
            y[...] = gelu_tanh.function(x, cubic=cubic, scale=scale)

    return Kernel(run, any_shape=True, name="gelu_for_all")


def infer_windows(
    x: wia.TensorSpec, mask: wia.TensorSpec | None, *, size: int, sizes: tuple[int, ...], keep: bool
) -> list[wia.TensorSpec]:
    if size < 1:
        raise ValueError(f"size is {size}; expected 1 or more")
    rows = max(x.shape[0] - size + 1, 0)
    return [wia.TensorSpec((rows, size), x.dtype), wia.TensorSpec((rows,), "int64")]


@wia.op(
    "test::windows",
    infer=infer_windows,
    outputs=("windows", "starts"),
    input_dtypes={"mask": ["bool"]},
)
def windows(
    x: Array,
    mask: Array | None = None,
    *,
    size: int = 2,
    sizes: tuple[int, ...] = (),
    keep: bool = True,
) -> tuple[Array, Array]:
    rows = max(x.shape[0] - size + 1, 0)
    starts = np.arange(rows, dtype=np.int64)
    found = np.stack([x[i : i + size] for i in starts]) if rows else np.zeros((0, size), x.dtype)
    return (found if keep else 0 * found), starts + len(sizes)


windows.kernel()(lambda node: windows_kernel(node))


def windows_kernel(node: Node) -> Kernel:
    values = dict(node.attributes)

    def run(x: Array, mask: Array | None, found: Array, starts: Array) -> None:
        found[...], starts[...] = windows.function(x, mask, **values)

    return Kernel(run)


EVERYWHERE = ("reference:0", "sample:0", "null:0", "npu:0", "emulator:0")


@pytest.mark.parametrize("name", EVERYWHERE)
def test_check_on_every_driver(name: str) -> None:
    values = np.random.default_rng(5).standard_normal((3, 9)).astype(np.float32)
    values[0, :4] = np.nan, np.inf, -np.inf, -0.0
    with wia.Context(name) as ctx:
        gelu_tanh.check(ctx, values, ulps=1, scale=3.0)
        gelu_tanh.check(ctx, np.zeros((0, 4), np.float32))
        gelu_tanh.check(ctx, np.float32(0.5), ulps=1, cubic=0.1)
        gelu_tanh.check(ctx, values.astype(ml_dtypes.bfloat16), ulps=1)
        windows.check(ctx, np.arange(6.0), size=3, sizes=(1, 2))
        windows.check(ctx, np.arange(6.0), np.ones(2, bool), keep=False)
        assert "float32" in ctx.device.supports("test::gelu_tanh")


@pytest.mark.parametrize("name", EVERYWHERE)
def test_in_groups_and_in_place(name: str) -> None:
    with wia.Context(name) as ctx:
        x = ctx.tensor([[1.0, 2.0]])
        group = ctx.group()
        a = group.input(x)
        gain = group.scalar("gain", 1.0)
        y = group.apply("test::gelu_tanh", [a], scale=gain)
        out = ctx.empty(x.shape)
        with group.plan(group.apply("test::gelu_tanh", [y])) as plan:
            plan(x, out, gain=2.0)
        first = gelu_tanh.function(np.array([[1.0, 2.0]], np.float32), scale=2.0)
        np.testing.assert_allclose(out.numpy(), gelu_tanh.function(first), rtol=1e-6)
        assert gelu_tanh(x).shape == (1, 2)
        found, starts = windows(ctx.tensor([1.0, 2.0, 3.0]))
        assert found.tolist() == [[1.0, 2.0], [2.0, 3.0]]
        assert starts.tolist() == [0, 1]


@pytest.mark.parametrize("name", EVERYWHERE)
def test_in_streams_plans_and_graphs(name: str) -> None:
    values = np.array([[1.0, 2.0]], np.float32)
    once, twice = (gelu_tanh.function(values, scale=scale) for scale in (1.0, 2.0))
    with wia.Context(name) as ctx, ctx.stream() as stream:
        x, y, z = ctx.tensor(values), ctx.zeros(values.shape), ctx.zeros(values.shape)
        made = gelu_tanh(x, scale=2.0, stream=stream)
        np.testing.assert_allclose(made.numpy(), twice, rtol=1e-6)
        with ctx.plan("test::gelu_tanh", [x], [y]) as plan:
            plan(x, y, stream=stream)
            np.testing.assert_allclose(y.numpy(), once, rtol=1e-6)
        with stream.capture() as graph:
            gelu_tanh(x, out=z, stream=stream)
        assert z.tolist() == [[0.0, 0.0]]
        assert graph.nodes()[0].name == "test::gelu_tanh"
        with graph, graph.instantiate() as executable:
            executable.launch()
            np.testing.assert_allclose(z.numpy(), once, rtol=1e-6)
            executable.set_scalars(0, scale=2.0)
            executable.launch(stream)
            np.testing.assert_allclose(z.numpy(), twice, rtol=1e-6)


def test_it_is_one_more_operation(reference: wia.Context) -> None:
    assert gelu_tanh.__doc__ == "The tanh form of gelu, times scale."
    assert gelu_tanh.number >= 0x10000
    x = reference.tensor([1.0])
    assert reference.execute(gelu_tanh.number, [x])[0].tolist() == gelu_tanh(x).tolist()
    with pytest.raises(wia.NotFoundError, match='did you mean "test::windows"'):
        reference.execute("test::window", [x])
    with pytest.raises(wia.InvalidArgumentError, match="has cubic, scale"):
        gelu_tanh(x, quadratic=1)
    with pytest.raises(wia.InvalidArgumentError, match="not defined for int32"):
        gelu_tanh(reference.tensor([1], "int32"))
    with wia.Tape() as tape:
        y = gelu_tanh(x)
    with pytest.raises(wia.UnimplementedError, match="test::gelu_tanh"):
        tape.gradient(y, [x])


def test_what_is_refused() -> None:
    with pytest.raises(wia.AlreadyExistsError, match="test::gelu_tanh"):
        wia.op("test::gelu_tanh")(lambda x: x)
    with pytest.raises(wia.AlreadyExistsError, match="all devices"):
        gelu_tanh.kernel()(prepare_gelu)
    with pytest.raises(wia.InvalidArgumentError, match="vendor::name"):
        wia.op("gelu")(lambda x: x)
    with pytest.raises(wia.NotFoundError, match="no family"):
        wia.op("test::a", infer="nothing")(lambda x: x)
    with pytest.raises(wia.InvalidArgumentError, match="the attribute axes, a list of 8"):
        wia.op("test::a", infer="reduce")(lambda x, *, keep_dims=False: x)
    with pytest.raises(wia.InvalidArgumentError, match="'float31'"):
        wia.op("test::a", dtypes=["float31"])(lambda x: x)
    with pytest.raises(wia.InvalidArgumentError, match=r"\*xs; expected inputs by name"):
        wia.op("test::a")(lambda *xs: xs[0])
    with pytest.raises(wia.InvalidArgumentError, match="default 'text'"):
        wia.op("test::a")(lambda x, *, mode="text": x)
    with pytest.raises(wia.InvalidArgumentError, match="no beta"):
        wia.op("test::a", scalars=["beta"])(lambda x: x)
    with pytest.raises(wia.InvalidArgumentError, match="expected a driver"):
        gelu_tanh.kernel("Not a name")(prepare_gelu)


def test_shape_functions_that_fail_or_lie(reference: wia.Context) -> None:
    answers: list[Any] = [
        wia.TensorSpec((1,), "float31"),
        wia.TensorSpec((1,) * 9, "float32"),
        [],
        "no spec",
        wia.TensorSpec((-1,), "float32"),
        wia.TensorSpec((2**40, 2**40), "float32"),
    ]
    texts = ["float31", "at most 8", "returned", "returned", "size below 0", "overflows"]
    said: list[Any] = [None]
    lies = wia.op("test::lies", infer=lambda x: said[0])(lambda x: x)
    x = reference.tensor([1.0])
    for answer, part in zip(answers, texts, strict=True):
        said[0] = answer
        with pytest.raises(wia.WiaError, match=part) as caught:
            lies(x)
        assert "test::lies" in str(caught.value)
    said[0] = wia.TensorSpec((1,), "float64")  # not what the function gives
    with pytest.raises(wia.InvalidArgumentError, match="gave float32"):
        lies(x)
    with pytest.raises(wia.WiaError, match="ValueError: size is 0; expected 1 or more") as failed:
        windows(x, size=0)
    assert "infer_windows" in failed.value.cause


def test_kernels_that_fail(reference: wia.Context) -> None:
    broken = wia.op("test::broken")(lambda x: 1 / 0)
    with pytest.raises(wia.InternalError, match="ZeroDivisionError"):
        broken(reference.tensor([1.0]))
    with wia.Context("null") as ctx:
        x = ctx.tensor([1.0])
        with pytest.raises(wia.UnimplementedError, match="test::broken on null:0"):
            broken(x)

        @broken.kernel("null")
        def decline(node: Node) -> object:
            raise wia.UnimplementedError("not today")

        with pytest.raises(wia.UnimplementedError, match="registered for the driver: not today"):
            broken(x)

        @broken.kernel("null:0")
        def wrong(node: Node) -> object:
            return 17

        with pytest.raises(wia.InvalidArgumentError, match="17 was returned as a kernel"):
            broken(x)


def test_check_finds_a_wrong_kernel() -> None:
    off = wia.op("test::off")(lambda x: x)
    off.kernel("null")(lambda node: lambda x, y: np.copyto(y, x + (x == 2)))
    with wia.Context("null") as ctx:
        off.check(ctx, np.array([1, 3], "float32"))
        with pytest.raises(AssertionError, match=r"null:0, packed: output\[1\] is 3.0; expected 2"):
            off.check(ctx, np.array([1, 2], "float32"))


def test_a_driver_may_know_the_name() -> None:
    class Knows(Driver):
        name = "knows"

        def prepare(self, device: int, node: Node) -> object:
            if node.op != "test::known":
                raise wia.UnimplementedError(node.op)
            return lambda x, y: np.copyto(y, 7)

    known = wia.op("test::known")(lambda x: x)
    wia.register_driver(Knows)
    with wia.Context("knows") as ctx:
        x = ctx.tensor([1.0])
        assert known(x).tolist() == [7.0]
        known.kernel()(lambda node: lambda x, y: np.copyto(y, 8))  # behind the driver
        assert known(x).tolist() == [7.0]
        known.kernel("knows")(lambda node: lambda x, y: np.copyto(y, 9))  # before it
        assert known(x).tolist() == [9.0]


def test_native_kernels() -> None:
    numba = pytest.importorskip("numba")
    from wia.driver.numba import operand_array

    def fill(state: Any, args: Any) -> int:
        x = operand_array(args, 0, numba.float32, 1)
        y = operand_array(args, 1, numba.float32, 1)
        for i in range(x.size):
            y[i] = 3 * x[i]
        return 0

    triple = numba.cfunc(numba.int32(numba.uintp, numba.uintp), nopython=True)(fill)

    tripled = wia.op("test::triple", dtypes=["float32"])(lambda x: 3 * x)
    tripled.kernel("null")(lambda node: triple)
    tripled.kernel("npu")(lambda node: triple)
    for device in ("null", "npu"):
        with wia.Context(device) as ctx:
            tripled.check(ctx, np.arange(5, dtype=np.float32))


def test_registration_while_others_call(reference: wia.Context) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(5):
                made = wia.op(f"test::of_thread{number}_{i}")(lambda x: x + 1)
                x = reference.tensor([float(i)])
                assert made(x).tolist() == [i + 1.0]
                assert gelu_tanh(x, scale=0.0).tolist() == [0.0]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_exit_with_work_in_flight(run_python: RunPython) -> None:
    """Kernels in Python meet the end of the interpreter."""
    run_python(
        """
        import wia
        slow = wia.op("test::slow")(lambda x: x)
        ctx = wia.Context("reference")
        stream = ctx.stream()
        for _ in range(50):
            slow(ctx.tensor([1.0]), stream=stream)
        """
    )


def test_extensions_of_a_device() -> None:
    device = wia.find_device("null")
    assert device.extensions() == []
    with pytest.raises(
        wia.UnimplementedError, match=r'null:0 has no extension "acme::x"; it has none'
    ):
        device.query_extension("acme::x", "1.0")
    with pytest.raises(wia.InvalidArgumentError, match=r"major\.minor"):
        device.query_extension("acme::x", "1")
