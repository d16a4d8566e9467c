"""Matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wia.onnx._call import Call, Result

__all__ = ["einsum", "gemm", "matmul", "matmul_integer", "qlinear_matmul"]


def matmul(call: Call) -> Result:
    """MatMul; unsigned integers as int64, whose low bits are the same."""
    import numpy as np

    a, b = call.tensor(0), call.tensor(1)
    dtype = a.dtype
    if dtype in (np.uint32, np.uint64):
        a, b = call.cast(a, np.dtype(np.int64)), call.cast(b, np.dtype(np.int64))
    return call.cast(call.op("matmul", a, b), dtype)


def gemm(call: Call) -> Result:
    """Gemm; a fully connected layer is an operation of its own, which more devices have."""
    a, b, c = call.tensor(0), call.tensor(1), call.get(2)
    alpha, beta = call.attribute("alpha", 1.0), call.attribute("beta", 1.0)
    turned = {f"transpose_{n.lower()}": int(bool(call.attribute(f"trans{n}"))) for n in "AB"}
    plain = b.ndim == 2 and alpha == beta == 1.0 and turned == {"transpose_a": 0, "transpose_b": 1}
    if plain and c is not None and c.shape in ((b.shape[0],), (1, b.shape[0])):
        return call.op("linear", a, b, call.reshape(c, b.shape[0]))
    return call.op("gemm", a, b, c, alpha=alpha, beta=beta, **turned)


def matmul_integer(call: Call) -> Result:
    """MatMulInteger."""
    return call.op("matmul_integer", *(call.get(i) for i in range(4)))


def qlinear_matmul(call: Call) -> Result:
    """QLinearMatMul."""
    return call.op("qlinear_matmul", *call.tensors())


def einsum(call: Call) -> Result:
    """Einsum."""
    equation = tuple(call.required("equation").replace(" ", "").encode("ascii", "replace"))
    return call.op("einsum", *call.tensors(), equation=equation)
