"""Graphs: what Python's side adds to capture, launches and updates, on each driver."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from support import need

import wia


def test_capture_and_launch(ctx: wia.Context) -> None:
    need(ctx, "add", "float32")
    with ctx.stream() as stream:
        x, y = ctx.tensor([1.0, 2.0, 3.0]), ctx.zeros(3)
        with wia.annotate("layer 1"), stream.capture(name="sum") as graph:
            assert stream.is_capturing
            ctx.add(x, x, out=y, stream=stream)
            ctx.add(y, x, out=y, stream=stream)
        assert not stream.is_capturing
        assert y.tolist() == [0.0, 0.0, 0.0]
        assert (graph.name, graph.branch_count, len(graph)) == ("sum", 1, 2)
        first, second = graph.nodes()
        assert (first.kind, first.name, first.label) == ("kernel", "add", "layer 1")
        assert (first.dependencies, second.dependencies) == ((), (0,))
        assert [operand and operand.shape for operand in second.operands] == [(3,)] * 3
        assert second.operands[2] == first.operands[2]
        assert 'digraph "sum"' in graph.to_dot()
        assert repr(graph) == "wia.Graph('sum', 2 nodes)"
        with graph, graph.instantiate() as executable:
            executable.launch()
            assert y.tolist() == [3.0, 6.0, 9.0]
            y.write([0, 0, 0])
            executable.launch(stream)
            assert y.tolist() == [3.0, 6.0, 9.0]
            assert (executable.name, executable.branch_count) == ("sum", 1)


def test_branches(ctx: wia.Context) -> None:
    need(ctx, "add", "float32")
    with ctx.stream() as a, ctx.stream() as b, wia.Event(ctx) as fork, wia.Event(ctx) as join:
        x, y, z = ctx.full(4, 1), ctx.zeros(4), ctx.zeros(4)
        with a.capture() as graph:
            fork.record(a)
            b.wait(fork)
            ctx.add(x, x, out=y, stream=a)
            ctx.add(x, x, out=z, stream=b)
            join.record(b)
            a.wait(join)
            ctx.add(y, z, out=y, stream=a)
        assert [node.branch for node in graph.nodes()] == [0, 1, 0]
        assert graph.nodes()[2].dependencies == (0, 1)
        for branches in ("auto", "in order", "parallel"):
            with graph.instantiate(branches=branches) as executable:
                for stream in (None, a):
                    executable.launch(stream)
                    assert y.tolist() == [4.0] * 4
        with pytest.raises(ValueError, match="'in order'"):
            graph.instantiate(branches="both")
        graph.close()


def test_refusals_and_exceptions(ctx: wia.Context) -> None:
    need(ctx, "add", "float32")
    with ctx.stream() as stream, wia.Event(ctx) as event:
        x, y = ctx.full(4, 1), ctx.zeros(4)
        with stream.capture() as graph:
            assert repr(graph) == "wia.Graph(being captured)"
            ctx.add(x, x, out=y, stream=stream)
            event.record(stream)
            for refused in (
                stream.synchronize,
                lambda: stream.done,
                event.wait,
                lambda: event.state,
                y.tolist,
                lambda: ctx.add(y, y),
            ):
                with pytest.raises(wia.FailedPreconditionError):
                    refused()
        assert len(graph) == 1
        graph.close()

        def capture() -> None:
            with stream.capture():
                ctx.add(x, x, out=y, stream=stream)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            capture()
        assert not stream.is_capturing
        stream.synchronize(timeout=20)
        assert y.tolist() == [0.0] * 4


def test_arrays_and_functions_are_kept(ctx: wia.Context) -> None:
    need(ctx, "add", "float32")
    calls: list[object] = []
    with ctx.stream() as stream:
        x, y = ctx.zeros(1000), ctx.zeros(1000)
        out = np.zeros(1000, np.float32)
        with stream.capture() as graph:
            x.write(np.arange(1000, dtype=np.float32), stream=stream)
            ctx.add(x, x, out=y, stream=stream)
            stream.call(calls.append)
            y.read(out, stream=stream)
        with graph.instantiate() as executable:
            graph.close()
            del graph
            gc.collect()
            for count in range(1, 4):
                out[:] = 0
                executable.launch(stream if count % 2 else None)
                stream.synchronize(timeout=20)
                np.testing.assert_array_equal(out, 2 * np.arange(1000))
                assert calls == [None] * count
            executable.set_function(2, lambda reason: calls.clear())
            gc.collect()
            executable.launch(stream)
        stream.synchronize(timeout=20)
        assert calls == []


def test_updates(ctx: wia.Context) -> None:
    need(ctx, "matmul", "float32")
    need(ctx, "add", "float32")
    with ctx.stream() as stream:
        a, b, c, d = (ctx.full((2, 2), value) for value in (1, 2, 0, 5))
        with stream.capture() as graph:
            ctx.matmul(a, b, out=c, stream=stream)
            ctx.add(c, a, out=c, stream=stream)
        with graph, graph.instantiate() as executable:
            executable.launch()
            assert c.numpy().tolist() == [[5.0, 5.0]] * 2
            executable.set_scalars(0, alpha=10)
            executable.launch(stream)
            assert c.numpy().tolist() == [[41.0, 41.0]] * 2
            assert executable.replace(a, d) == 2
            executable.launch(stream)
            executable.set_operand(1, 1, a)
            assert c.numpy().tolist() == [[205.0, 205.0]] * 2
            executable.launch()
            assert c.numpy().tolist() == [[201.0, 201.0]] * 2
            with pytest.raises(wia.InvalidArgumentError, match="node 0"):
                executable.set_operand(0, 0, ctx.zeros(3))
            with pytest.raises(wia.NotFoundError, match="alpha"):
                executable.set_scalars(0, gamma=1)
            with stream.capture() as other:
                ctx.matmul(b, b, out=c, stream=stream)
                ctx.add(c, b, out=c, stream=stream)
            executable.update(other)
            executable.launch(stream)
            assert c.numpy().tolist() == [[10.0, 10.0]] * 2
            other.close()


def test_profile_shows_the_launch_and_its_nodes(ctx: wia.Context) -> None:
    need(ctx, "add", "float32")
    with ctx.stream() as stream:
        x, y = ctx.full(4, 1), ctx.zeros(4)
        with stream.capture(name="shown") as graph:
            ctx.add(x, x, out=y, stream=stream)
            ctx.add(y, x, out=y, stream=stream)
        with graph, graph.instantiate() as executable, wia.profile() as profile:
            executable.launch()
        (launch,) = [event for event in profile.events if event.kind == "graph"]
        kernels = [event for event in profile.events if event.kind == "kernel"]
        assert launch.name == "shown"
        assert [kernel.name for kernel in kernels] == ["add", "add"]
        assert all(launch.begin_ns <= kernel.begin_ns for kernel in kernels)
        assert all(kernel.end_ns <= launch.end_ns for kernel in kernels)


def test_a_failing_node_is_named(ctx: wia.Context) -> None:
    need(ctx, "add", "float32")

    def fail(reason: wia.WiaError | None) -> None:
        raise LookupError("no such page")

    with ctx.stream() as stream:
        x, y = ctx.full(4, 1), ctx.zeros(4)
        with stream.capture(name="pages") as graph:
            ctx.add(x, x, out=y, stream=stream)
            stream.call(fail)
        with graph, graph.instantiate() as executable:
            with pytest.raises(wia.InternalError, match=r"node 1 \(host function\).*\"pages\""):
                executable.launch()
            executable.launch(stream)
            with pytest.raises(wia.InternalError, match=r"node 1.*LookupError: no such page"):
                stream.synchronize(timeout=20)
