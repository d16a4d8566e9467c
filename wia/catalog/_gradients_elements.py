"""Gradients of functions of each element."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

PROGRAMS: dict[str, str] = {
    # -- pairs -------------------------------------------------------------------------------------
    "add": """
        d_a = sum_to(grad, shape=shape(a))
        d_b = sum_to(grad, shape=shape(b))
    """,
    "sub": """
        d_a = sum_to(grad, shape=shape(a))
        d_b = sum_to(neg(grad), shape=shape(b))
    """,
    "mul": """
        d_a = sum_to(mul(grad, b), shape=shape(a))
        d_b = sum_to(mul(grad, a), shape=shape(b))
    """,
    "div": """
        share = div(grad, b)
        d_a = sum_to(share, shape=shape(a))
        d_b = sum_to(neg(mul(share, output)), shape=shape(b))
    """,
    "minimum": """
        taken = mul(grad, cast(less_equal(a, b), dtype=dtype(grad)))
        d_a = sum_to(taken, shape=shape(a))
        d_b = sum_to(sub(grad, taken), shape=shape(b))
    """,
    "maximum": """
        taken = mul(grad, cast(greater_equal(a, b), dtype=dtype(grad)))
        d_a = sum_to(taken, shape=shape(a))
        d_b = sum_to(sub(grad, taken), shape=shape(b))
    """,
    "where": """
        taken = mul(grad, cast(condition, dtype=dtype(grad)))
        d_a = sum_to(taken, shape=shape(a))
        d_b = sum_to(sub(grad, taken), shape=shape(b))
    """,
    # -- functions ---------------------------------------------------------------------------------
    "neg": "d_input = neg(grad)",
    "exp": "d_input = mul(grad, output)",
    "log": "d_input = div(grad, input)",
    "sqrt": "d_input = div(grad, add(output, output))",
    "tanh": "d_input = sub(grad, mul(mul(grad, output), output))",
    "sigmoid": """
        slope = mul(grad, output)
        d_input = sub(slope, mul(slope, output))
    """,
    "silu": """
        gate = sigmoid(input)
        d_input = mul(grad, add(gate, sub(output, mul(output, gate))))
    """,
    "relu": "d_input = relu_gradient(grad, output)",
    "gelu": "d_input = gelu_gradient(grad, input, approximate=approximate)",
    "clip": """
        inside = cast(equal(input, output), dtype=dtype(grad))
        d_input = mul(grad, inside)
    """,
    "softmax": """
        weighted = mul(grad, output)
        total = reduce_sum(weighted, axes=axis, keepdims=1)
        d_input = sub(weighted, mul(output, total))
    """,
}
