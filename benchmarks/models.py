"""models DEVICE: a convolution and a model beside onnxruntime. Prints samples, see samples.py."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from samples import Turn, measure

import wia
import wia.onnx

sys.path.append(str(Path(__file__).resolve().parents[1] / "examples" / "models"))

import nsfw

IMAGE, WEIGHT = (1, 64, 56, 56), (64, 64, 3, 3)


def peer_session(model: str | bytes) -> Any:
    """A session of onnxruntime on all processors."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = os.cpu_count() or 1, 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def conv_model(weight: np.ndarray[Any, Any]) -> bytes:
    """A model of one convolution of x, whose weight it has."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4)
    x = helper.make_tensor_value_info("x", kind, IMAGE)
    y = helper.make_tensor_value_info("y", kind, IMAGE)
    weights = [onnx.numpy_helper.from_array(weight, "w")]
    graph = helper.make_graph([node], "conv", [x], [y], weights)
    opsets = [helper.make_opsetid("", 20)]
    text: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
    return text


def once(call: Callable[[], object]) -> Turn:
    """A turn of one call."""

    def turn() -> float:
        began = time.perf_counter_ns()
        call()
        return time.perf_counter_ns() - began

    return turn


def compare(
    group: str, kernel: str, ours: Callable[[], Any], theirs: Callable[[], Any], tolerance: float
) -> None:
    """Measures both after a look at what they give."""
    if not np.allclose(ours(), theirs(), rtol=tolerance, atol=tolerance):
        raise RuntimeError(f"wia and onnxruntime disagree on {group}")
    measure(group, kernel, {"wia": once(ours), "onnxruntime": once(theirs)})


def measure_conv2d(device: str) -> None:
    """A layer as image networks have them; operands of wia are on the device."""
    random = np.random.default_rng(0)
    x, weight = (
        random.standard_normal(IMAGE, np.float32),
        random.standard_normal(WEIGHT, np.float32),
    )
    ctx = wia.Context(device)
    a, w, out = ctx.tensor(x), ctx.tensor(weight), ctx.empty(IMAGE)
    session, feed = peer_session(conv_model(weight)), {"x": x}
    name = ctx.plan("conv2d", [a, w, None], [out], padding=(1, 1, 1, 1)).name

    def convolve() -> wia.Tensor:
        return ctx.conv2d(a, w, out=out, padding=1)

    compare("conv2d", name, convolve, lambda: session.run(None, feed)[0], 1e-3)


def measure_model(device: str) -> None:
    """Arrays in and arrays out on both sides."""
    path = str(nsfw.MODEL.path)
    session, peer = wia.onnx.load(path, device), peer_session(path)
    x = np.random.default_rng(0).standard_normal((1, 224, 224, 3), np.float32)
    feed = {session.inputs[0].name: x}
    output = session.outputs[0].name
    compare(
        "model",
        "",
        lambda: session.run(feed)[output],
        lambda: peer.run([output], feed)[0],
        nsfw.MODEL.tolerance,
    )


def main() -> None:
    """Measures on the device that is named."""
    measure_conv2d(sys.argv[1])
    measure_model(sys.argv[1])


if __name__ == "__main__":
    main()
