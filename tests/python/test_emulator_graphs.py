"""Graphs of emulated devices: the base's driver takes the nodes, when it has graphs of its own."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from test_emulator import emulate

import wia
from wia._native import NULL, ffi, lib
from wia.driver import Driver
from wia.driver._table import make_table

_NODES = "wia_driver_graph_node_t const * const *"
_ERROR = "wia_error_t *"
_CREATE = f"int32_t(wia_driver_device_t, {_NODES}, uint32_t, wia_driver_graph_t *, {_ERROR})"
_LAUNCH = f"int32_t(wia_driver_graph_t, wia_driver_stream_t, {_ERROR})"
_DESTROY = "void(wia_driver_graph_t)"
_UPDATE = f"int32_t(wia_driver_graph_t, uint32_t, wia_driver_graph_node_t const *, {_ERROR})"


class Node:
    """What a node pointed to, copied."""

    def __init__(self, given: Any) -> None:
        self.kind = given.kind
        if self.kind == lib.WIA_GRAPH_KERNEL:
            self.kernel, self.args = given.kernel[0], ffi.new("wia_kernel_args_t *", given.args[0])
            count = self.args.input_count + self.args.output_count
            self.operands = ffi.new("wia_operand_t[]", list(self.args.operands[0:count]))
            scalars = list(self.args.scalars[0 : self.args.scalar_count])
            self.scalars = ffi.new("wia_scalar_t[]", scalars)
            self.args.operands, self.args.scalars = self.operands, self.scalars
        else:
            self.copy = ffi.new("wia_copy_t *", given.copy[0])
            self.pattern = bytes(ffi.buffer(given.pattern, given.pattern_size))

    def run(self, table: Any, device: Any, error: Any) -> int:
        if self.kind == lib.WIA_GRAPH_KERNEL:
            self.args.out_error = error
            return int(self.kernel.fn(self.kernel.state, self.args))
        copy = self.copy[0]
        if self.kind == lib.WIA_GRAPH_COPY:
            return int(table.copy(device, self.copy, 1, error))
        target = ffi.addressof(copy, "destination")
        return int(table.fill(device, target, copy.size, self.pattern, len(self.pattern), error))


class Taker:
    """The graphs of a driver: copies of the nodes, run in order."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.graphs: dict[Any, tuple[Any, list[Node]]] = {}
        self.launches = self.updates = 0
        self.answer: int = lib.WIA_STATUS_OK
        self.failing = -1
        self._entries = ffi.new(
            "wia_driver_graphs_t *",
            {"struct_size": ffi.sizeof("wia_driver_graphs_t")},
        )
        made = {"create": _CREATE, "launch": _LAUNCH, "destroy": _DESTROY, "update": _UPDATE}
        self._callbacks = {
            name: ffi.callback(kind, getattr(self, name)) for name, kind in made.items()
        }
        for name, function in self._callbacks.items():
            setattr(self._entries, name, function)
        table.graphs = self._entries

    def create(self, device: Any, nodes: Any, count: int, out_graph: Any, error: Any) -> int:
        if self.answer:
            return self.answer
        handle = ffi.new_handle(self)
        out_graph[0] = ffi.cast("wia_driver_graph_t", handle)
        self.graphs[handle] = (device, [Node(nodes[i]) for i in range(count)])
        return 0

    def launch(self, graph: Any, stream: Any, error: Any) -> int:
        assert stream == NULL
        self.launches += 1
        device, nodes = self.graphs[ffi.cast("void *", graph)]
        for number, node in enumerate(nodes):
            failed = number == self.failing
            status = lib.WIA_STATUS_ABORTED if failed else node.run(self.table, device, error)
            if status:
                error.detail[0] = number + 1
                return int(status)
        return 0

    def destroy(self, graph: Any) -> None:
        del self.graphs[ffi.cast("void *", graph)]

    def update(self, graph: Any, index: int, node: Any, error: Any) -> int:
        self.updates += 1
        self.graphs[ffi.cast("void *", graph)][1][index] = Node(node)
        return 0


