"""What a model is and needs, found out without computing: a run in which only sizes are real."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import wia
from wia._context import Context
from wia._dtype import BITS
from wia._errors import InvalidArgumentError, ResourceExhaustedError
from wia._tensor import Tensor, allocate
from wia.catalog import Operation, cost
from wia.onnx._bodies import Bodies
from wia.onnx._errors import UnsupportedError
from wia.onnx._graph import Graph, Node
from wia.onnx._load import Model, infer, read_model
from wia.onnx._place import SHAPES, Placer
from wia.onnx._run import Runtime, Scope
from wia.onnx._session import InputInfo, describe_value
from wia.onnx._table import find_lowering
from wia.onnx._values import describe, texts

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Inspection", "inspect"]

_FREE_SIZE = 1
"""Of a dimension that the model leaves open."""
_MOST_NODES = 100_000
"""That are looked at: a loop may ask for any number."""


class Inspection(NamedTuple):
    """What a model is and needs for inputs of certain shapes.

    ``operators`` are ONNX's, those of graphs in nodes too; ``missing`` those that have neither a
    lowering nor a body. ``sizes`` are those that names of dimensions were taken as. ``operations``
    are the catalog's, by name and dtype. ``flops`` and ``moved_size`` are those of one run;
    ``peak_size`` what values take at once at most, beside the parameters. ``devices`` has the
    operations, of all, that each device has kernels for. ``stopped`` says why the numbers are those
    of a part of the model only, where what follows depends on values. ``values`` has dtype and
    shape of what the nodes of the main graph give, by name, in their order, up to there;
    ``inferred`` what onnx infers of them for sizes of any kind, with the names that the model has.
    """

    name: str
    ir_version: int
    opsets: Mapping[str, int]
    inputs: tuple[InputInfo, ...]
    outputs: tuple[InputInfo, ...]
    shapes: Mapping[str, tuple[int, ...]]
    sizes: Mapping[str, int]
    nodes: int
    operators: Mapping[str, int]
    missing: tuple[str, ...]
    parameters: int
    parameter_size: int
    operations: Mapping[str, int]
    flops: float
    moved_size: float
    peak_size: int
    devices: Mapping[str, int]
    stopped: str
    values: Mapping[str, str]
    inferred: Mapping[str, str]


def inspect(
    source: Any,
    shapes: Mapping[str, Sequence[int]] | None = None,
    *,
    sizes: Mapping[str, int] | None = None,
) -> Inspection:
    """Tells what a model is and needs, for shapes of inputs by name, and sizes of named dimensions.

    Sizes that are nowhere said count as 1. Takes what wia.onnx.load() takes, and raises what it
    raises.
    """
    model = read_model(source)
    constants = list(_constants(model))
    operators = Counter(node.operator.rpartition("-")[0] for node in _nodes(model))
    given = [i for i in model.proto.graph.input if i.name not in model.graph.constants]
    inputs = tuple(describe_value(item) for item in given)
    named = _choose_sizes(model.name, inputs, sizes or {})
    chosen = {info.name: _choose_shape(info, shapes or {}, named) for info in inputs}
    unknown = [name for name in shapes or {} if name not in chosen]
    if unknown:
        raise InvalidArgumentError(
            f"A shape was given for {unknown}; the inputs of {model.name} are {[*chosen]}."
        )
    declared = infer(model.proto)
    context = Context("reference")
    placer = _DryPlacer(context)
    try:
        runtime = _Watched(placer, model.bodies)
        stopped = _run(model, runtime, inputs, chosen)
    finally:
        placer.close()
        context.close()
    return Inspection(
        name=model.name,
        ir_version=model.proto.ir_version,
        opsets={item.domain or "ai.onnx": item.version for item in model.proto.opset_import},
        inputs=inputs,
        outputs=tuple(describe_value(item) for item in declared.output),
        shapes=chosen,
        sizes=named,
        nodes=operators.total(),
        operators=dict(sorted(operators.items())),
        missing=_missing(model),
        parameters=sum(array.size for array in constants),
        parameter_size=sum(array.nbytes for array in constants),
        operations={f"{n} {d}": c for (n, d), c in sorted(placer.used.items())},
        flops=placer.flops,
        moved_size=placer.moved_size,
        peak_size=placer.peak,
        devices=_devices(placer.used),
        stopped=stopped,
        values=runtime.found,
        inferred={
            info.name: _show(info)
            for info in map(describe_value, (*declared.value_info, *declared.output))
        },
    )


def _show(info: InputInfo) -> str:
    sizes = "?" if info.shape is None else ", ".join(map(str, info.shape))
    return f"{info.dtype or 'sequence, map or optional'}[{sizes}]"


class _DryPlacer(Placer):
    """Takes memory for what the device would compute, which costs nothing untouched, and counts."""

    def __init__(self, device: Context) -> None:
        super().__init__(device, apart=True)
        self.used: Counter[tuple[str, str]] = Counter()
        self.flops = 0.0
        self.moved_size = 0.0
        self.peak = 0
        self._live = 0

    def read(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        if tensor.context is self.device:
            raise UnsupportedError("what follows depends on values, which only a run has")
        return super().read(tensor)

    def _execute(
        self,
        place: str,
        context: Context,
        entry: Operation,
        inputs: Sequence[Tensor | None],
        attributes: dict[str, Any],
        count: int | None,
    ) -> tuple[Tensor, ...]:
        if place == SHAPES:
            return super()._execute(place, context, entry, inputs, attributes, count)
        described = context._find_outputs(entry.number, tuple(inputs), attributes)
        made = [allocate(context, shape, code) for shape, code in described]
        operands: list[Tensor | None] = [
            *inputs,
            *[None] * (len(entry.inputs) - len(inputs)),
            *made,
            *[None] * (len(entry.outputs) - len(made)),  # of a split in fewer parts
        ]
        shapes = [None if t is None else t.shape for t in operands]
        sizes = [0 if t is None else t.dtype.itemsize for t in operands]
        flops, moved = cost(entry, shapes, sizes, _by_number(entry, attributes))
        self.flops += max(flops, 0)  # of a program's own operation it isn't known
        self.moved_size += moved
        lead = made[0] if not inputs or inputs[0] is None else inputs[0]
        self.used[entry.name, lead.dtype.name] += 1
        for tensor, (shape, code) in zip(made, described, strict=True):
            self._track(tensor, -(-BITS[code] * _count(shape) // 8))
        return tuple(made[:count])

    def _track(self, tensor: Tensor, size: int) -> None:
        self._live += size
        self.peak = max(self.peak, self._live)
        weakref.finalize(tensor, self._release, size)

    def _release(self, size: int) -> None:
        self._live -= size


def _by_number(entry: Operation, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Values of all attributes, choices by number, as the formulas of the catalog have them."""
    values = entry.defaults()
    for name, value in attributes.items():
        if value is not None:
            values[name] = value
    for item in entry.attributes:
        if item.choices and isinstance(values[item.name], str):
            numbers = {choice.name.lower(): choice.value for choice in item.choices}
            values[item.name] = numbers[values[item.name]]
    return values


