"""Makes a small ONNX model and runs it."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", 2]) for name in "xy")
w = onnx.numpy_helper.from_array(np.array([[1, -1], [2, 3]], np.float32), "w")
product = helper.make_node("MatMul", ["x", "w"], ["p"], name="product")
rectifier = helper.make_node("Relu", ["p"], ["y"], name="rectifier")
graph = helper.make_graph([product, rectifier], "layer", [x], [y], [w])
onnx.save(helper.make_model(graph), "layer.onnx")

# [run]
import wia.onnx  # noqa: E402

with wia.onnx.load("layer.onnx", device="npu:0") as session:
    print(session.run({"x": np.array([[1, 2]], np.float32)})["y"])
    print(session.placement().device)
# [end]
