"""Graphs as they are run: protos taken apart once, so that a run meets none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wia.onnx._errors import ModelError

__all__ = ["Function", "Graph", "Node", "Reference", "read_function", "read_graph", "read_node"]

_Array = Any

_LABEL = 47
"""Bytes of the name of a range in a profile."""


@dataclass(frozen=True, slots=True)
class Reference:
    """An attribute of a node in a function's body that is one of the function itself."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One node. ``version`` is that of the operator: the opset in which it last changed.

    ``schema`` is onnx's, None for domains that onnx doesn't know. ``proto`` is kept for bodies that
    onnx makes for the node. Attributes are Python's and numpy's objects, graphs are Graph.
    ``label`` is the operator and the name, as traces have them.
    """

    op: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    version: int
    opset: int
    schema: Any
    proto: Any
    label: bytes

    @property
    def operator(self) -> str:
        """The operator with its domain and version, as messages have it."""
        return f"{self.domain + '.' if self.domain else ''}{self.op}-{self.version}"

    def __str__(self) -> str:
        return f"node {self.name or next(filter(None, self.outputs), '')!r} ({self.operator})"


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Nodes in their order, with the names that each of them is the last to use.

    ``types`` has what the file says about inputs and outputs: onnx's TypeProto by name.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    constants: Mapping[str, _Array]
    nodes: tuple[Node, ...]
    last: tuple[tuple[str, ...], ...]
    types: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A body to run in place of a node, with the values of attributes that aren't given."""

    graph: Graph
    defaults: Mapping[str, Any]


Load = Callable[[Any], _Array]
"""Makes an array of a TensorProto."""


def read_graph(proto: Any, opsets: Mapping[str, int], load: Load) -> Graph:
    """A GraphProto. Protobuf itself bounds the depth of graphs in graphs."""
    constants = {tensor.name: load(tensor) for tensor in proto.initializer}
    constants.update({s.values.name: _dense(s, load) for s in proto.sparse_initializer})
    nodes = [read_node(node, opsets, load) for node in proto.node]
    outputs = tuple(item.name for item in proto.output)
    return Graph(
        name=proto.name,
        inputs=tuple(item.name for item in proto.input),
        outputs=outputs,
        constants=constants,
        nodes=tuple(nodes),
        last=_last_uses(nodes, outputs),
        types={item.name: item.type for item in (*proto.input, *proto.output)},
    )


def read_function(
    proto: Any, imports: Mapping[str, int], load: Load, defaults: Iterable[Any] = ()
) -> Function:
    """A FunctionProto, of the model or made by onnx; ``imports`` are the opsets of the caller.

    ``defaults`` are attributes beside those that the proto has.
    """
    opsets = {**imports, **{item.domain: item.version for item in proto.opset_import}}
    nodes = [read_node(node, opsets, load) for node in proto.node]
    outputs = tuple(proto.output)
    graph = Graph(
        proto.name, tuple(proto.input), outputs, {}, tuple(nodes), _last_uses(nodes, outputs)
    )
    given = (*defaults, *proto.attribute_proto)
    return Function(graph, {item.name: _attribute(item, opsets, load) for item in given})


def read_node(proto: Any, opsets: Mapping[str, int], load: Load) -> Node:
    """A NodeProto."""
    import onnx

    domain = "" if proto.domain == "ai.onnx" else proto.domain
    opset = opsets.get(domain, opsets.get("ai.onnx", 0) if not domain else 0)
    try:
        schema = onnx.defs.get_schema(proto.op_type, opset, domain) if opset else None
    except onnx.defs.SchemaError:
        schema = None
    attributes = {a.name: _attribute(a, opsets, load) for a in proto.attribute}
    return Node(
        op=proto.op_type,
        domain=domain,
        name=proto.name,
        inputs=tuple(proto.input),
        outputs=tuple(proto.output),
        attributes=attributes,
        version=schema.since_version if schema else opset,
        opset=opset,
        schema=schema,
        proto=proto,
        label=_label(proto),
    )


def _label(proto: Any) -> bytes:
    """The operator and the name; of a long name the end, which tells nodes apart, stays whole."""
    name = proto.name or next(filter(None, proto.output), "")
    text: bytes = f"{proto.op_type} {name}".encode("utf-8", "replace")
    if len(text) <= _LABEL:
        return text
    operator: bytes = proto.op_type.encode("utf-8", "replace")[: _LABEL // 2]
    end = text[-(_LABEL - len(operator) - 3) :].decode("utf-8", "ignore")
    return operator + b" .." + end.encode()


def _attribute(proto: Any, opsets: Mapping[str, int], load: Load) -> Any:
    from onnx import AttributeProto as Kind

    if proto.ref_attr_name:
        return Reference(proto.ref_attr_name)
    readers: dict[int, Callable[[], Any]] = {
        Kind.FLOAT: lambda: proto.f,
        Kind.INT: lambda: proto.i,
        Kind.STRING: lambda: _text(proto.s),
        Kind.TENSOR: lambda: load(proto.t),
        Kind.GRAPH: lambda: read_graph(proto.g, opsets, load),
        Kind.SPARSE_TENSOR: lambda: _dense(proto.sparse_tensor, load),
        Kind.TYPE_PROTO: lambda: proto.tp,
        Kind.FLOATS: lambda: tuple(proto.floats),
        Kind.INTS: lambda: tuple(proto.ints),
        Kind.STRINGS: lambda: tuple(_text(item) for item in proto.strings),
        Kind.TENSORS: lambda: tuple(load(item) for item in proto.tensors),
        Kind.GRAPHS: lambda: tuple(read_graph(g, opsets, load) for g in proto.graphs),
    }
    if proto.type not in readers:
        raise ModelError(f"Attribute {proto.name!r} is of the type {proto.type}, unknown to WIA.")
    return readers[proto.type]()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _dense(proto: Any, load: Load) -> _Array:
    """A sparse tensor as an array; indices are flat numbers or one row of them per element."""
    import numpy as np

    from wia.onnx._values import check_size

    values, indices = load(proto.values), load(proto.indices)
    check_size(proto.dims, values.dtype.itemsize, f"sparse tensor {proto.values.name!r}")
    dense = np.zeros(tuple(proto.dims), values.dtype)
    flat = indices if indices.ndim == 1 else np.ravel_multi_index(tuple(indices.T), dense.shape)
    dense.reshape(-1)[flat] = values
    return dense


def _last_uses(nodes: Sequence[Node], outputs: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """For each node the values that nobody needs after it."""
    needed = set(outputs)
    last: list[tuple[str, ...]] = []
    for node in reversed(nodes):
        used = {name for name in (*_used(node), *node.outputs) if name}
        last.append(tuple(used - needed))
        needed |= used
    return tuple(reversed(last))


def _used(node: Node) -> set[str]:
    """Names that a node reads, in its graphs too."""
    used = set(node.inputs)
    for value in node.attributes.values():
        for graph in value if isinstance(value, tuple) else (value,):
            if isinstance(graph, Graph):
                used.update(*(_used(inner) for inner in graph.nodes), graph.outputs)
    return used
