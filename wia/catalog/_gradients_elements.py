"""Gradients of functions of each element, of one operand."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

PROGRAMS: dict[str, str] = {
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
    "abs": "d_input = grad * sign(input)",
    "reciprocal": "d_input = -(grad * output * output)",
    "square": "d_input = grad * (2 * input)",
    "rsqrt": "d_input = (grad * -0.5) * (output / input)",
    "cbrt": "d_input = grad / (3 * (output * output))",
    "frac": "d_input = copy(grad)",
    "nan_to_num": "d_input = where(is_finite(input), grad, 0)",
    "exp2": "d_input = grad * output * 0.6931471805599453",
    "expm1": "d_input = grad * output + grad",
    "log2": "d_input = grad / (input * 0.6931471805599453)",
    "log10": "d_input = grad / (input * 2.302585092994046)",
    "log1p": "d_input = grad / (input + 1)",
    "scale": "d_input = scale(grad, factor=factor)",
    "sin": "d_input = grad * cos(input)",
    "cos": "d_input = -(grad * sin(input))",
    "tan": "d_input = grad * (output * output) + grad",
    "asin": "d_input = grad * rsqrt(1 - input * input)",
    "acos": "d_input = -(grad * rsqrt(1 - input * input))",
    "atan": "d_input = grad / (input * input + 1)",
    "sinh": "d_input = grad * cosh(input)",
    "cosh": "d_input = grad * sinh(input)",
    "asinh": "d_input = grad * rsqrt(input * input + 1)",
    "acosh": "d_input = grad * rsqrt(input - 1) * rsqrt(input + 1)",
    "atanh": "d_input = grad / (1 - input * input)",
    "sinc": """
        slope = (cos(input * 3.141592653589793) - output) / input
        d_input = grad * where(input == 0, 0, slope)
    """,
    "logit": """
        inside = logical_and(input >= epsilon, input <= 1 - epsilon)
        slope = grad / (input * (1 - input))
        d_input = where(inside, slope, 0) if epsilon > 0
        d_input = slope
    """,
    # -- special ---------------------------------------------------------------------------------
    "erf": "d_input = grad * exp(-(input * input)) * 1.1283791670955126",
    "erfc": "d_input = grad * exp(-(input * input)) * -1.1283791670955126",
    "erfinv": "d_input = grad * exp(output * output) * 0.886226925452758",
    "ndtr": "d_input = grad * exp(input * input * -0.5) * 0.3989422804014327",
    "ndtri": "d_input = grad * exp(output * output * 0.5) * 2.5066282746310002",
    "gamma": "d_input = grad * output * digamma(input)",
    "lgamma": "d_input = grad * digamma(input)",
    "digamma": "d_input = grad * polygamma(input, order=1)",
    "polygamma": "d_input = grad * polygamma(input, order=order + 1) if order < 8",
    "i0": "d_input = grad * i1(input)",
    "i1": "d_input = grad * where(input == 0, 0.5, i0(input) - output / input)",
    "j0": "d_input = -(grad * j1(input))",
    "j1": "d_input = grad * where(input == 0, 0.5, j0(input) - output / input)",
    # -- activations -----------------------------------------------------------------------------
    "softplus": "d_input = grad * sigmoid(input * beta)",
    "log_sigmoid": "d_input = grad * sigmoid(-input)",
    "leaky_relu": "d_input = where(input < 0, grad * alpha, grad)",
    "elu": "d_input = where(input <= 0, grad * (output + alpha), grad)",
    "selu": "d_input = where(input <= 0, grad * (output + alpha * gamma), grad * gamma)",
    "celu": "d_input = where(input <= 0, grad * exp(input / alpha), grad)",
    "hard_sigmoid": """
        line = input * alpha + beta
        d_input = where(logical_and(line >= 0, line <= 1), grad * alpha, 0)
    """,
    "hard_swish": """
        middle = grad * (input / 3 + 0.5)
        d_input = where(input < -3, 0, where(input > 3, grad, middle))
    """,
    "softsign": "d_input = grad / square(abs(input) + 1)",
    "mish": """
        bend = tanh(softplus(input))
        d_input = grad * (bend + input * sigmoid(input) * (1 - bend * bend))
    """,
    "thresholded_relu": "d_input = where(input > alpha, grad, 0)",
    "shrink": "d_input = where(abs(input) > lambd, grad, 0)",
    "quick_gelu": """
        gate = sigmoid(input * alpha)
        d_input = grad * (gate + output * (1 - gate) * alpha)
    """,
    "relu_gradient": "d_grad = sum_to(relu_gradient(grad_result, output), shape=shape(grad))",
    "gelu_gradient": """
        slope = gelu_gradient(grad_result, input, approximate=approximate)
        d_grad = sum_to(slope, shape=shape(grad))
        bell = exp(input * input * -0.5) * 0.3989422804014327
        sharp = bell * (2 - input * input)
        inner = tanh((input + input * input * input * 0.044715) * 0.7978845608028654)
        rise = (input * input * 0.134145 + 1) * 0.7978845608028654
        turn = input * 0.21406444881780073 - inner * rise * rise * 2
        near = (1 - inner * inner) * (rise + input * turn * 0.5)
        bend = near if approximate
        bend = sharp
        d_input = sum_to(grad_result * grad * bend, shape=shape(input))
    """,
}
