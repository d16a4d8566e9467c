"""Running graphs: node by node, each by its lowering or by the body that onnx gives for it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wia._errors import ResourceExhaustedError, WiaError
from wia._native import lib
from wia.onnx._bodies import Bodies
from wia.onnx._call import Call
from wia.onnx._errors import ModelError, UnsupportedError, rename
from wia.onnx._fold import Folded
from wia.onnx._graph import Graph, Node, Reference
from wia.onnx._place import HOST, Placer
from wia.onnx._table import find_lowering
from wia.onnx._values import Value, describe

__all__ = ["NodeRecord", "Runtime", "Scope"]

_MAX_DEPTH = 50
_NO_LOWERING = "WIA has no lowering for this operator"
_HINTS = {
    "com.microsoft": ", which onnxruntime's optimisers write: take the model as it was exported, "
    "or save it with graph_optimization_level = ORT_ENABLE_BASIC or less"
}
"""By domain: what to do where an operator isn't there."""


class Scope:
    """Values by name; those of the graphs around are seen too."""

    __slots__ = ("_outer", "values")

    def __init__(self, outer: Scope | None = None) -> None:
        self._outer = outer
        self.values: dict[str, Value] = {}

    def __getitem__(self, name: str) -> Value:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope._outer
        raise ModelError(f"There is no value named {name!r} at this place of the graph.")

    def __setitem__(self, name: str, value: Value) -> None:
        self.values[name] = value

    def update(self, names: Sequence[str], values: Sequence[Value]) -> None:
        """Sets the outputs of a node, of which those without a name are left out."""
        for name, value in zip(names, values, strict=False):
            if name:
                self.values[name] = value

    def drop(self, names: Sequence[str]) -> None:
        """Forgets values, so that their memory can be used again."""
        for name in names:
            self.values.pop(name, None)


@dataclass(slots=True)
class NodeRecord:
    """What a node of the main graph did in the last run: operations by place, and its time."""

    name: str
    operator: str
    places: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


