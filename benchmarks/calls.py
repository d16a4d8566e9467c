"""calls DEVICE: calls from Python beside numpy and onnxruntime. Prints samples, see samples.py."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
from samples import Turn, measure, statement_turns

import wia

THREADS = (1, 2, 4, 8)
CALLS_OF_A_THREAD = 300
LAYERS = ((8, 8), (64, 64))
"""Rows and width; the table names them too."""


def onnx_session(op: str, shape: tuple[int, ...]) -> Any:
    """An onnxruntime session of one node on one thread, with inputs a and b and output c."""
    values = {
        name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name in "abc"
    }
    node = onnx.helper.make_node(op, ["a", "b"], ["c"])
    graph = onnx.helper.make_graph([node], op, [values["a"], values["b"]], [values["c"]])
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=10
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def operands(shape: tuple[int, ...]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The same two arrays each time."""
    random = np.random.default_rng(0)
    return random.standard_normal(shape, np.float32), random.standard_normal(shape, np.float32)


def measure_calls(device: str, op: str, shape: tuple[int, ...]) -> None:
    """wia.Context.<op>, numpy.<op> and a run of onnxruntime, on the same values."""
    x, y = operands(shape)
    context = wia.Context(device)
    a, b, c, z = context.tensor(x), context.tensor(y), context.empty(shape), np.empty_like(x)
    session = onnx_session({"add": "Add", "matmul": "MatMul"}[op], shape)
    texts = {
        "wia": f"ctx.{op}(a, b, out=c)",
        "wia new": f"ctx.{op}(a, b)",
        "numpy": f"numpy.{op}(x, y, out=z)",
        "numpy new": f"numpy.{op}(x, y)",
        "onnxruntime": "session.run(None, feed)",
    }
    names = {"ctx": context, "a": a, "b": b, "c": c, "numpy": np, "x": x, "y": y, "z": z}
    turns = statement_turns(texts, {**names, "session": session, "feed": {"a": x, "b": y}})
    if not np.allclose(c.numpy(), z, rtol=1e-5, atol=1e-5):
        raise RuntimeError(f"wia and numpy disagree on {op}")
    measure(op, context.plan(op, [a, b], [c]).name, turns)


def measure_layer(device: str, rows: int, width: int) -> None:
    """relu(a w + b): the plan of the group, and three calls with memory of their own between."""
    random = np.random.default_rng(0)
    ctx = wia.Context(device)
    shapes = {"a": (rows, width), "w": (width, width), "b": (width,)}
    given = {
        name: ctx.tensor(random.standard_normal(shape).astype("f"))
        for name, shape in shapes.items()
    }
    group = ctx.group()
    a, w, b = (group.input(tensor) for tensor in given.values())
    y = group.apply("relu", [a @ w + b])
    plan = group.plan(y)
    between = {name: ctx.empty(y.shape) for name in ("c", "d", "e", "out")}
    texts = {
        "group": "plan(a, w, b, out)",
        "calls": "ctx.matmul(a, w, out=c); ctx.add(c, b, out=d); ctx.relu(d, out=e)",
    }
    turns = statement_turns(texts, {**given, **between, "ctx": ctx, "plan": plan})
    if between["out"].numpy().tobytes() != between["e"].numpy().tobytes():
        raise RuntimeError("the group and the calls disagree")
    measure(f"layer {rows}x{width}", f"{plan.name}, {plan.kernel_count} in all", turns)
    plan.close()


def measure_allocation(device: str) -> None:
    """Of memory that nobody touches, freed at once."""
    texts = {"wia": "ctx.empty(size)", "numpy": "numpy.empty(size, float32)"}
    names = {"ctx": wia.Context(device), "numpy": np, "float32": np.float32, "size": 1 << 18}
    measure("allocate", "", statement_turns(texts, names))


def in_threads(count: int, call: Callable[[int], object]) -> Turn:
    """A turn in which each thread makes its calls: nanoseconds that pass per call of any."""

    def turn() -> float:
        start, end = threading.Barrier(count + 1), threading.Barrier(count + 1)

        def run(number: int) -> None:
            start.wait()
            for _ in range(CALLS_OF_A_THREAD):
                call(number)
            end.wait()

        threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        start.wait()
        began = time.perf_counter_ns()
        end.wait()
        passed = time.perf_counter_ns() - began
        for thread in threads:
            thread.join()
        return passed / (count * CALLS_OF_A_THREAD)

    return turn


def measure_threads(device: str) -> None:
    """Additions from many threads, each on operands of its own."""
    x, y = operands((8,))
    contexts = [wia.Context(device) for _ in range(max(THREADS))]
    tensors = [(ctx.tensor(x), ctx.tensor(y), ctx.empty((8,))) for ctx in contexts]
    arrays = [(x.copy(), y.copy(), np.empty_like(x)) for _ in contexts]
    session = onnx_session("Add", (8,))
    feed = {"a": x, "b": y}

    def own(number: int) -> object:
        a, b, c = tensors[number]
        return contexts[number].add(a, b, out=c)

    def shared(number: int) -> object:
        a, b, c = tensors[number]
        return contexts[0].add(a, b, out=c)

    def numpy_add(number: int) -> object:
        a, b, c = arrays[number]
        return np.add(a, b, out=c)

    def run_session(number: int) -> object:
        return session.run(None, feed)

    calls = {"own": own, "shared": shared, "numpy": numpy_add, "onnxruntime": run_session}
    kernel = contexts[0].plan("add", tensors[0][:2], tensors[0][2:]).name
    for count in THREADS:
        turns = {name: in_threads(count, call) for name, call in calls.items()}
        measure(f"threads {count}", kernel, turns)


def main() -> None:
    """Measures on the device that is named."""
    device = sys.argv[1]
    measure_calls(device, "add", (8,))
    measure_calls(device, "matmul", (8, 8))
    for rows, width in LAYERS:
        measure_layer(device, rows, width)
    measure_allocation(device)
    measure_threads(device)


if __name__ == "__main__":
    main()
