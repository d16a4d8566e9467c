"""Matrix products."""

from __future__ import annotations

from typing import Any

from ._cost import elements
from ._forms import INT32_FOR_INT8, flag
from ._model import (
    FLOATS,
    Operand,
    Operation,
    Sample,
    Scalar,
    Shape,
    Standard,
    Tolerance,
    Values,
)
from ._numeric import narrow, product_dtype, scale, widen
from ._products import finished_product

_INT8 = ("int8", "uint8")
_PRODUCT_REASON = (
    "Any order of summation: k + 4 roundings in the accumulator, relative to the sum of absolute "
    "products, and one of the result."
)


def _matrices(np: Any, a: Any, b: Any, values: Values) -> tuple[Any, Any]:
    a, b = widen(np, a), widen(np, b)
    a = a[None, :] if a.ndim == 1 else (a.swapaxes(-1, -2) if values["transpose_a"] else a)
    b = b[:, None] if b.ndim == 1 else (b.swapaxes(-1, -2) if values["transpose_b"] else b)
    return a, b


def matmul(np: Any, a: Any, b: Any, *, c: Any = None, **values: Any) -> Any:
    """alpha * a b + beta * c, by numpy's rules of rank."""
    left, right = _matrices(np, a, b, values)
    dtype = product_dtype(np, a.dtype)

    def finish(total: Any) -> Any:
        total = total[..., 0] if b.ndim == 1 else total
        total = total[..., 0, :] if a.ndim == 1 and b.ndim > 1 else total
        total = total[..., 0] if a.ndim == 1 and b.ndim == 1 else total
        total = scale(np, values["alpha"], total, "alpha")
        if values["beta"] != 0:
            total = total + scale(np, values["beta"], widen(np, c), "beta")
        return narrow(np, total, dtype)

    return finished_product(np, left, right, dtype, finish)


def addmm(np: Any, x: Any, mat1: Any, mat2: Any, *, alpha: float, beta: float) -> Any:
    """beta * input + alpha * mat1 mat2."""

    def finish(total: Any) -> Any:
        total = scale(np, alpha, total, "alpha")
        if beta != 0:
            total = total + scale(np, beta, widen(np, x), "beta")
        return narrow(np, total, mat1.dtype)

    return finished_product(np, widen(np, mat1), widen(np, mat2), mat1.dtype, finish)


