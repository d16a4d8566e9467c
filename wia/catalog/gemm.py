"""The matrix product of linear algebra, and products of 8-bit integers with zero points."""

from __future__ import annotations

from typing import Any

from ._cost import elements
from ._model import (
    FLOATS,
    Attribute,
    Operand,
    Operation,
    Sample,
    Scalar,
    Shape,
    Standard,
    Tolerance,
    Values,
)
from ._numeric import narrow, scale, widen
from ._products import finished_product, product
from ._quantized import requantize, shift, wrap

_BYTES = ("int8", "uint8")
_SCALES = ("float32", "float16", "bfloat16")


def gemm(
    np: Any,
    a: Any,
    b: Any,
    c: Any = None,
    *,
    transpose_a: int,
    transpose_b: int,
    alpha: float,
    beta: float,
) -> Any:
    """alpha * a b + beta * c."""
    left, right = widen(np, a), widen(np, b)
    left, right = left.T if transpose_a else left, right.T if transpose_b else right

    def finish(total: Any) -> Any:
        total = scale(np, alpha, total, "alpha")
        if c is not None and beta != 0:
            total = total + scale(np, beta, widen(np, c), "beta")
        return narrow(np, total, a.dtype)

    return finished_product(np, left, right, a.dtype, finish)


def _absolute_gemm(np: Any, a: Any, b: Any, c: Any = None, **values: Any) -> Any:
    values["alpha"], values["beta"] = abs(values["alpha"]), abs(values["beta"])
    return gemm(np, abs(a), abs(b), None if c is None else abs(c), **values)


def _integer_product(np: Any, a: Any, a_zero: Any, b: Any, b_zero: Any) -> Any:
    """int32 sums of products without zero points, by numpy's rules of rank."""
    left = shift(np, a, a_zero, -2 if a.ndim > 1 else None)
    right = shift(np, b, b_zero, -1 if b.ndim > 1 else None)
    total = product(
        np,
        left.reshape(1, -1) if a.ndim == 1 else left,
        right.reshape(-1, 1) if b.ndim == 1 else right,
    )
    shape = (
        *total.shape[:-2],
        *(total.shape[-2:-1] if a.ndim > 1 else ()),
        *(total.shape[-1:] if b.ndim > 1 else ()),
    )
    return wrap(np, total.reshape(shape))


def matmul_integer(np: Any, a: Any, b: Any, a_zero: Any = None, b_zero: Any = None) -> Any:
    """Sums of products of the elements without their zero points."""
    return _integer_product(np, a, a_zero, b, b_zero)


def qlinear_matmul(
    np: Any,
    a: Any,
    a_scale: Any,
    a_zero: Any,
    b: Any,
    b_scale: Any,
    b_zero: Any,
    scale: Any,
    zero: Any,
) -> Any:
    """The integer product, brought back to 8 bits."""
    total = _integer_product(np, a, a_zero, b, b_zero)
    a_scale, b_scale, scale = (item.astype(np.float32) for item in (a_scale, b_scale, scale))
    if a_scale.ndim == 1 and b.ndim > 1:
        a_scale = a_scale[:, None]
    return requantize(np, total, a_scale * b_scale / scale, zero)


def _flag(name: str, what: str) -> Attribute:
    return Attribute(
        name=name,
        summary=f"1: {what} is transposed.",
        default=0,
        kind="bool",
        maximum=1,
        field="uint32_t",
    )


def _k(shapes: tuple[Shape | None, ...], values: Values) -> int:
    return (shapes[0] or (0, 0))[0 if values["transpose_a"] else 1]


def _flops(shapes: tuple[Shape | None, ...], out: Shape, values: Values) -> float:
    return 2.0 * elements(out) * (shapes[0] or (0,))[-1]


GEMM = Operation(
    number=160,
    name="gemm",
    summary="Matrix product of two matrices, scaled, plus a scaled tensor that broadcasts.",
    formula="output = alpha * a b + beta * c",
    inputs=(
        Operand(name="a", summary="[m, k], or [k, m] with transpose_a."),
        Operand(name="b", summary="[k, n], or [n, k] with transpose_b."),
        Operand(name="c", summary="Broadcasts to [m, n]; 0 when left out.", optional=True),
    ),
    outputs=(Operand(name="output", summary="[m, n]."),),
    family="gemm",
    dtypes=(*FLOATS, "int64", "int32", "uint64", "uint32"),
    semantics=gemm,
    notes=(
        "With beta 0, c is not read. Integers wrap; alpha and beta must be whole numbers then. An "
        "empty k gives beta * c.",
    ),
    standard=Standard(name="Gemm", opset=13),
    attributes=(_flag("transpose_a", "a"), _flag("transpose_b", "b")),
    scalars=(
        Scalar(name="alpha", summary="Factor of the product.", default=1.0),
        Scalar(name="beta", summary="Factor of c.", default=1.0),
    ),
    config="wia_gemm_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: _k(shapes, values) + 4,
        magnitude=_absolute_gemm,
        reason="Any order of summation: k + 4 roundings in the accumulator, relative to the sum of "
        "absolute products, and one of the result.",
    ),
    flops=lambda shapes, out, values: 2.0 * elements(out) * (_k(shapes, values) + 1),
    samples=(
        Sample(shapes=((2, 3), (3, 4), (2, 4))),
        Sample(shapes=((7, 9), (31, 9), (31,)), values={"transpose_b": 1, "alpha": 2.0}),
        Sample(shapes=((33, 5), (33, 2), (5, 1)), values={"transpose_a": 1, "beta": 3.0}),
        Sample(shapes=((9, 4), (7, 9), ()), values={"transpose_a": 1, "transpose_b": 1}),
        Sample(shapes=((8, 8), (8, 8), None)),
        Sample(shapes=((3, 0), (0, 2), (2,))),
        Sample(shapes=((0, 3), (3, 2), None)),
    ),
    source="ONNX node tests gemm_*",
)

