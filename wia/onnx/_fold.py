"""Constant folding: nodes that compute from constants alone run once for each session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wia._tensor import Tensor
from wia.onnx._graph import Graph, Node, Reference

if TYPE_CHECKING:
    from wia.onnx._place import Placer
    from wia.onnx._values import Value

__all__ = ["Folded"]

_CHANCE = ("Bernoulli", "Dropout", "Multinomial")
_GROWTH = 8
_SMALL = 2**20
"""Bytes. What is larger than this, and than _GROWTH times its inputs, is made in each run anew, so
that a graph that fills memory with one number doesn't keep it full between runs."""


class Folded:
    """The values of one graph that are made of its constants."""

    def __init__(self, graph: Graph, placer: Placer) -> None:
        self._placer = placer
        self._constants = set(graph.constants) - set(graph.inputs)
        self._sizes = {n: int(a.nbytes) for n, a in graph.constants.items()}
        self._values: dict[Node, tuple[Value, ...]] = {}

    def find(self, node: Node) -> tuple[Value, ...] | None:
        """The outputs of a node that has run already and needs to no more."""
        return self._values.get(node)

    def offer(self, node: Node, values: Mapping[str, Value]) -> None:
        """Keeps the outputs of a node that has run, if they are constants; values has them."""
        if not _is_fixed(node) or not self._constants.issuperset(filter(None, node.inputs)):
            return
        names = [name for name in node.outputs if name]
        made = [values[name] for name in names]
        size = sum(self._sizes[name] for name in node.inputs if name)
        own = [item.nbytes if isinstance(item, Tensor) else None for item in made]
        too_large = sum(filter(None, own)) > max(_SMALL, _GROWTH * size)
        if None in own or (too_large and node.op != "Constant"):
            return
        for name, item, count in zip(names, made, own, strict=True):
            self._sizes[name] = int(count or 0)
            self._placer.keep(item)  # type: ignore[arg-type]
        self._constants.update(names)
        self._values[node] = tuple(values[n] if n else None for n in node.outputs)


def _is_fixed(node: Node) -> bool:
    """Whether a node gives the same for the same inputs, wherever it is."""
    if node.domain not in ("", "ai.onnx.ml") or node.op.startswith("Random") or node.op in _CHANCE:
        return False
    return not any(_depends(value) for value in node.attributes.values())


def _depends(value: Any) -> bool:
    items: Sequence[Any] = value if isinstance(value, tuple) else (value,)
    return any(isinstance(item, Reference | Graph) for item in items)
