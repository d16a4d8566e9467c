"""Gradients of functions of each element, of several operands."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

PROGRAMS: dict[str, str] = {
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
    "pow": """
        slope = grad * b * pow(a, b - 1)
        d_a = sum_to(where(b == 0, 0, slope), shape=shape(a))
        d_b = sum_to(where(output == 0, 0, grad * output * log(a)), shape=shape(b))
    """,
    "mod": """
        quotient = trunc(a / b) if fmod
        quotient = floor(a / b)
        d_a = sum_to(grad, shape=shape(a))
        d_b = sum_to(-(grad * quotient), shape=shape(b))
    """,
    "remainder": """
        d_a = sum_to(grad, shape=shape(a))
        d_b = sum_to(-(grad * round((a - output) / b)), shape=shape(b))
    """,
    "hypot": """
        share = where(output == 0, 0, grad / output)
        d_a = sum_to(share * a, shape=shape(a))
        d_b = sum_to(share * b, shape=shape(b))
    """,
    "squared_difference": """
        slope = grad * (2 * (a - b))
        d_a = sum_to(slope, shape=shape(a))
        d_b = sum_to(-slope, shape=shape(b))
    """,
    "fmin": """
        taken = where(logical_or(a <= b, b != b), grad, 0)
        d_a = sum_to(taken, shape=shape(a))
        d_b = sum_to(grad - taken, shape=shape(b))
    """,
    "fmax": """
        taken = where(logical_or(a >= b, b != b), grad, 0)
        d_a = sum_to(taken, shape=shape(a))
        d_b = sum_to(grad - taken, shape=shape(b))
    """,
    "copysign": "d_a = sum_to(where(signbit(a) == signbit(b), grad, -grad), shape=shape(a))",
    "heaviside": "d_b = sum_to(where(a == 0, grad, 0), shape=shape(b))",
    "ldexp": "d_input = sum_to(ldexp(grad, exponent), shape=shape(input))",
    "atan2": """
        share = grad / (a * a + b * b)
        d_a = sum_to(share * b, shape=shape(a))
        d_b = sum_to(-(share * a), shape=shape(b))
    """,
    "logaddexp": """
        taken = grad * sigmoid(a - b)
        d_a = sum_to(taken, shape=shape(a))
        d_b = sum_to(grad - taken, shape=shape(b))
    """,
    "logaddexp2": """
        taken = grad * sigmoid((a - b) * 0.6931471805599453)
        d_a = sum_to(taken, shape=shape(a))
        d_b = sum_to(grad - taken, shape=shape(b))
    """,
    "xlogy": """
        d_a = sum_to(where(a == 0, 0, grad * log(b)), shape=shape(a))
        d_b = sum_to(grad * a / b, shape=shape(b))
    """,
    "xlog1py": """
        d_a = sum_to(where(a == 0, 0, grad * log1p(b)), shape=shape(a))
        d_b = sum_to(grad * a / (b + 1), shape=shape(b))
    """,
    "prelu": """
        below = input < 0
        d_input = sum_to(where(below, grad * slope, grad), shape=shape(input))
        d_slope = sum_to(where(below, grad * input, 0), shape=shape(slope))
    """,
    "add_scaled": """
        d_a = sum_to(grad, shape=shape(a))
        d_b = sum_to(grad, shape=shape(b), factor=alpha)
    """,
    "lerp": """
        taken = grad * weight
        d_a = sum_to(grad - taken, shape=shape(a))
        d_b = sum_to(taken, shape=shape(b))
        d_weight = sum_to(grad * (b - a), shape=shape(weight))
    """,
    "addcmul": """
        d_input = sum_to(grad, shape=shape(input))
        d_a = sum_to(grad * b, shape=shape(a), factor=value)
        d_b = sum_to(grad * a, shape=shape(b), factor=value)
    """,
    "addcdiv": """
        share = grad / b
        d_input = sum_to(grad, shape=shape(input))
        d_a = sum_to(share, shape=shape(a), factor=value)
        d_b = sum_to(share * (a / b), shape=shape(b), factor=-value)
    """,
    "fma": """
        d_a = sum_to(grad * b, shape=shape(a))
        d_b = sum_to(grad * a, shape=shape(b))
        d_c = sum_to(grad, shape=shape(c))
    """,
    "clamp": """
        raised = maximum(input, min) if given(min)
        raised = input
        capped = raised > max if given(max)
        kept = where(capped, 0, grad) if given(max)
        kept = grad
        d_input = sum_to(where(input < min, 0, kept), shape=shape(input)) if given(min)
        d_input = sum_to(kept, shape=shape(input))
        d_min = sum_to(where(input < min, kept, 0), shape=shape(min))
        d_max = sum_to(where(capped, grad, 0), shape=shape(max))
    """,
    "where": """
        taken = mul(grad, cast(condition, dtype=dtype(grad)))
        d_a = sum_to(taken, shape=shape(a))
        d_b = sum_to(sub(grad, taken), shape=shape(b))
    """,
}
