"""Test vectors of ONNX as calls of catalog entries.

Node tests were written for the standard; the models converted from PyTorch carry what PyTorch
computed. A case that WIA has no call for is left out with a reason.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from onnx_calls import Array, Call, LeftOutError
from onnx_elements import ELEMENTS
from onnx_moves import MOVES
from onnx_products import TRANSLATIONS as PRODUCTS
from onnx_training import TRAINING

from wia.catalog import BY_NAME

__all__ = ["Array", "Case", "LeftOutError", "load_cases", "translate"]


@dataclass(frozen=True)
class Case:
    """A graph of known operators with inputs by name, and the expected outputs."""

    name: str
    opset: int
    nodes: tuple[Any, ...]
    inputs: dict[str, Array]
    outputs: tuple[str, ...]
    expected: tuple[Array, ...]


def load_cases() -> list[Case]:
    """All cases whose operators all have a translation."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [*_node_cases(), *_converted_cases()]


def _node_cases() -> Iterator[Case]:
    from onnx import TensorProto, numpy_helper
    from onnx.backend.test.case.node import collect_testcases

    def as_array(item: Any) -> Array:
        return numpy_helper.to_array(item) if isinstance(item, TensorProto) else item

    for case in collect_testcases(None):
        assert case.model is not None
        assert case.data_sets is not None
        graph = case.model.graph
        if len(graph.node) == 1 and graph.node[0].op_type in TRANSLATIONS:
            arrays, outputs = ([as_array(item) for item in side] for side in case.data_sets[0])
            inputs = dict(zip([i.name for i in graph.input], arrays, strict=True))
            opset = case.model.opset_import[0].version
            names = tuple(item.name for item in graph.output)
            yield Case(case.name, opset, tuple(graph.node), inputs, names, tuple(outputs))


def _converted_cases() -> Iterator[Case]:
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test.loader import load_model_tests

    def load(path: Path) -> Array:
        return numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))

    for kind in ("pytorch-converted", "pytorch-operator"):
        for case in load_model_tests(kind=kind):
            folder = Path(str(case.model_dir))
            model = onnx.load(folder / "model.onnx")
            graph = model.graph
            if not {node.op_type for node in graph.node} <= TRANSLATIONS.keys():
                continue
            data = folder / "test_data_set_0"
            inputs = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
            names = [i.name for i in graph.input if i.name not in inputs]
            inputs.update({name: load(data / f"input_{i}.pb") for i, name in enumerate(names)})
            opset = model.opset_import[0].version
            expected = tuple(load(data / f"output_{i}.pb") for i in range(len(graph.output)))
            results = tuple(item.name for item in graph.output)
            yield Case(case.name, opset, tuple(graph.node), inputs, results, expected)


def attributes_of(node: Any) -> dict[str, Any]:
    """The attributes of a node by name."""
    from onnx import helper

    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def translate(node: Any, inputs: list[Array | None], opset: int) -> Call:
    """The operation, inputs and values for a node. Raises LeftOutError."""
    attributes = attributes_of(node)
    name, arrays, values = TRANSLATIONS[node.op_type](inputs, attributes, opset)
    entry = BY_NAME[name]
    first = arrays[entry.lead] if entry.lead >= 0 else None
    if entry.lead >= 0 and (first is None or first.dtype.name not in entry.dtypes):
        raise LeftOutError(f"{name} is not defined for this dtype")
    arrays += [None] * (len(entry.inputs) - len(arrays))
    return name, arrays, {**entry.defaults(), **values}


def _pair(name: str) -> Callable[..., Call]:
    return lambda inputs, attributes, opset: (name, inputs, {})


