"""Calls that go from Python straight to the library, and what they leave to the wrapped methods."""

from __future__ import annotations

import gc
import inspect
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support import RunPython

import wia
from wia import _bridge
from wia._operations import Operations


def python_calls(function: Callable[[], object]) -> list[str]:
    """The functions written in Python that run during a call of one."""
    seen: list[str] = []

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call":
            seen.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return [name for name in seen if name != "<lambda>"]


@pytest.fixture
def npu() -> Iterator[wia.Context]:
    """A context on a device whose kernels are native."""
    with wia.Context("npu") as context:
        yield context


def test_no_python_runs(npu: wia.Context) -> None:
    """Guard: run_operation and run_plan in call.c; without them the methods show up."""
    a, b = npu.tensor([1.0, 2.0, 3.0]), npu.tensor([4.0, 5.0, 6.0])
    out = npu.zeros(3)
    with npu.plan("add", [a, b], [out]) as plan, npu.stream() as stream:
        npu.add(a, b, out=out), plan(a, b, out)  # kernels are loaded
        assert python_calls(lambda: npu.add(a, b, out=out)) == []
        assert python_calls(lambda: npu.add(b, b, out=out, stream=stream)) == []
        assert python_calls(lambda: plan(a, a, out)) == []
        assert python_calls(lambda: plan(b, a, out, stream=stream)) == []
        stream.synchronize()
        assert out.tolist() == [5.0, 7.0, 9.0]
        assert npu.add(a, b, out=out) is out
        with wia.Tape():
            assert "record" in python_calls(lambda: npu.add(a, b, out=out))
            assert "record" in python_calls(lambda: npu.add(a, b))
        c = npu.add(a, b)
        assert python_calls(lambda: npu.add(a, b)) == []
        assert python_calls(lambda: npu.add(b, c, stream=stream)) == []
        assert "add" in python_calls(lambda: npu.add(a, b, out=None))


def test_new_tensors(npu: wia.Context) -> None:
    """Guard: wia__allocate in call.c; what it doesn't know is for Python to explain."""
    code = npu.zeros(1)._code
    made = _bridge.allocate(npu, (2, 3), code)
    assert isinstance(made, wia.Tensor)
    assert (made.shape, made.strides, made.context) == ((2, 3), (3, 1), npu)
    assert _bridge.allocate(npu, (), code).shape == ()
    assert _bridge.allocate(npu, (0,) * 8, code).size == 0
    other: Any = [npu, [2, 3], code], [npu, (2, -3), code], [npu, (2**70,), code], [npu, (1,), "x"]
    for arguments in [*other, [npu, (1,) * 99, code], [None, (1,), code], [npu, (1,)]]:
        assert _bridge.allocate(*arguments) is None
    with pytest.raises(wia.InvalidArgumentError, match="dtype"):
        _bridge.allocate(npu, (1,), 9999)
    with pytest.raises(wia.InvalidArgumentError, match="overflows"):
        _bridge.allocate(npu, (2**62, 2**62), code)
    with wia.Context("npu") as closed:
        pass
    with pytest.raises(wia.InvalidHandleError, match="context"):
        _bridge.allocate(closed, (1,), code)


def others_run(call: Callable[[], object], count: int) -> bool:
    """Whether another thread, which wants the GIL all the time, ever has it during some calls."""
    turns, done = 0, False
    began = threading.Event()

    def take_turns() -> None:
        nonlocal turns
        while not done:
            turns += 1
            began.set()
            time.sleep(0)  # gives the GIL up, and wants it back

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=take_turns)
    sys.setswitchinterval(1000)  # nobody is told to give it up
    try:
        thread.start()
        began.wait()
        before = turns
        for _ in range(count):
            call()
            if turns != before:
                return True
        return False
    finally:
        done = True
        sys.setswitchinterval(interval)
        thread.join()


def test_small_calls_keep_the_gil(npu: wia.Context) -> None:
    """Giving it up takes longer than they do, above all with many threads: decision 21."""
    a, out = npu.tensor([1.0] * 8), npu.zeros(8)
    long, long_out = npu.zeros(5000), npu.zeros(5000)
    with npu.plan("add", [a, a], [out]) as plan, npu.plan("exp", [long], [long_out]) as long_plan:
        npu.add(a, a, out=out), plan(a, a, out), npu.exp(long, out=long_out)
        assert not others_run(lambda: npu.add(a, a, out=out), 10_000)
        assert not others_run(lambda: plan(a, a, out), 10_000)
        assert others_run(lambda: npu.exp(long, out=long_out), 1_000_000)
        assert others_run(lambda: long_plan(long, long_out), 1_000_000)
    assert out.tolist() == [2.0] * 8