class Runtime:
    """Runs graphs on a placer."""

    def __init__(self, placer: Placer, functions: Bodies) -> None:
        self.placer = placer
        self._bodies = functions
        self._scopes: list[Scope] = []
        self._attributes: list[Mapping[str, Any]] = [{}]
        self._constants: dict[int, dict[str, Value]] = {}
        self._kept: dict[Node, dict[object, Any]] = {}
        self._folded: dict[int, Folded] = {}
        self._places: dict[Node, Counter[str]] = {}
        """Of nodes of the main graph, where they ran when they last did."""
        self._number = 0
        """Of the node of the main graph that runs now, from 1 on."""

    def run(
        self, graph: Graph, inputs: Mapping[str, Value], records: list[NodeRecord] | None = None
    ) -> list[Value]:
        """The outputs of the main graph; records get one entry for each of its nodes.

        In a profile each node is a range. Its number, and that of what runs inside, is the place of
        the record, from 1 on.
        """
        scope = Scope()
        for name, value in inputs.items():
            scope[name] = value
        return self._run(graph, scope, records)

    def run_inner(self, graph: Graph, inputs: Sequence[Value]) -> list[Value]:
        """The outputs of a graph inside of the node that runs now."""
        if len(inputs) != len(graph.inputs):
            raise ModelError(
                f"graph {graph.name!r} has {len(graph.inputs)} inputs and was given {len(inputs)}"
            )
        scope = Scope(self._scopes[-1])
        for name, value in zip(graph.inputs, inputs, strict=True):
            scope[name] = value
        return self._run(graph, scope)

    def constants(self, graph: Graph) -> dict[str, Value]:
        """The constants of a graph, which are loaded once."""
        found = self._constants.get(id(graph))
        if found is None:
            found = {name: self._constant(array) for name, array in graph.constants.items()}
            self._constants[id(graph)] = found
        return found

    def kept(self, node: Node, make: Callable[[], Any], key: object) -> Any:
        """What was made for a node; each time anew where attributes are those of a function."""
        if any(isinstance(value, Reference) for value in node.attributes.values()):
            return make()
        found = self._kept.setdefault(node, {})
        if key not in found:
            found[key] = make()
        return found[key]

    def _constant(self, array: Any) -> Value:
        return array if array.dtype == object else self.placer.keep(self.placer.put(array))

    def _run(
        self,
        graph: Graph,
        scope: Scope,
        records: list[NodeRecord] | None = None,
        wanted: Sequence[bool] | None = None,
    ) -> list[Value]:
        if len(self._scopes) >= _MAX_DEPTH:
            raise ModelError(f"Graphs and functions are nested more than {_MAX_DEPTH} deep.")
        for name, value in self.constants(graph).items():
            if name not in scope.values:  # an input with the name overrides the constant
                scope[name] = value
        if id(graph) not in self._folded:
            self._folded[id(graph)] = Folded(graph, self.placer)
        folded = self._folded[id(graph)]
        self._scopes.append(scope)
        try:
            for node, last in zip(graph.nodes, graph.last, strict=True):
                made = folded.find(node)
                if made is not None:
                    scope.update(node.outputs, made)
                    if records is not None:
                        records.append(NodeRecord(*_name(node), self._places[node]))
                    scope.drop(last)
                    continue
                if records is None:
                    self._run_node(node, scope)
                else:
                    self._number = len(records) + 1
                    records.append(self._record(node, scope))
                folded.offer(node, scope.values)
                scope.drop(last)
            chosen = [True] * len(graph.outputs) if wanted is None else wanted
            outputs = zip(graph.outputs, chosen, strict=False)
            return [scope[name] if is_wanted else None for name, is_wanted in outputs]
        finally:
            self._scopes.pop()

    def _record(self, node: Node, scope: Scope) -> NodeRecord:
        self.placer.places.clear()
        start = time.perf_counter()
        self._run_node(node, scope)
        places = Counter(self.placer.places) or Counter({HOST: 1})
        self._places[node] = places
        return NodeRecord(*_name(node), places, time.perf_counter() - start)

    def _run_node(self, node: Node, scope: Scope) -> None:
        inputs = [scope[name] if name else None for name in node.inputs]
        # Where ranges are nested too deep the trace has one less.
        in_range = lib.wia_push_range(node.label, self._number) == 0
        try:
            outputs = self._compute(node, inputs)
        except WiaError as error:
            if getattr(error, "in_node", False):
                raise
            given = ", ".join(describe(value) for value in inputs)
            named = rename(error, f"{node} with inputs ({given})")
            named.in_node = True  # type: ignore[attr-defined]
            raise named from error
        except MemoryError:
            raise ResourceExhaustedError(f"{node}: the host has not enough memory") from None
        except Exception as error:  # a fault of WIA's own
            error.add_note(f"in {node} of the model")
            raise
        finally:
            if in_range:
                lib.wia_pop_range()
        scope.update(node.outputs, outputs)

    def _compute(self, node: Node, inputs: list[Value]) -> Sequence[Value]:
        attributes = self._resolve(node)
        lowering = find_lowering(node)
        refusal = UnsupportedError(_NO_LOWERING + _HINTS.get(node.domain, ""))
        if lowering is not None:
            try:
                result = lowering(Call(self, node, inputs, attributes))
                return result if isinstance(result, tuple) else (result,)
            except UnsupportedError as error:
                if getattr(error, "in_node", False):
                    raise
                refusal = error
        function = self._bodies.find(node, inputs, attributes)
        if function is None:
            raise refusal
        graph = function.graph
        scope = Scope()
        padded = [*inputs, *[None] * (len(graph.inputs) - len(inputs))]
        for name, value in zip(graph.inputs, padded, strict=False):
            scope[name] = value
        self._attributes.append({**function.defaults, **attributes})
        try:
            # A body may leave out what its node doesn't name.
            wanted = [bool(name) for name in node.outputs]
            return self._run(graph, scope, wanted=wanted)
        except UnsupportedError as error:
            if node.schema is None:
                raise
            raise UnsupportedError(
                f"{refusal}, and the body that onnx has fails: {error}"
            ) from None
        finally:
            self._attributes.pop()

    def _resolve(self, node: Node) -> dict[str, Any]:
        """Attributes with those of the function around put in."""
        outer = self._attributes[-1]
        return {
            name: outer[value.name] if isinstance(value, Reference) else value
            for name, value in node.attributes.items()
            if not (isinstance(value, Reference) and value.name not in outer)
        }


def _name(node: Node) -> tuple[str, str]:
    """The name of a node, that of its output if it has none, and its operator."""
    return node.name or next(filter(None, node.outputs), ""), node.operator