def _reduce(name: str) -> Callable[..., Call]:
    def make(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
        axes = attributes.get("axes", inputs[1] if len(inputs) > 1 else ())
        axes = () if axes is None else tuple(int(axis) for axis in axes)
        if attributes.get("noop_with_empty_axes") and not axes:
            raise LeftOutError("no axes means all axes")
        if name in ("reduce_max", "reduce_min") and inputs[0].size == 0:
            raise LeftOutError("a maximum of nothing is an error")
        return name, inputs[:1], {"axes": axes, "keepdims": attributes.get("keepdims", 1)}

    return make


def _expand(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    shape = np.broadcast_shapes(inputs[0].shape, tuple(int(size) for size in inputs[1]))
    return "broadcast", inputs[:1], {"shape": shape}


def _reshape(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    shape = [int(size) for size in inputs[1]]
    if not attributes.get("allowzero"):
        shape = [inputs[0].shape[i] if size == 0 else size for i, size in enumerate(shape)]
    return "reshape", inputs[:1], {"shape": tuple(shape)}


def _cast(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    from onnx import helper

    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(attributes["to"]))
    if dtype.name not in BY_NAME["cast"].dtypes:
        raise LeftOutError("cast goes to numbers and bool")
    if dtype.name in ("int4", "int2") and inputs[0].dtype.kind == "f":
        raise LeftOutError("ONNX leaves open what is out of range")
    if dtype.name.startswith("float8_e") and attributes.get("saturate", 1):
        raise LeftOutError("what is too large for float8 becomes infinite or NaN")
    return "cast", inputs, {"dtype": dtype}


def _arg(name: str) -> Callable[..., Call]:
    def make(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
        given = {"axis": 0, "keepdims": 1, **attributes}
        return name, inputs, given

    return make


def _scan(name: str) -> Callable[..., Call]:
    def make(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
        return name, inputs[:1], {"axis": int(inputs[1]), **attributes}

    return make


def _only_two(name: str) -> Callable[..., Call]:
    def make(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
        if len(inputs) != 2:
            raise LeftOutError(f"{name} takes two tensors")
        return name, inputs, {}

    return make


def _equal(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    if any(array.dtype.kind in "OSU" for array in inputs):
        raise LeftOutError("WIA has no texts")
    return "equal", inputs, {}


def _identity(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    if not isinstance(inputs[0], np.ndarray):
        raise LeftOutError("copy takes a tensor")
    return "copy", inputs, {}


def _gelu(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    return "gelu", inputs, {"approximate": int(attributes.get("approximate", b"none") == b"tanh")}


def _clip(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    if len(inputs) == 3 and inputs[1] is not None and inputs[2] is not None:
        return "clamp", inputs, {}
    names = ("min", "max")
    values: dict[str, Any] = {n: float(attributes[n]) for n in names if n in attributes}
    for name, bound in zip(names, inputs[1:], strict=False):
        if bound is not None:
            values[name] = float(bound)
    return "clip", inputs[:1], values


def _slice(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    names = ("starts", "ends", "axes", "steps")
    given = dict(zip(names, inputs[1:], strict=False)) or attributes
    least = -(2**63) + 1
    values = {
        name: tuple(max(int(item), least) for item in given[name])
        for name in names
        if given.get(name) is not None
    }
    return "slice", inputs[:1], values


def _split(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    x, axis = inputs[0], attributes.get("axis", 0)
    sizes = attributes.get("split", inputs[1] if len(inputs) > 1 else None)
    if sizes is None and "num_outputs" not in attributes:
        raise LeftOutError("without sizes split gives as many parts as the node has outputs")
    if sizes is None:
        count = attributes["num_outputs"]
        each = -(-x.shape[axis] // count)
        sizes = [min(each, x.shape[axis] - each * k) for k in range(count)]
    return "split", [x], {"axis": axis, "sizes": tuple(int(size) for size in sizes)}


def _pad(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    modes = {b"constant": 0, b"reflect": 1, b"edge": 2}
    mode = attributes.get("mode", b"constant")
    x, pads, value, axes = [*inputs, None, None, None][:4]
    if mode not in modes or len(inputs) < 2:
        raise LeftOutError("pad has no wrap, and opset 11 or newer")
    numbers = [int(item) for item in pads]
    if axes is not None:
        every = [0] * (2 * x.ndim)
        for i, axis in enumerate(axes):
            every[axis % x.ndim] = numbers[i]
            every[x.ndim + axis % x.ndim] = numbers[len(axes) + i]
        numbers = every
    if min(numbers) < 0:
        raise LeftOutError("pad cuts nothing off")
    scalars = {} if value is None else {"value": float(value)}
    return "pad", [x], {"pads": tuple(numbers), "mode": modes[mode], **scalars}


TRANSLATIONS: dict[str, Callable[[list[Any], dict[str, Any], int], Call]] = {
    **ELEMENTS,
    **TRAINING,
    **PRODUCTS,
    **MOVES,
    "Add": _pair("add"),
    "ArgMax": _arg("argmax"),
    "ArgMin": _arg("argmin"),
    "Cast": _cast,
    "Clip": _clip,
    "Concat": lambda i, a, o: ("concat", i, {"axis": a.get("axis", 1)}),
    "Div": _pair("div"),
    "Equal": _equal,
    "Exp": _pair("exp"),
    "Expand": _expand,
    "Gather": lambda i, a, o: ("gather", i, {"axis": a.get("axis", 0)}),
    "Gelu": _gelu,
    "Greater": _pair("greater"),
    "GreaterOrEqual": _pair("greater_equal"),
    "Identity": _identity,
    "Less": _pair("less"),
    "LessOrEqual": _pair("less_equal"),
    "Log": _pair("log"),
    "MatMul": _pair("matmul"),
    "Max": _only_two("maximum"),
    "Min": _only_two("minimum"),
    "Mul": _pair("mul"),
    "Neg": _pair("neg"),
    "Pad": _pad,
    "CumProd": _scan("cumprod"),
    "CumSum": _scan("cumsum"),
    "ReduceL1": _reduce("reduce_l1"),
    "ReduceL2": _reduce("reduce_l2"),
    "ReduceLogSum": _reduce("reduce_log_sum"),
    "ReduceLogSumExp": _reduce("reduce_log_sum_exp"),
    "ReduceMax": _reduce("reduce_max"),
    "ReduceMin": _reduce("reduce_min"),
    "ReduceProd": _reduce("reduce_prod"),
    "ReduceSumSquare": _reduce("reduce_sum_square"),
    "ReduceMean": _reduce("reduce_mean"),
    "ReduceSum": _reduce("reduce_sum"),
    "Relu": _pair("relu"),
    "Reshape": _reshape,
    "Sigmoid": _pair("sigmoid"),
    "Slice": _slice,
    "Split": _split,
    "Sqrt": _pair("sqrt"),
    "Sub": _pair("sub"),
    "Tanh": _pair("tanh"),
    "Transpose": lambda i, a, o: ("transpose", i, {"perm": tuple(a.get("perm", ()))}),
    "Where": _pair("where"),
}