@pytest.mark.parametrize("name", ["add", "matmul", "neg", "softmax", "where", "clip"])
def test_methods_look_as_before(name: str) -> None:
    """Signature, texts and source are those of the wrapped method."""
    call = getattr(wia.Context, name)
    assert call.__name__ == name
    assert call.__qualname__ == f"Operations.{name}"
    assert call.__module__ == "wia._operations"
    assert "output" in call.__doc__ or "out" in call.__doc__
    assert inspect.isroutine(call)
    assert "out" in inspect.signature(call).parameters
    assert f"def {name}(" in inspect.getsource(call)


def test_every_way_of_giving_operands(ctx: wia.Context) -> None:
    """By position, by name, with None, with attributes: the results are the same."""
    a, b = ctx.tensor([1.0, -2.0]), ctx.tensor([3.0, 4.0])
    expected = [4.0, 2.0]
    outs = [ctx.zeros(2) for _ in range(6)]
    ctx.add(a, b, out=outs[0])
    ctx.add(a, b, outs[1])
    ctx.add(a, b=b, out=outs[2])
    ctx.add(b=b, a=a, stream=None, out=outs[3])
    Operations.add(ctx, a, b, out=outs[4])
    wia.Context.add(ctx, a, b, out=outs[5], stream=None)
    for out in [*outs, ctx.add(a, b), ctx.add(a, b, out=None), ctx.add(a, b, None)]:
        assert out.tolist() == expected


def test_wrong_operands(ctx: wia.Context) -> None:
    """The error is the method's, which tells what was given."""
    a, out = ctx.zeros(2), ctx.zeros(2)
    other = ctx.zeros(2)
    other.close()
    for wrong in (3, "x", np.zeros(2, "f"), ctx):
        with pytest.raises(TypeError, match=type(wrong).__qualname__):
            ctx.add(a, wrong, out=out)  # type: ignore[arg-type]
    for wrong in (3, "x", np.zeros(2, "f"), ctx):
        with pytest.raises(TypeError, match=type(wrong).__qualname__):
            ctx.add(a, a, out=wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=type(wrong).__qualname__):
            ctx.add(a, a, out=out, stream=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="None as b"):
        ctx.add(a, None, out=out)  # type: ignore[arg-type]
    with pytest.raises(wia.InvalidHandleError, match="b"):
        ctx.add(a, other, out=out)
    with pytest.raises(wia.InvalidHandleError):
        ctx.add(a, a, out=other)
    with pytest.raises(wia.InvalidArgumentError, match=r"\[3\]"):
        ctx.add(a, ctx.zeros(3), out=out)
    with pytest.raises(TypeError):
        ctx.add(a, a, a, a, out=out)  # type: ignore[misc, arg-type]
    with pytest.raises(TypeError):
        ctx.add(a, out=out)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        ctx.add(a, a, out=out, axis=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        wia.Context.add()  # type: ignore[call-arg]
    closed = wia.Context(ctx.device.name)
    closed.close()
    with pytest.raises(wia.InvalidHandleError, match="context"):
        closed.add(a, a, out=out)


SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (2, 3)),
    ((3, 1), (1, 3)),
    ((1, 3), (1, 3)),
    ((), (2, 1)),
    ((), ()),
    ((0, 3), (3,)),
    ((1, 2, 1, 2, 1, 2, 1, 2), (2,)),
]


def test_new_outputs(reference: wia.Context) -> None:
    """They have the shape and dtype of this call's inputs, whatever was given to calls before.

    Guard: all words of wia__read_signature.
    """
    for _ in range(3):
        for dtype in ("float32", "float64", "int32", "float32"):
            for left, right in SHAPES:
                x, y = np.ones(left, dtype), np.full(right, 2, dtype)
                a, b = reference.tensor(x), reference.tensor(y)
                out = reference.add(a, b)
                expected: Any = x + y
                assert (out.shape, out.dtype) == (expected.shape, expected.dtype)
                assert out.context is reference
                assert out.contiguous
                assert out.strides == reference.empty(out.shape).strides
                np.testing.assert_array_equal(out.numpy(), expected)
                assert reference.less(a, b).dtype == np.bool_
                assert reference.mul(a, b).shape == expected.shape


def test_more_new_outputs_than_are_remembered(npu: wia.Context) -> None:
    """Signatures that have the same place give way to each other."""
    for _ in range(2):
        for size in range(1, 1500):
            a = npu.empty(size)
            assert npu.add(a, a).shape == (size,)


def test_new_outputs_of_views(npu: wia.Context) -> None:
    """Views have the shape of their own, and results are row-major."""
    a = npu.tensor(np.arange(12, dtype="f").reshape(3, 4))
    for _ in range(2):
        out = npu.add(a.T, a.T)
        assert out.shape == (4, 3)
        assert out.contiguous
        np.testing.assert_array_equal(out.numpy(), 2 * a.numpy().T)
        assert npu.add(a[1:], a[1:]).shape == (2, 4)


