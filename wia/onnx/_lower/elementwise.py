"""Operators on each element alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wia._tensor import Tensor
from wia.onnx._errors import UnsupportedError
from wia.onnx._lower.texts import cast_texts, where_texts
from wia.onnx._values import is_text

if TYPE_CHECKING:
    from wia.onnx._call import Call, Lowering, Result

_SMALL = {"int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3)}

__all__ = [
    "absolute",
    "binary",
    "bit_shift",
    "cast",
    "cast_like",
    "clip",
    "convert",
    "gelu",
    "is_infinite",
    "many",
    "mean",
    "modulo",
    "power",
    "prelu",
    "selu",
    "swish",
    "unary",
    "where",
    "with_factors",
]


def unary(name: str, **attributes: Any) -> Lowering:
    """One input, one output, no attribute of ONNX's."""
    return lambda call: call.op(name, call.tensor(0), **attributes)


def binary(name: str) -> Lowering:
    """Two inputs that broadcast; before opset 7 the second one did so from an axis on."""

    def lower(call: Call) -> Result:
        a, b = call.tensor(0), call.tensor(1)
        return call.op(name, a, _align(call, a, b))

    return lower


def _align(call: Call, a: Tensor, b: Tensor) -> Tensor:
    axis = call.attribute("axis")
    if axis is None or call.version >= 7 or not call.attribute("broadcast"):
        return b
    after = a.ndim - axis % max(a.ndim, 1) - b.ndim
    return call.reshape(b, *b.shape, *[1] * after)


def many(name: str) -> Lowering:
    """Any number of inputs that broadcast, joined two by two."""

    def lower(call: Call) -> Result:
        first, *rest = call.tensors()
        for other in rest:
            first = call.op(name, first, other)
        return first

    return lower


def mean(call: Call) -> Result:
    """Mean: the sum of all inputs, divided by their number."""
    total = many("add")(call)
    assert isinstance(total, Tensor)
    return call.op("div", total, call.literal(len(call.inputs), total.dtype))


def with_factors(name: str, **defaults: float) -> Lowering:
    """One input, and attributes of ONNX that are scalars of the operation by the same names."""

    def lower(call: Call) -> Result:
        values = {factor: call.attribute(factor, value) for factor, value in defaults.items()}
        return call.op(name, call.tensor(0), **values)

    return lower


def selu(call: Call) -> Result:
    """Selu; before opset 6 the factors were written with fewer digits."""
    alpha, gamma = (
        (1.6732, 1.0507) if call.version < 6 else (1.6732631921768188, 1.0507010221481323)
    )
    factors = {"alpha": call.attribute("alpha", alpha), "gamma": call.attribute("gamma", gamma)}
    return call.op("selu", call.tensor(0), **factors)


def absolute(call: Call) -> Result:
    """Abs; unsigned numbers are as they should be."""
    x = call.tensor(0)
    return x if x.dtype.kind in "ub" else call.op("abs", x)


def power(call: Call) -> Result:
    """Pow: the result has the dtype of the base."""
    import numpy as np

    base = call.tensor(0)
    exponent = _align(call, base, call.tensor(1))
    if base.dtype.kind in "iu" and exponent.dtype.kind not in "iu":
        wide = np.dtype(np.float64)
        return call.cast(
            call.op("pow", call.cast(base, wide), call.cast(exponent, wide)), base.dtype
        )
    return call.op("pow", base, call.cast(exponent, base.dtype))


def modulo(call: Call) -> Result:
    """Mod."""
    return call.op("mod", *call.tensors(), fmod=call.attribute("fmod", 0))


def bit_shift(call: Call) -> Result:
    """BitShift."""
    name = call.choice("direction", {"LEFT": "shift_left", "RIGHT": "shift_right"})
    return call.op(name, *call.tensors())


def is_infinite(call: Call) -> Result:
    """IsInf."""
    signs = {n: call.attribute(n, 1) for n in ("detect_negative", "detect_positive")}
    return call.op("is_inf", call.tensor(0), **signs)


def prelu(call: Call) -> Result:
    """PRelu; before opset 7 a slope of one dimension was that of channels."""
    x, slope = call.tensor(0), call.tensor(1)
    if call.version < 7 and slope.ndim == 1 and x.ndim > 2:
        slope = call.reshape(slope, slope.size, *[1] * (x.ndim - 2))
    return call.op("prelu", x, slope)


def swish(call: Call) -> Result:
    """Swish."""
    alpha = call.attribute("alpha", 1.0)
    if alpha == 1.0:
        return call.op("silu", call.tensor(0))
    return call.op("quick_gelu", call.tensor(0), alpha=alpha)


