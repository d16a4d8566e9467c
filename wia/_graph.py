"""Graphs: work that is captured from streams once and launched many times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wia._errors import InvalidArgumentError, check
from wia._explain import checked, explains_methods
from wia._functions import HostFunction, keep_function
from wia._native import NULL, ffi, lib, new_struct, text
from wia._resource import Resource, destroyer
from wia._stream import capture_keeps, enqueue_with, keep

if TYPE_CHECKING:
    from wia._stream import Stream
    from wia._tensor import Tensor

__all__ = ["Executable", "Graph", "GraphNode", "GraphOperand", "capture"]

_KINDS = {
    lib.WIA_GRAPH_KERNEL: "kernel",
    lib.WIA_GRAPH_COPY: "copy",
    lib.WIA_GRAPH_FILL: "fill",
    lib.WIA_GRAPH_FUNCTION: "function",
}
_BRANCHES = {
    "auto": lib.WIA_BRANCHES_AUTO,
    "in order": lib.WIA_BRANCHES_IN_ORDER,
    "parallel": lib.WIA_BRANCHES_PARALLEL,
}


@dataclass(frozen=True, slots=True)
class GraphOperand:
    """An operand of a kernel: its dtype's name, its shape, the address of element 0."""

    dtype: str
    shape: tuple[int, ...]
    address: int


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A piece of captured work."""

    index: int
    kind: str
    """kernel, copy, fill or function."""
    name: str
    """The operation, or what else it is."""
    label: str
    """The innermost wia.annotate() range around the call; "" without one."""
    branch: int
    """The number of its stream in the capture; 0 is the one that it began on."""
    dependencies: tuple[int, ...]
    """Nodes that it comes after."""
    operands: tuple[GraphOperand | None, ...]
    """Of a kernel its inputs, then its outputs; None: left out."""
    input_count: int
    size: int
    """Bytes of a copy or fill."""


@explains_methods
class Graph(Resource):
    """What a capture gave, by Stream.capture().

    >>> import wia
    >>> with wia.Context("reference") as ctx, ctx.stream() as stream:
    ...     x = ctx.tensor([1.0, 2.0])
    ...     with stream.capture() as graph:
    ...         y = ctx.add(x, x, stream=stream)
    ...     with graph, graph.instantiate() as executable:
    ...         executable.launch()
    ...     y.tolist()
    [2.0, 4.0]
    """

    __slots__ = ("_kept",)
    _destroy = destroyer("graph")

    def __init__(self) -> None:
        """Empty until the capture ends."""
        self._handle = NULL
        self._closed = True
        self._kept: list[Any] = []  # host memory and functions that nodes use

    def _start(self, handle: Any) -> None:
        super().__init__(handle)

    def _info(self) -> Any:
        info = new_struct("wia_graph_info_t")
        check(lib.wia_get_graph_info(self._handle, info))
        return info

    @property
    def name(self) -> str:
        """As it was given to Stream.capture(); in messages and profiles."""
        return text(self._info().name)

    @property
    def branch_count(self) -> int:
        """How many streams took part."""
        return int(self._info().branch_count)

    def __len__(self) -> int:
        return int(self._info().node_count)

    def nodes(self) -> list[GraphNode]:
        """Its nodes in topological order: each behind those that it depends on."""
        return [self._node(index) for index in range(len(self))]

    def _node(self, index: int) -> GraphNode:
        info = new_struct("wia_graph_node_info_t")
        check(lib.wia_get_graph_node(self._handle, index, info))
        return GraphNode(
            index=index,
            kind=_KINDS[info.kind],
            name=text(info.name),
            label=text(info.label),
            branch=info.branch,
            dependencies=tuple(info.dependencies[0 : info.dependency_count]),
            operands=tuple(
                _operand(info.operands[i]) for i in range(info.input_count + info.output_count)
            ),
            input_count=info.input_count,
            size=info.size,
        )

    def to_dot(self) -> str:
        """The graph as text for Graphviz: `dot -Tsvg` draws it."""
        out = ffi.new("char **")
        check(lib.wia_get_graph_dot(self._handle, out))
        return text(out[0])

    def instantiate(self, *, branches: str = "auto", own: bool = False) -> Executable:
        """Makes it ready to be launched.

        branches: "in order", "parallel", or "auto": at once if that saves more time than it costs.
        own: the library runs the nodes even if the driver could take them as a whole.
        """
        if branches not in _BRANCHES:
            raise InvalidArgumentError(
                f"branches is {branches!r}; expected one of {', '.join(map(repr, _BRANCHES))}."
            )
        config = new_struct("wia_instantiate_config_t")
        config.branches = _BRANCHES[branches]
        config.own = own
        out = ffi.new("wia_executable_t **")
        check(lib.wia_instantiate_graph(self._handle, config, out))
        return Executable(out[0], self._kept)

    def __repr__(self) -> str:
        if self.closed:
            return f"wia.Graph({'closed' if self._handle else 'being captured'})"
        return f"wia.Graph({self.name!r}, {len(self)} nodes)"


@explains_methods
class Executable(Resource):
    """A graph made ready to be launched, by Graph.instantiate().

    Launches of one executable never overlap. Updates count for later launches; those that were
    enqueued before run with what they had.
    """

    __slots__ = ("_kept",)
    _destroy = destroyer("executable")

    def __init__(self, handle: Any, kept: list[Any]) -> None:
        super().__init__(handle)
        self._kept = list(kept)

    def _info(self) -> Any:
        info = new_struct("wia_executable_info_t")
        check(lib.wia_get_executable_info(self._handle, info))
        return info

    @property
    def name(self) -> str:
        """The name of the graph."""
        return text(self._info().name)

    @property
    def branch_count(self) -> int:
        """How many branches run at once; 1: all nodes in order."""
        return int(self._info().branch_count)

    @property
    def is_driver_graph(self) -> bool:
        """Whether the driver has taken the nodes as a whole."""
        return bool(self._info().driver_graph)

    def launch(self, stream: Stream | None = None) -> None:
        """Runs all nodes once: on a stream, or here, complete on return.

        Raises what a node that fails gives, with the graph, the node's number, its label and its
        operation in the message; on a stream, whatever waits for that raises it.
        """
        if stream is None:
            check(lib.wia_launch_graph(self._handle, NULL))
        elif not self._kept or keep(stream, self._kept):
            check(lib.wia_launch_graph(self._handle, stream._handle))
        else:
            kept = list(self._kept)
            enqueue_with(
                stream, kept, lambda: int(lib.wia_launch_graph(self._handle, stream._handle))
            )

    def update(self, graph: Graph) -> None:
        """Takes all over from another graph of the same topology: operations may be others."""
        check(lib.wia_update_graph(self._handle, graph._handle))
        self._kept = list(graph._kept)

    def replace(self, old: Tensor, new: Tensor) -> int:
        """Puts a tensor in another's place wherever that is used; returns in how many places.

        Both have one dtype, shape and strides. Raises NotFoundError if it is used nowhere.
        """
        count = ffi.new("uint32_t *")
        check(lib.wia_update_graph_tensor(self._handle, old._handle, new._handle, count))
        return int(count[0])

    def set_operand(self, node: int, operand: int, tensor: Tensor) -> None:
        """Gives a kernel another operand, counted over its inputs and then its outputs."""
        check(lib.wia_update_graph_operand(self._handle, node, operand, tensor._handle))

    @checked
    def set_scalars(self, node: int, **scalars: float) -> None:
        """Gives scalars of a kernel other values, by the names of the catalog: alpha, epsilon."""
        for name, number in scalars.items():
            value = ffi.new("wia_scalar_t *", {"f64": number})
            check(lib.wia_update_graph_scalar(self._handle, node, name.encode(), value))

    @checked
    def set_function(self, node: int, function: HostFunction) -> None:
        """Gives a node another host function."""
        entry, handle = keep_function(function)
        check(lib.wia_update_graph_function(self._handle, node, entry, handle))
        self._kept.append(handle)

    def __repr__(self) -> str:
        return f"wia.Executable({'closed' if self.closed else repr(self.name)})"


def _operand(view: Any) -> GraphOperand | None:
    if view.dtype == 0:
        return None
    shape = tuple(view.shape[0 : view.rank])
    return GraphOperand(text(lib.wia_get_dtype_name(view.dtype)), shape, view.address)


@contextmanager
def capture(stream: Stream, name: str) -> Iterator[Graph]:
    """What Stream.capture() gives."""
    graph = Graph()
    config = new_struct("wia_capture_config_t")
    label = ffi.new("char[]", name.encode())
    config.name = label
    check(lib.wia_begin_capture(stream._handle, config))
    out = ffi.new("wia_graph_t **")
    with capture_keeps(graph._kept):
        try:
            yield graph
            check(lib.wia_end_capture(stream._handle, out))
        except BaseException:
            lib.wia_cancel_capture(stream._handle)
            raise
    graph._start(out[0])