class _Watched(Runtime):
    """Keeps what the values of the main graph were, which are given up as it goes on."""

    def __init__(self, placer: Placer, functions: Bodies) -> None:
        super().__init__(placer, functions)
        self.found: dict[str, str] = {}
        self._count = 0

    def _run_node(self, node: Node, scope: Scope) -> None:
        self._count += 1
        if self._count > _MOST_NODES:
            raise ResourceExhaustedError(
                f"more than {_MOST_NODES} nodes would run, with those of loops and functions"
            )
        super()._run_node(node, scope)
        if len(self._scopes) == 1:
            self.found.update({name: describe(scope[name]) for name in node.outputs if name})


def _count(shape: Sequence[int]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def _run(
    model: Model,
    runtime: Runtime,
    inputs: Sequence[InputInfo],
    shapes: Mapping[str, tuple[int, ...]],
) -> str:
    """Why the run came to an end early, "" where it didn't."""
    values: dict[str, Any] = {}
    for info in inputs:
        if info.dtype == "string":
            values[info.name] = texts([""] * _count(shapes[info.name]), shapes[info.name])
        elif info.dtype:
            values[info.name] = runtime.placer.device.empty(shapes[info.name], info.dtype)
        else:
            return f"input {info.name!r} is a sequence, a map or an optional"
    try:
        runtime.run(model.graph, values)
    except wia.WiaError as error:
        return str(error)
    return ""


def _choose_sizes(
    model: str, inputs: Sequence[InputInfo], sizes: Mapping[str, int]
) -> dict[str, int]:
    names = [s for info in inputs for s in info.shape or () if isinstance(s, str) and s != "?"]
    unknown = [name for name in sizes if name not in names]
    if unknown or any(size < 0 for size in sizes.values()):
        given = ", ".join(f"{name}={size}" for name, size in sizes.items())
        raise InvalidArgumentError(
            f"The sizes {given} were given; the names of {model} are "
            f"{', '.join(dict.fromkeys(names)) or 'none'}, and sizes are 0 or more."
        )
    return {name: sizes.get(name, _FREE_SIZE) for name in names}


def _choose_shape(
    info: InputInfo, shapes: Mapping[str, Sequence[int]], sizes: Mapping[str, int]
) -> tuple[int, ...]:
    if info.name in shapes:
        return tuple(shapes[info.name])
    shape = info.shape or ()
    return tuple(s if isinstance(s, int) else sizes.get(s, _FREE_SIZE) for s in shape)


def _graphs(graph: Graph) -> list[Graph]:
    """A graph and those in its nodes."""
    found = [graph]
    for node in graph.nodes:
        for value in node.attributes.values():
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, Graph):
                    found.extend(_graphs(item))
    return found


def _nodes(model: Model) -> list[Any]:
    return [node for graph in _graphs(model.graph) for node in graph.nodes]


def _constants(model: Model) -> Iterator[Any]:
    """Arrays of numbers: initialisers, and those of Constant nodes."""
    for graph in _graphs(model.graph):
        nodes = (node.attributes for node in graph.nodes if node.op == "Constant")
        values = [item for attributes in nodes for item in attributes.values()]
        for value in (*graph.constants.values(), *values):
            if getattr(value, "dtype", None) is not None and value.dtype.kind != "O":
                yield value


def _missing(model: Model) -> tuple[str, ...]:
    own = model.bodies.names()
    found = set()
    for node in _nodes(model):
        key, schema = (node.domain, node.op), node.schema
        body = schema and (schema.has_function or schema.has_context_dependent_function)
        if find_lowering(node) is None and key not in own and not body:
            found.add(node.operator)
    return tuple(sorted(found))


def _devices(used: Mapping[tuple[str, str], int]) -> dict[str, int]:
    """For each device the calls that it has kernels for, by operation and dtype."""
    found = {}
    for device in wia.devices():
        have = {}
        for name, _ in used:
            if name not in have:
                try:
                    have[name] = device.supports(name)
                except wia.UnimplementedError:
                    have[name] = frozenset()
        found[device.name] = sum(n for (name, dtype), n in used.items() if dtype in have[name])
    return found
