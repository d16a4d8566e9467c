"""Calls from Python beside numpy and onnxruntime, on the sample driver. Prints JSON.

It runs in a process of its own, whose environment names the sample driver's folder.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import onnxruntime
import threadpoolctl
from measure import statements

import wia


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


def measure(op: str, shape: tuple[int, ...]) -> dict[str, float]:
    """Nanoseconds of wia.Context.<op>, numpy.<op> and a run of onnxruntime, on the same values."""
    random = np.random.default_rng(0)
    x, y = (random.standard_normal(shape, np.float32) for _ in "xy")
    context = wia.Context("sample")
    reference = wia.Context("reference")
    variables: dict[str, Any] = {"numpy": np, "x": x, "y": y, "z": np.empty(shape, np.float32)}
    variables.update(ctx=context, a=context.tensor(x), b=context.tensor(y), c=context.empty(shape))
    variables.update(reference=reference, d=reference.tensor(x), e=reference.tensor(y))
    variables.update(f=reference.empty(shape), feed={"a": x, "b": y})
    variables.update(session=onnx_session({"add": "Add", "matmul": "MatMul"}[op], shape))
    times = statements(
        {
            "wia": f"ctx.{op}(a, b, out=c)",
            "numpy": f"numpy.{op}(x, y, out=z)",
            "onnxruntime": "session.run(None, feed)",
            "reference": f"reference.{op}(d, e, out=f)",
        },
        variables,
        rounds=200,
        repeats=500,
    )
    if not np.allclose(variables["c"].numpy(), variables["z"], rtol=1e-5, atol=1e-5):
        raise RuntimeError(f"wia and numpy disagree on {op}")
    return times


def blas() -> str:
    """The BLAS that numpy runs, with the kernel that it chose for this processor."""
    for library in threadpoolctl.threadpool_info():
        if library["user_api"] == "blas":
            name, version = library["internal_api"], library["version"]
            return f"{name} {version} ({library.get('architecture', 'kernel not known')})"
    return "none"


def main() -> None:
    """Prints the times, and what they were measured with."""
    versions = {"numpy": np.__version__, "onnxruntime": onnxruntime.__version__, "blas": blas()}
    times = {"add": measure("add", (8,)), "matmul": measure("matmul", (8, 8))}
    print(json.dumps({**times, "versions": versions}))


if __name__ == "__main__":
    main()