_takers: dict[str, tuple[str, Taker]] = {}


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[wia.Context, Taker]]:
    """A context on an emulated device, and the graphs of the driver below."""
    from wia_emulator import EmulatorDriver

    if not _takers:
        table = make_table(type("Taking", (EmulatorDriver,), {"name": "taking"})())
        taker = Taker(table)
        monkeypatch.setenv("WIA_TAKING", "1xsample")
        code = lib.wia_register_driver(table, lib.WIA_DRIVER_ABI_MAJOR, lib.WIA_DRIVER_ABI_MINOR)
        assert code == 0
        _takers["taking"] = emulate(monkeypatch, "2xtaking"), taker
    name, taker = _takers["taking"]
    with wia.Context(f"{name}:1") as ctx:
        yield ctx, taker
    taker.answer, taker.failing = lib.WIA_STATUS_OK, -1


def test_the_base_takes_the_nodes(taken: tuple[wia.Context, Taker]) -> None:
    """Copies, fills and kernels; launches off and on a stream; new pointers and scalars."""
    ctx, taker = taken
    with ctx.stream() as stream:
        a, b, c = (ctx.full((2, 2), value) for value in (1, 2, 0))
        with stream.capture() as graph:
            nine = ffi.new("float *", 9)
            address = ffi.cast("void *", c.address)
            assert lib.wia_fill_memory(address, nine, 4, 16, stream._handle) == 0
            a.write(np.full((2, 2), 3, np.float32), stream=stream)
            ctx.matmul(a, b, out=c, stream=stream)
            ctx.add(c, a, out=c, stream=stream)
        with graph, graph.instantiate() as executable:
            assert len(taker.graphs) == 1
            before = taker.launches
            for on in (None, stream):
                b.fill(2)
                executable.launch(on)
                assert c.numpy().tolist() == [[15.0, 15.0]] * 2
            assert taker.launches == before + 2
            executable.set_scalars(2, alpha=10)
            executable.replace(b, ctx.full((2, 2), 1))
            assert taker.updates
            executable.launch(stream)
            assert c.numpy().tolist() == [[63.0, 63.0]] * 2
            with graph.instantiate(own=True) as own:
                launches = taker.launches
                own.launch()
                assert taker.launches == launches
        gc.collect()
    ctx.synchronize()
    assert not taker.graphs


def test_the_base_names_the_node(taken: tuple[wia.Context, Taker]) -> None:
    ctx, taker = taken
    with ctx.stream() as stream:
        x, y = ctx.full(4, 1), ctx.zeros(4)
        with stream.capture(name="pages") as graph:
            ctx.add(x, x, out=y, stream=stream)
            ctx.relu(y, out=y, stream=stream)
        with graph, graph.instantiate() as executable:
            taker.failing = 1
            with pytest.raises(wia.AbortedError, match=r"node 1 \(relu\) of graph \"pages\""):
                executable.launch()


def test_the_base_refuses(taken: tuple[wia.Context, Taker]) -> None:
    """Then the library runs the nodes, or tells of the failure."""
    ctx, taker = taken
    with ctx.stream() as stream:
        x, y = ctx.full(4, 1), ctx.zeros(4)
        with stream.capture() as graph:
            ctx.add(x, x, out=y, stream=stream)
        taker.answer = lib.WIA_STATUS_UNIMPLEMENTED
        with graph, graph.instantiate() as executable:
            executable.launch()
            assert y.tolist() == [2.0] * 4
            assert not taker.graphs
            taker.answer = lib.WIA_STATUS_RESOURCE_EXHAUSTED
            with pytest.raises(wia.ResourceExhaustedError, match="graph"):
                graph.instantiate()


def test_a_base_without_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library runs the nodes."""
    with wia.Context(emulate(monkeypatch, "1xsample")) as ctx, ctx.stream() as stream:
        x, y = ctx.full(4, 1), ctx.zeros(4)
        with stream.capture() as graph:
            ctx.add(x, x, out=y, stream=stream)
        with graph, graph.instantiate() as executable:
            executable.launch()
            assert y.tolist() == [2.0] * 4


def test_graphs_need_the_bases_memory() -> None:
    driver = type("Bare", (Driver,), {"name": "bare", "base_graphs": True})
    with pytest.raises(wia.InvalidArgumentError, match="expected a BaseMemory"):
        wia.register_driver(driver)
