"""What a driver is asked to prepare: a group of nodes over values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wia._dtype import numpy_dtype
from wia._errors import UnimplementedError
from wia._native import NULL, ffi, lib, text
from wia.driver._layout import Layout

__all__ = ["Attributes", "Group", "Node"]

_LEFT_OUT = 0xFFFFFFFF


class Attributes(Mapping[str, Any]):
    """Attributes of a node by name: numbers, tuples of numbers, numpy dtypes.

    Those that the caller left out have the catalog's default. An attribute that the caller did give
    has to be looked at before the kernel is accepted: a kernel that ignores it would compute
    something else.
    """

    __slots__ = ("_given", "_ignored", "_values")

    def __init__(self, values: dict[str, Any], given: set[str]) -> None:
        self._values = values
        self._given = frozenset(given)
        self._ignored = given

    def forget_reads(self) -> None:
        """Makes given attributes count as not looked at again."""
        self._ignored = set(self._given)

    def refuse_ignored(self, op: str) -> None:
        """Raises UnimplementedError if an attribute was given and nobody looked at it."""
        if self._ignored:
            raise UnimplementedError(
                f"This kernel of {op} doesn't look at {', '.join(sorted(self._ignored))}, which "
                "the caller gave. Read it from node.attributes, and raise UnimplementedError for "
                "values that the kernel can't do."
            )

    def __getitem__(self, name: str) -> Any:
        value = self._values[name]
        self._ignored.discard(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Attributes({self._values})"


class Node:
    """One operation with its operands.

    `inputs` and `outputs` have None for one that is left out, which the first output never is:
    `output` is that one. `aliases[i]` is the input that output i shares
    its memory with exactly, or -1. `scalars` are the names of the values that each launch passes,
    with their indices there. `source` says where the node comes from, for messages.
    """

    __slots__ = ("aliases", "attributes", "inputs", "op", "outputs", "scalars", "source")

    def __init__(
        self,
        *,
        op: str,
        attributes: Attributes,
        inputs: tuple[Layout | None, ...],
        outputs: tuple[Layout | None, ...],
        aliases: tuple[int, ...],
        scalars: tuple[tuple[str, int], ...],
        source: str = "",
    ) -> None:
        self.op = op
        self.attributes = attributes
        self.inputs = inputs
        self.outputs = outputs
        self.aliases = aliases
        self.scalars = scalars
        self.source = source

    @property
    def output(self) -> Layout:
        """The first output."""
        first = self.outputs[0]
        assert first is not None
        return first

    def __repr__(self) -> str:
        return f"Node({self.op}, {self.attributes}, inputs={self.inputs}, outputs={self.outputs})"


class Group:
    """A small graph that one kernel is to compute; a single operation is a group of one node.

    `values` are the layouts that nodes refer to, `inputs` and `outputs` the indices of those that
    are operands, in the order of a launch. `node_inputs[i]` and `node_outputs[i]` are the indices
    of the values of node i, with -1 for an operand that is left out. `candidate` is the algorithm
    asked for, "" for the driver's choice; `workspace_limit` the most bytes of workspace, 0 for no
    limit; `reduced_precision` tells that units which round more may be used. `request` is the C
    struct of all that, for BaseDevice.prepare; None when prepare_group has returned.
    """

    __slots__ = (
        "candidate",
        "inputs",
        "node_inputs",
        "node_outputs",
        "nodes",
        "outputs",
        "reduced_precision",
        "request",
        "values",
        "workspace_limit",
    )

    def __init__(self, request: Any) -> None:
        """Copies a `const wia_request_t *`. Raises UnimplementedError for unknown attributes."""
        group = request.group
        self.request = request
        self.candidate = text(request.candidate)
        self.workspace_limit: int = request.workspace_limit
        self.reduced_precision = bool(request.flags & lib.WIA_REQUEST_REDUCED_PRECISION)
        values = [group.values[i] for i in range(group.value_count)]
        self.values = tuple(
            None if value.layout == NULL else Layout(value.layout) for value in values
        )
        self.inputs = _places(group.inputs, group.input_count)
        self.outputs = _places(group.outputs, group.output_count)
        aliases = {i: values[i].alias for i in self.outputs if i >= 0}
        nodes, node_inputs, node_outputs = [], [], []
        for i in range(group.node_count):
            node = group.nodes[i]
            inputs = _places(node.inputs, node.input_count)
            outputs = _places(node.outputs, node.output_count)
            node_inputs.append(inputs)
            node_outputs.append(outputs)
            nodes.append(self._read_node(node, inputs, outputs, aliases))
        self.nodes = tuple(nodes)
        self.node_inputs = tuple(node_inputs)
        self.node_outputs = tuple(node_outputs)

    def operand_of(self, value: int) -> int:
        """Which operand of a launch a value is; -1 for one that lies between nodes."""
        operands = (*self.inputs, *self.outputs)
        return operands.index(value) if value >= 0 and value in operands else -1

    def scalars(self) -> list[tuple[str, int]]:
        """What a kernel in Python gets as keywords, with their places in a launch.

        "alpha" of a single operation; of several "alpha_0" for node 0, and so on.
        """
        if len(self.nodes) == 1:
            return list(self.nodes[0].scalars)
        return [
            (f"{name}_{i}", place)
            for i, node in enumerate(self.nodes)
            for name, place in node.scalars
        ]

    def _read_node(
        self,
        node: Any,
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        aliases: dict[int, int],
    ) -> Node:
        op = text(node.op_name)
        attributes, scalars = _read_attributes(op, node)
        return Node(
            op=op,
            attributes=attributes,
            inputs=tuple(None if j < 0 else self.values[j] for j in inputs),
            outputs=tuple(None if j < 0 else self.values[j] for j in outputs),
            aliases=tuple(aliases.get(j, -1) for j in outputs),
            scalars=scalars,
            source=text(node.source),
        )


def _places(pointer: Any, count: int) -> tuple[int, ...]:
    found = ffi.unpack(pointer, count) if count else ()
    return tuple(-1 if place == _LEFT_OUT else place for place in found)


def _read_attributes(op: str, node: Any) -> tuple[Attributes, tuple[tuple[str, int], ...]]:
    from wia.catalog import find_entry

    entry = find_entry(op)
    if entry is None:
        raise UnimplementedError(f"The operation {op!r} is not in this version's catalog.")
    values = entry.defaults()
    is_bool = {item.name for item in entry.attributes if item.kind == "bool"}
    is_list = {item.name for item in entry.attributes if item.length}
    given: set[str] = set()
    scalars: list[tuple[str, int]] = []
    for i in range(node.attribute_count):
        attribute = node.attributes[i]
        name = text(attribute.name)
        if name not in values:
            raise UnimplementedError(
                f"The attribute {name!r} of {op} was given; this version knows "
                f"{', '.join(values) or 'none'}."
            )
        if attribute.data == NULL:
            del values[name]
            scalars.append((name, attribute.scalar))
            continue
        items = _read_data(attribute)
        if name in is_bool:
            values[name] = bool(items[0])
        else:
            values[name] = items if name in is_list else items[0]
        given.add(name)
    return Attributes(values, given), tuple(scalars)


def _read_data(attribute: Any) -> tuple[Any, ...]:
    if attribute.type == lib.WIA_ATTRIBUTE_DTYPE:
        return (numpy_dtype(ffi.cast("int32_t *", attribute.data)[0]),)
    if attribute.type == lib.WIA_ATTRIBUTE_STRING:
        data = ffi.buffer(ffi.cast("char *", attribute.data), attribute.count)
        return (bytes(data).decode("utf-8", "replace"),)
    kind = "int64_t *" if attribute.type == lib.WIA_ATTRIBUTE_INT64 else "double *"
    return tuple(ffi.unpack(ffi.cast(kind, attribute.data), attribute.count))