def linear(np: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """Input times weight transposed, plus bias."""
    rows = widen(np, x).reshape(elements(x.shape[:-1]), weight.shape[1])
    dtype = product_dtype(np, x.dtype)

    def finish(total: Any) -> Any:
        total = total if bias is None else total + widen(np, bias)
        return narrow(np, total.reshape(*x.shape[:-1], weight.shape[0]), dtype)

    return finished_product(np, rows, widen(np, weight).T, dtype, finish)


def _absolute_matmul(np: Any, a: Any, b: Any, *, c: Any = None, **values: Any) -> Any:
    values["alpha"], values["beta"] = abs(values["alpha"]), abs(values["beta"])
    return matmul(np, abs(a), abs(b), c=None if c is None else abs(c), **values)


def _absolute_addmm(np: Any, x: Any, mat1: Any, mat2: Any, *, alpha: float, beta: float) -> Any:
    return addmm(np, abs(x), abs(mat1), abs(mat2), alpha=abs(alpha), beta=abs(beta))


def _absolute_linear(np: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    return linear(np, abs(x), abs(weight), None if bias is None else abs(bias))


def _matmul_k(shapes: tuple[Shape | None, ...], values: Values) -> int:
    a = shapes[0] or ()
    return a[-2] if len(a) > 1 and values["transpose_a"] else a[-1]


MATMUL = Operation(
    number=1,
    name="matmul",
    summary="Matrix product of two tensors, scaled, with batch dimensions.",
    formula="c = alpha * a b + beta * c",
    inputs=(
        Operand(name="a", summary="[..., m, k], or [k] for a row."),
        Operand(name="b", summary="[..., k, n], or [k] for a column."),
    ),
    outputs=(
        Operand(
            name="c",
            summary="[..., m, n] without the dimensions that a 1-D operand lacks.",
            read_with="beta",
        ),
    ),
    family="matmul",
    dtypes=(*FLOATS, "int64", "int32", *_INT8),
    semantics=matmul,
    notes=(
        "Ranks as numpy.matmul: batch dimensions broadcast, a 1-D operand is a row or a column and "
        "can't be transposed; rank 0 is an error.",
        "int8 and uint8 give int32; other dtypes stay. Integers wrap, and alpha and beta must be "
        "whole numbers then.",
        "With beta 0, c is not read. An empty k gives zeros.",
    ),
    standard=Standard(name="MatMul", opset=13, note="int8 as MatMulInteger 10 without zero points"),
    attributes=(
        flag("transpose_a", "1: the last two dimensions of a are swapped."),
        flag("transpose_b", "1: the last two dimensions of b are swapped."),
    ),
    scalars=(
        Scalar(name="alpha", summary="Factor of the product.", default=1.0),
        Scalar(name="beta", summary="Factor of c as it was before.", default=0.0),
    ),
    config="wia_matmul_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: _matmul_k(shapes, values) + 4,
        magnitude=_absolute_matmul,
        reason=_PRODUCT_REASON,
    ),
    flops=lambda shapes, out, values: 2.0 * elements(out) * _matmul_k(shapes, values),
    samples=(
        Sample(shapes=((2, 3), (3, 4))),
        Sample(shapes=((8, 8), (8, 8)), values={"alpha": -2.0}),
        Sample(shapes=((7, 9), (31, 9)), values={"transpose_b": 1}),
        Sample(shapes=((33, 5), (33, 1)), values={"transpose_a": 1}),
        Sample(shapes=((2, 1, 4, 3), (5, 3, 2))),
        Sample(shapes=((257,), (257,))),
        Sample(shapes=((3,), (2, 3, 4))),
        Sample(shapes=((2, 4, 3), (3,))),
        Sample(shapes=((4, 3), (3, 2)), values={"alpha": 2.0, "beta": 3.0}),
        Sample(shapes=((3, 0), (0, 2))),
        Sample(shapes=((0, 3), (3, 2))),
        Sample(shapes=((16, 33), (33, 17)), fills=("wide", "wide"), dtypes=("int8", "uint8")),
    ),
    source="ONNX node tests matmul_*; values worked by hand",
)

ADDMM = Operation(
    number=3,
    name="addmm",
    summary="Matrix product plus a scaled tensor that broadcasts.",
    formula="output = beta * input + alpha * mat1 mat2",
    inputs=(
        Operand(name="input", summary="Broadcasts to [m, n]."),
        Operand(name="mat1", summary="[m, k]."),
        Operand(name="mat2", summary="[k, n]."),
    ),
    outputs=(Operand(name="output", summary="[m, n]."),),
    family="addmm",
    dtypes=(*FLOATS, "int64", "int32"),
    semantics=addmm,
    notes=(
        "With beta 0, input is not read. Integers wrap; alpha and beta must be whole numbers then.",
    ),
    standard=Standard(name="Gemm", opset=13, note="without transA and transB"),
    scalars=(
        Scalar(name="alpha", summary="Factor of the product.", default=1.0),
        Scalar(name="beta", summary="Factor of input.", default=1.0),
    ),
    config="wia_addmm_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: shapes[1][1] + 4,
        magnitude=_absolute_addmm,
        reason=_PRODUCT_REASON,
    ),
    flops=lambda shapes, out, values: 2.0 * elements(out) * ((shapes[1] or (0, 0))[1] + 1),
    samples=(
        Sample(shapes=((2, 4), (2, 3), (3, 4))),
        Sample(shapes=((9,), (7, 33), (33, 9)), values={"alpha": 0.0, "beta": -1.0}),
        Sample(shapes=((7, 1), (7, 8), (8, 9)), values={"alpha": 2.0, "beta": 3.0}),
        Sample(shapes=((), (3, 0), (0, 2))),
        Sample(shapes=((4,), (3, 5), (5, 4)), values={"beta": 0.0}, fills=("special",)),
    ),
    source="ONNX node tests gemm_*; PyTorch's operator_addmm among ONNX's models",
)

LINEAR = Operation(
    number=4,
    name="linear",
    summary="Fully connected layer: the last dimension times a weight matrix, plus a bias.",
    formula="output[..., o] = sum_i input[..., i] weight[o, i] + bias[o]",
    inputs=(
        Operand(name="input", summary="[..., in]."),
        Operand(name="weight", summary="[out, in]."),
        Operand(
            name="bias",
            summary="[out]; int32 where the output is.",
            optional=True,
            dtype_for=INT32_FOR_INT8,
        ),
    ),
    outputs=(Operand(name="output", summary="[..., out]."),),
    family="linear",
    dtypes=(*FLOATS, "int64", "int32", *_INT8),
    same_dtype=False,
    semantics=linear,
    notes=("int8 and uint8 give int32; other dtypes stay. Integers wrap.",),
    standard=Standard(name="Gemm", opset=13, note="transB=1, at rank 2"),
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: shapes[1][1] + 2,
        magnitude=_absolute_linear,
        reason=_PRODUCT_REASON,
    ),
    flops=lambda shapes, out, values: 2.0 * elements(out) * (shapes[1] or (0, 0))[1],
    samples=(
        Sample(shapes=((2, 3), (4, 3), (4,))),
        Sample(shapes=((33,), (9, 33), None)),
        Sample(shapes=((4, 4), (4, 4), (4,))),
        Sample(shapes=((2, 3, 31), (10, 31), (10,))),
        Sample(shapes=((0, 3), (4, 3), (4,))),
        Sample(shapes=((2, 0), (4, 0), (4,))),
    ),
    source="PyTorch's Linear among ONNX's models; ONNX node test gemm_transposeB",
)

OPERATIONS = (MATMUL, ADDMM, LINEAR)
