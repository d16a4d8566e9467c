"""Control flow, sequences and optionals: at host level; their tensors stay where they are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wia._errors import ResourceExhaustedError
from wia._tensor import Tensor
from wia.onnx._errors import ModelError
from wia.onnx._lower.moves import concat_tensors, pick, split_value
from wia.onnx._lower.shapes import shape_of
from wia.onnx._values import Value, check_axis

if TYPE_CHECKING:
    from wia.onnx._call import Call, Result
    from wia.onnx._graph import Graph

_OVERHEAD = 1024
"""Bytes that a tensor takes at least, here and in the library, rounded up."""
_MOST_ITEMS = 2**24
"""Of a sequence: one that a loop makes longer takes memory that no tensor accounts for."""

__all__ = [
    "concat_from_sequence",
    "identity",
    "if_",
    "loop",
    "optional",
    "optional_get",
    "optional_has",
    "scan",
    "sequence_at",
    "sequence_construct",
    "sequence_empty",
    "sequence_erase",
    "sequence_insert",
    "sequence_length",
    "split_to_sequence",
]


def identity(call: Call) -> Result:
    """Identity: values are never changed, so it is the same one."""
    return (call.value(0),)


def if_(call: Call) -> Result:
    """If."""
    chosen = bool(call.item(0))
    return tuple(call.run_graph(call.required("then_branch" if chosen else "else_branch")))


def loop(call: Call) -> Result:
    """Loop: carried values, then what each turn gives, stacked."""
    import numpy as np

    body: Graph = call.required("body")
    limit = None if call.value(0) is None else int(call.item(0))
    going = call.value(1) is None or bool(call.item(1))
    carried = list(call.inputs[2:])
    columns: list[list[Value]] = [[] for _ in body.outputs[1 + len(carried) :]]
    turn, kept = 0, 0
    while going and (limit is None or turn < limit):
        number = call.put(np.array(turn, np.int64))
        condition, *rest = call.run_graph(body, number, call.put(np.array(going)), *carried)
        carried, given = rest[: len(carried)], rest[len(carried) :]
        for column, value in zip(columns, given, strict=True):
            column.append(value)
            kept += _size(value)
        if kept > call.memory:
            raise ResourceExhaustedError(
                f"the loop has kept {kept} bytes of outputs after {turn + 1} turns; the memory of "
                f"the device has {call.memory}"
            )
        going = not isinstance(condition, Tensor) or bool(call.number(condition))
        turn += 1
    names = body.outputs[1 + len(carried) :]
    return (*carried, *(_stack(call, c, 0, body, n) for c, n in zip(columns, names, strict=True)))


def _size(value: Value) -> int:
    """The bytes that a value keeps, with what a small one takes beside its elements."""
    if isinstance(value, list):
        return _OVERHEAD * (1 + len(value))
    return _OVERHEAD + int(getattr(value, "nbytes", 0))


def _stack(call: Call, values: list[Value], axis: int, body: Graph, name: str) -> Value:
    """Values of all turns along a new axis."""
    if not values:
        return _nothing(call, axis, body.types.get(name))
    rank = len(shape_of(values[0])) + 1
    axis %= rank
    rows: list[Value] = []
    for value in values:
        shape = shape_of(value)
        sizes = (*shape[:axis], 1, *shape[axis:])
        rows.append(
            call.reshape(value, *sizes) if isinstance(value, Tensor) else value.reshape(sizes)  # type: ignore[union-attr]
        )
    return concat_tensors(call, rows, axis)


def _nothing(call: Call, axis: int, declared: Any) -> Value:
    """What no turn at all gives: as the body declares it; unknown sizes are 0."""
    import numpy as np
    from onnx import TensorProto, helper

    kind = None if declared is None else declared.tensor_type
    if kind is None or not kind.elem_type:
        raise ModelError("the loop has no turn, and its body doesn't say of which type outputs are")
    sizes = [dim.dim_value for dim in kind.shape.dim]
    sizes.insert(axis, 0)
    if kind.elem_type == TensorProto.STRING:
        return np.empty(sizes, object)
    return call.put(np.empty(sizes, helper.tensor_dtype_to_np_dtype(kind.elem_type)))


def scan(call: Call) -> Result:
    """Scan: states, and slices of inputs along their axes."""
    body: Graph = call.required("body")
    count = call.required("num_scan_inputs")
    if not 1 <= count <= len(call.inputs):
        raise ModelError(f"num_scan_inputs is {count} of {len(call.inputs)} inputs")
    if call.version < 9:
        return _batches(call, body, count)
    inputs = list(call.inputs)
    states, sources = inputs[: len(inputs) - count], inputs[len(inputs) - count :]
    outputs = len(body.outputs) - len(states)
    names = ("scan_input_axes", "scan_input_directions")
    axes, backward = (call.attribute(name, (0,) * count) for name in names)
    out_axes, out_backward = (
        call.attribute(name, (0,) * outputs)
        for name in ("scan_output_axes", "scan_output_directions")
    )
    return _turns(call, body, states, sources, (axes, backward, out_axes, out_backward))


def _turns(
    call: Call,
    body: Graph,
    states: list[Value],
    sources: list[Value],
    ways: tuple[Any, Any, Any, Any],
) -> tuple[Value, ...]:
    axes, backward, out_axes, out_backward = ways
    if not (len(axes) == len(backward) == len(sources)) or len(out_axes) != len(out_backward):
        raise ModelError("axes and directions are not as many as the inputs or outputs")
    shapes = [shape_of(source) for source in sources]
    axes = [check_axis(axis, len(shape)) for axis, shape in zip(axes, shapes, strict=True)]
    lengths = {shape[axis] for shape, axis in zip(shapes, axes, strict=True)}
    if len(lengths) != 1:
        raise ModelError(f"the inputs have {sorted(lengths)} slices; expected equal numbers")
    length = lengths.pop()
    columns: list[list[Value]] = [[] for _ in body.outputs[len(states) :]]
    for turn in range(length):
        slices = [
            _slice(call, source, axis, length - 1 - turn if back else turn)
            for source, axis, back in zip(sources, axes, backward, strict=True)
        ]
        results = call.run_graph(body, *states, *slices)
        states, given = results[: len(states)], results[len(states) :]
        for column, value in zip(columns, given, strict=True):
            column.append(value)
    names = body.outputs[len(states) :]
    stacked = [
        _stack(call, column[::-1] if back else column, axis, body, name)
        for column, axis, back, name in zip(columns, out_axes, out_backward, names, strict=True)
    ]
    return (*states, *stacked)


def _slice(call: Call, source: Value, axis: int, at: int) -> Value:
    shape = shape_of(source)
    axis = check_axis(axis, len(shape))
    row = pick(call, source, (at,), (at + 1,), (axis,))
    sizes = (*shape[:axis], *shape[axis + 1 :])
    return call.reshape(row, *sizes) if isinstance(row, Tensor) else row.reshape(sizes)  # type: ignore[union-attr]


def _batches(call: Call, body: Graph, count: int) -> Result:
    """Scan of opset 8: each row of a batch by itself, cut to its length."""
    lengths = call.ints(0)
    inputs = list(call.inputs[1:])
    states, sources = inputs[: len(inputs) - count], inputs[len(inputs) - count :]
    outputs = len(body.outputs) - len(states)
    backward = call.attribute("directions", (0,) * count)
    ways = ((0,) * count, backward, (0,) * outputs, (0,) * outputs)
    rows: list[tuple[Value, ...]] = []
    batches = shape_of(inputs[0])[:1] if inputs else ()
    if batches in ((), (0,)):
        raise ModelError("there is no batch to scan")
    if lengths is not None and len(lengths) != batches[0]:
        raise ModelError(f"{len(lengths)} sequence_lens are given for {batches[0]} batches")
    for batch in range(batches[0]):
        own = [_slice(call, value, 0, batch) for value in states]
        cut = [_slice(call, value, 0, batch) for value in sources]
        if lengths is not None:
            cut = [pick(call, value, (0,), (lengths[batch],), (0,)) for value in cut]
        rows.append(_turns(call, body, own, cut, ways))
    columns = zip(*rows, strict=True)
    return tuple(
        _stack(call, list(column), 0, body, name)
        for column, name in zip(columns, body.outputs, strict=True)
    )


def _sequence(call: Call, index: int = 0) -> list[Value]:
    value = call.value(index)
    if not isinstance(value, list):
        raise ModelError(f"input {index} is no sequence")
    return value


def _position(call: Call, index: int, length: int, last: int) -> int:
    position = int(call.item(index))
    if not -length <= position <= last:
        raise ModelError(f"the position {position} is out of range; there are {length} elements")
    return position + length if position < 0 else position


def sequence_construct(call: Call) -> Result:
    """SequenceConstruct."""
    return (list(call.inputs),)


def sequence_empty(call: Call) -> Result:
    """SequenceEmpty."""
    return ([],)


def sequence_at(call: Call) -> Result:
    """SequenceAt."""
    items = _sequence(call)
    return (items[_position(call, 1, len(items), len(items) - 1)],)


def sequence_insert(call: Call) -> Result:
    """SequenceInsert: before the position, at the end without one."""
    items = _sequence(call)
    if len(items) >= _MOST_ITEMS:
        raise ResourceExhaustedError(f"the sequence has {len(items)} elements; no more are taken")
    at = len(items) if call.value(2) is None else _position(call, 2, len(items), len(items))
    return ([*items[:at], call.value(1), *items[at:]],)


def sequence_erase(call: Call) -> Result:
    """SequenceErase: the last one without a position."""
    items = _sequence(call)
    if call.value(1) is None and not items:
        raise ModelError("the sequence is empty")
    last = len(items) - 1
    at = last if call.value(1) is None else _position(call, 1, len(items), last)
    return ([*items[:at], *items[at + 1 :]],)


def sequence_length(call: Call) -> Result:
    """SequenceLength."""
    import numpy as np

    return call.put(np.array(len(_sequence(call)), np.int64))


def split_to_sequence(call: Call) -> Result:
    """SplitToSequence: equal pieces, or pieces of given sizes."""
    data = call.value(0)
    shape = shape_of(data)
    axis = check_axis(call.attribute("axis", 0), len(shape))
    total = shape[axis]
    if call.value(1) is None:
        _check_pieces(total)
        pieces = split_value(call, data, axis, (1,) * total)
        if call.attribute("keepdims", 1):
            return (pieces,)
        return ([_slice(call, piece, axis, 0) for piece in pieces],)
    given = call.host(1)
    sizes = [int(item) for item in given.reshape(-1)]
    if given.ndim == 0:
        each = max(sizes[0], 1)
        _check_pieces(math.ceil(total / each))
        sizes = [min(each, total - i * each) for i in range(math.ceil(total / each))]
    return (split_value(call, data, axis, sizes),)


def _check_pieces(count: int) -> None:
    if count > _MOST_ITEMS:
        raise ResourceExhaustedError(
            f"{count} pieces were asked for; at most {_MOST_ITEMS} are made"
        )


def concat_from_sequence(call: Call) -> Result:
    """ConcatFromSequence: joined along an axis, or along a new one."""
    items, axis = _sequence(call), call.required("axis")
    if not items:
        raise ModelError("the sequence is empty")
    if not call.attribute("new_axis", 0):
        return concat_tensors(call, items, axis)
    rank = len(shape_of(items[0])) + 1
    rows: list[Value] = []
    for item in items:
        sizes = list(shape_of(item))
        sizes.insert(axis % rank, 1)
        rows.append(call.reshape(item, *sizes) if isinstance(item, Tensor) else item.reshape(sizes))  # type: ignore[union-attr]
    return concat_tensors(call, rows, axis % rank)


def optional(call: Call) -> Result:
    """Optional: the value, or nothing."""
    return (call.value(0),)


def optional_get(call: Call) -> Result:
    """OptionalGetElement."""
    if call.value(0) is None:
        raise ModelError("the optional is empty")
    return (call.value(0),)


def optional_has(call: Call) -> Result:
    """OptionalHasElement."""
    import numpy as np

    return call.put(np.array(call.value(0) is not None))