def test_new_outputs_that_fail(reference: wia.Context) -> None:
    """The error is the method's, and the memory of the output is given back."""
    a, wrong = reference.zeros(2), reference.zeros(3)
    closed = reference.zeros(2)
    closed.close()
    x, indices = reference.zeros((3, 2)), reference.tensor(np.array([0, 2], "int32"))
    assert reference.gather(x, indices).shape == (2, 2)
    beyond = reference.tensor(np.array([0, 3], "int32"))
    before = reference.memory_stats().used_count
    for _ in range(3):
        assert reference.add(a, a).tolist() == [0.0, 0.0]
        with pytest.raises(wia.InvalidArgumentError, match=r"\[3\]"):
            reference.add(a, wrong)
        with pytest.raises(wia.InvalidHandleError, match="b"):
            reference.add(a, closed)
        with pytest.raises(wia.InvalidArgumentError, match="indices"):
            reference.gather(x, beyond)
        with pytest.raises(TypeError):
            reference.add(a)  # type: ignore[call-arg]
    assert reference.memory_stats().used_count == before
    with wia.Context(reference.device.name) as other:
        b = other.zeros(2)
        other.add(b, b)
    with pytest.raises(wia.InvalidHandleError, match="context"):
        other.add(a, a)


def test_inputs_that_are_left_out(reference: wia.Context) -> None:
    """An optional one is left out by position, or given as None to the method."""
    x = reference.tensor(np.arange(6, dtype="f").reshape(2, 3))
    scale = reference.full(3, 2.0)
    plain, none, scaled = (reference.zeros((2, 3)) for _ in range(3))
    reference.rms_norm(x, out=plain)
    reference.rms_norm(x, None, out=none)
    reference.rms_norm(x, scale, out=scaled)
    np.testing.assert_array_equal(plain.numpy(), none.numpy())
    np.testing.assert_array_equal(scaled.numpy(), 2 * plain.numpy())


def test_references(npu: wia.Context) -> None:
    """Calls keep nothing and lose nothing, whatever becomes of them."""
    gc.collect()  # what other tests left has references too
    a, out, wrong = npu.tensor([1.0, 2.0]), npu.zeros(2), npu.zeros(3)
    with npu.plan("neg", [a], [out]) as plan:
        objects = (npu, a, out, wrong, plan, plan._values, a._handle)
        before = [sys.getrefcount(item) for item in objects]
        for _ in range(20):
            npu.neg(a, out=out)
            plan(a, out)
            for call in (lambda: npu.neg(wrong, out=out), lambda: plan(wrong, out)):
                with pytest.raises(wia.InvalidArgumentError):
                    call()
        assert [sys.getrefcount(item) for item in objects] == before
    npu.neg(a)
    one = npu.neg(a)
    watched = (npu, a, one.shape)
    counts = [sys.getrefcount(item) for item in watched]
    results = [npu.neg(a) for _ in range(20)]
    assert [sys.getrefcount(item) for item in watched] == [
        n + m for n, m in zip(counts, (20, 0, 20), strict=True)
    ]
    used = npu.memory_stats().used_count
    del results
    assert [sys.getrefcount(item) for item in watched] == counts
    assert npu.memory_stats().used_count == used - 20


def test_threads(npu: wia.Context) -> None:
    """Each on operands of its own."""
    failed: list[int] = []

    def work(number: int) -> None:
        a, out = npu.full(8, float(number)), npu.zeros(8)
        with npu.plan("mul", [a, a], [out]) as plan:
            for _ in range(500):
                npu.add(a, a, out=out)
                if out.tolist() != [2.0 * number] * 8:
                    failed.append(number)
                if npu.mul(a, out).tolist() != [2.0 * number * number] * 8:
                    failed.append(number)
                plan(a, a, out)
                if out.tolist() != [float(number * number)] * 8:
                    failed.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_subclasses(npu: wia.Context) -> None:
    class Own(wia.Context):
        def add(self, a: Any, b: Any, out: Any = None, **more: Any) -> Any:
            return super().add(b, a, out=out, **more)

    with Own("npu") as own:
        out = own.zeros(2)
        assert own.add(own.tensor([1.0, 2.0]), own.tensor([3.0, 4.0]), out=out) is out
        assert out.tolist() == [4.0, 6.0]


def test_what_the_native_side_is_told(run_python: RunPython) -> None:
    """Wrong classes are refused, and what it knew stays."""
    with pytest.raises(ValueError, match="40 inputs"):
        _bridge.wrap_operation(print, "wia_add", 14, 2, 40)
    with pytest.raises(ValueError, match="3 to 2 inputs"):
        _bridge.wrap_operation(print, "wia_add", 14, 3, 2)
    result = run_python(
        """
import wia
from wia import _bridge
try:
    _bridge.set_call_classes((int, int, int, int), (None,) * 5, [], print, (print, print))
except AttributeError as error:
    print(error)
with wia.Context("reference") as ctx:
    out = ctx.zeros(2)
    print(ctx.add(out, out, out=out).tolist())
""",
        {},
    )
    assert result.returncode == 0, result.stderr
    assert "_scalar_count" in result.stdout
    assert "[0.0, 0.0]" in result.stdout