MATMUL_INTEGER = Operation(
    number=162,
    name="matmul_integer",
    summary="Matrix product of 8-bit integers with zero points.",
    formula="output = (a - a_zero) (b - b_zero)",
    inputs=(
        Operand(name="a", summary="[..., m, k], or [k] for a row."),
        Operand(name="b", summary="[..., k, n], or [k] for a column.", dtypes=_BYTES),
        Operand(
            name="a_zero", summary="One element of a's dtype, or [m]; 0 if left out.", optional=True
        ),
        Operand(
            name="b_zero",
            summary="One element of b's dtype, or [n]; 0 if left out.",
            optional=True,
            dtypes=_BYTES,
        ),
    ),
    outputs=(
        Operand(
            name="output",
            summary="int32 [..., m, n] without the dimensions that a 1-D operand lacks.",
        ),
    ),
    family="matmul_integer",
    dtypes=_BYTES,
    semantics=matmul_integer,
    notes=("Ranks as numpy.matmul. Sums wrap.",),
    standard=Standard(name="MatMulInteger", opset=10),
    tolerance=Tolerance(),
    flops=_flops,
    samples=(
        Sample(shapes=((2, 3), (3, 4), (), (4,))),
        Sample(shapes=((2, 1, 5, 33), (3, 33, 2), (5,), None), fills=("wide", "wide")),
        Sample(shapes=((9,), (9,), None, ())),
        Sample(shapes=((3, 0), (0, 2), None, None)),
    ),
    source="ONNX node test matmulinteger; rows and columns of zero points by hand",
)

QLINEAR_MATMUL = Operation(
    number=163,
    name="qlinear_matmul",
    summary="Matrix product of quantized tensors that gives a quantized one.",
    formula="output = clamp(rint((a - a_zero) (b - b_zero) * (a_scale * b_scale / output_scale)) + "
    "output_zero)",
    inputs=(
        Operand(name="a", summary="[..., m, k], or [k] for a row."),
        Operand(name="a_scale", summary="One element, or [m].", dtypes=_SCALES),
        Operand(name="a_zero", summary="One element of a's dtype, or [m]."),
        Operand(name="b", summary="[..., k, n], or [k] for a column.", dtypes=_BYTES),
        Operand(name="b_scale", summary="One element, or [n].", dtypes=_SCALES),
        Operand(name="b_zero", summary="One element of b's dtype, or [n].", dtypes=_BYTES),
        Operand(name="output_scale", summary="One element.", dtypes=_SCALES),
        Operand(name="output_zero", summary="One element; its dtype is output's.", dtypes=_BYTES),
    ),
    outputs=(Operand(name="output", summary="The dtype of output_zero; the shape as of matmul."),),
    family="qlinear_matmul",
    dtypes=_BYTES,
    semantics=qlinear_matmul,
    notes=(
        "Sums wrap at 32 bits. The factor a_scale * b_scale / output_scale and its product with "
        "the sum are computed in float32, from left to right; rint goes to the nearest, ties to "
        "even. NaN counts as 0.",
    ),
    standard=Standard(name="QLinearMatMul", opset=21),
    tolerance=Tolerance(reason="The arithmetic is fixed to the bit."),
    flops=_flops,
    samples=(
        Sample(
            shapes=((2, 3), (), (), (3, 4), (4,), (4,), (), ()),
            fills=("normal", "positive", "normal", "normal", "positive", "normal", "positive"),
        ),
        Sample(
            shapes=((2, 5, 33), (5,), (5,), (33, 2), (), (), (1,), (1,)),
            fills=("wide", "positive", "normal", "wide", "positive", "normal", "positive"),
        ),
        Sample(
            shapes=((3, 0), (), (), (0, 2), (), (), (), ()),
            fills=("normal", "positive", "normal", "normal", "positive", "normal", "positive"),
        ),
    ),
    source="ONNX node tests qlinearmatmul_*",
)

OPERATIONS = (GEMM, MATMUL_INTEGER, QLINEAR_MATMUL)