def where(call: Call) -> Result:
    """Where."""
    if is_text(call.value(1)):
        return where_texts(call)
    return call.op("where", *call.tensors())


def cast(call: Call) -> Result:
    """Cast, also from and to strings."""
    from onnx import TensorProto

    to = call.required("to")
    if to == TensorProto.STRING or is_text(call.value(0)):
        return cast_texts(call, to)
    if isinstance(to, str):  # before opset 6
        to = call.attributes["to"] = dict(TensorProto.DataType.items()).get(to, 0)
    return convert(call, call.tensor(0), call.dtype("to"))


def cast_like(call: Call) -> Result:
    """CastLike."""
    if is_text(call.value(0)) or is_text(call.value(1)):
        from onnx import TensorProto, helper

        like = call.value(1)
        assert like is not None
        return cast_texts(
            call,
            TensorProto.STRING
            if is_text(like)
            else helper.np_dtype_to_tensor_dtype(call.tensor(1).dtype),
        )
    return convert(call, call.tensor(0), call.tensor(1).dtype)


def convert(call: Call, x: Tensor, dtype: Any) -> Tensor:
    """A cast by the rules of ONNX where it has some of its own."""
    import numpy as np

    if x.dtype == dtype or x.dtype.kind in "biuc":
        return call.cast(x, dtype)
    if dtype.name == "float8_e8m0fnu":
        return _to_powers(call, x, dtype)
    if dtype.name in _SMALL and dtype.name != x.dtype.name:
        return _to_small(call, x, dtype)
    if dtype.name.startswith("float8") and call.attribute("saturate", 1):
        import ml_dtypes

        wide = x if x.dtype in (np.float32, np.float64) else call.cast(x, np.dtype(np.float32))
        largest = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
        return call.cast(call.op("clip", wide, min=-largest, max=largest), dtype)
    return call.cast(x, dtype)


def _to_powers(call: Call, x: Tensor, dtype: Any) -> Tensor:
    """To powers of two, rounded as round_mode says; zero becomes the least of them."""
    import numpy as np

    mode = call.attribute("round_mode", "up")
    if not call.attribute("saturate", 1) or mode not in ("up", "down", "nearest"):
        raise UnsupportedError(f"casts to {dtype} saturate, and round up, down or to nearest")
    single = call.cast(x, np.dtype(np.float32))
    zero, least = call.literal(0.0, np.float32), call.literal(2.0**-127, np.float32)
    single = call.op("where", call.op("equal", single, zero), least, single)
    single = call.op("clip", single, max=2.0**127)
    power = call.cast(call.cast(single, dtype), np.dtype(np.float32))
    if mode != "nearest":
        name, factor = ("less", 2.0) if mode == "up" else ("greater", 0.5)
        next_one = call.op("mul", power, call.literal(factor, np.float32))
        power = call.op("where", call.op(name, power, single), next_one, power)
    return call.cast(power, dtype)


def _to_small(call: Call, x: Tensor, dtype: Any) -> Tensor:
    """To integers of less than 8 bits: ONNX leaves open what is out of range; here it is 0."""
    import numpy as np

    low, high = _SMALL[dtype.name]
    wide = x if x.dtype in (np.float32, np.float64) else call.cast(x, np.dtype(np.float32))
    zero, below, above = (call.literal(v, wide.dtype) for v in (0, low - 1, high + 1))
    inside = call.op("where", call.op("less", wide, above), wide, zero)
    return call.cast(call.op("where", call.op("greater", inside, below), inside, zero), dtype)


def clip(call: Call) -> Result:
    """Clip: the bounds are attributes, or since opset 11 inputs."""
    x = call.tensor(0)
    bounds = [call.attribute("min"), call.attribute("max")]
    for i in range(2):
        if call.get(i + 1) is not None:
            bounds[i] = call.item(i + 1)
    if x.dtype.kind in "iu" and any(b is not None and abs(b) > 2**53 for b in bounds):
        for name, i in (("maximum", 0), ("minimum", 1)):
            x = x if bounds[i] is None else call.op(name, x, call.tensor(i + 1))
        return x
    low, high = (-math.inf if bounds[0] is None else bounds[0]), bounds[1]
    return call.op("clip", x, min=float(low), max=float(math.inf if high is None else high))


def gelu(call: Call) -> Result:
    """Gelu."""
    tanh = call.attribute("approximate", "none") == "tanh"
    return call.op("gelu", call.tensor(0), approximate="tanh" if tanh else "none")
