"""The gradients of operations: programs of other operations, by name.

:mod:`wia.catalog._programs` says how they are written.
"""

from __future__ import annotations

from ._model import FLOATS, Operation
from ._programs import Condition, Step, Value, prepare_text, read_program

__all__ = ["PROGRAMS", "Condition", "Step", "Value", "gradient_of", "why_not"]

_REDUCED = "broadcast(reshape(grad, shape=kept(input, axes)), shape=shape(input))"

PROGRAMS: dict[str, str] = {
    # -- pairs ------------------------------------------------------------------------------------
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
    # -- functions --------------------------------------------------------------------------------
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
    # -- reductions -------------------------------------------------------------------------------
    "reduce_sum": f"d_input = {_REDUCED}",
    "reduce_mean": """
        share = sum_to(grad, shape=shape(grad), factor=ratio(grad, input))
        d_input = broadcast(reshape(share, shape=kept(input, axes)), shape=shape(input))
    """,
    "reduce_max": """
        largest = cast(equal(input, reshape(output, shape=kept(input, axes))), dtype=dtype(grad))
        count = sum_to(largest, shape=kept(input, axes))
        d_input = mul(largest, div(reshape(grad, shape=kept(input, axes)), count))
    """,
    "reduce_min": """
        least = cast(equal(input, reshape(output, shape=kept(input, axes))), dtype=dtype(grad))
        count = sum_to(least, shape=kept(input, axes))
        d_input = mul(least, div(reshape(grad, shape=kept(input, axes)), count))
    """,
    "reduce_prod": """
        whole = mul(grad, output)
        d_input = div(reshape(whole, shape=kept(input, axes)), input)
    """,
    "reduce_sum_square": """
        twice = add(input, input)
        d_input = mul(reshape(grad, shape=kept(input, axes)), twice)
    """,
    "reduce_l2": """
        share = div(grad, output)
        d_input = mul(reshape(share, shape=kept(input, axes)), input)
    """,
    "reduce_log_sum": """
        share = div(grad, exp(output))
        d_input = broadcast(reshape(share, shape=kept(input, axes)), shape=shape(input))
    """,
    "reduce_log_sum_exp": """
        weight = exp(sub(input, reshape(output, shape=kept(input, axes))))
        d_input = mul(reshape(grad, shape=kept(input, axes)), weight)
    """,
    "cumsum": "d_input = cumsum(grad, axis=axis, exclusive=exclusive, reverse=flipped(reverse))",
    "sum_to": """
        all = broadcast(grad, shape=shape(input))
        d_input = sum_to(all, shape=shape(input), factor=factor)
    """,
    # -- products ---------------------------------------------------------------------------------
    "matmul": """
        p = matmul(grad, b, transpose_b=1, alpha=alpha) if not transpose_a and not transpose_b
        p = matmul(grad, b, alpha=alpha) if not transpose_a and transpose_b
        p = matmul(b, grad, transpose_b=1, alpha=alpha) if transpose_a and not transpose_b
        p = matmul(b, grad, transpose_a=1, transpose_b=1, alpha=alpha) \
            if transpose_a and transpose_b
        d_a = sum_to(p, shape=shape(a)) if rank(a) > 1 and rank(b) > 1
        q = matmul(a, grad, transpose_a=1, alpha=alpha) if not transpose_a and not transpose_b
        q = matmul(grad, a, transpose_a=1, alpha=alpha) if not transpose_a and transpose_b
        q = matmul(a, grad, alpha=alpha) if transpose_a and not transpose_b
        q = matmul(grad, a, transpose_a=1, transpose_b=1, alpha=alpha) \
            if transpose_a and transpose_b
        d_b = sum_to(q, shape=shape(b)) if rank(a) > 1 and rank(b) > 1
    """,
    "addmm": """
        d_input = sum_to(grad, shape=shape(input), factor=beta)
        d_mat1 = matmul(grad, mat2, transpose_b=1, alpha=alpha)
        d_mat2 = matmul(mat1, grad, transpose_a=1, alpha=alpha)
    """,
    "linear": """
        d_input = matmul(grad, weight) if rank(input) > 1
        flat = reshape(grad, shape=rows(grad))
        d_weight = matmul(flat, reshape(input, shape=rows(input)), transpose_a=1)
        d_bias = sum_to(grad, shape=shape(bias))
        d_input = reshape(matmul(flat, weight), shape=shape(input)) if rank(input) == 1
    """,
    "conv2d": """
        d_input = conv2d_input_gradient(grad, weight, shape=shape(input), padding=padding, \
            stride=stride, dilation=dilation, groups=groups)
        d_weight = conv2d_weight_gradient(grad, input, shape=shape(weight), padding=padding, \
            stride=stride, dilation=dilation, groups=groups)
        d_bias = reduce_sum(grad, axes=(0, 2, 3))
    """,
    # -- pools ------------------------------------------------------------------------------------
    "max_pool2d": """
        d_input = max_pool2d_gradient(grad, input, kernel=kernel, stride=stride, padding=padding, \
            dilation=dilation, ceil_mode=ceil_mode)
    """,
    "avg_pool2d": """
        d_input = avg_pool2d_gradient(grad, shape=shape(input), kernel=kernel, stride=stride, \
            padding=padding, dilation=dilation, ceil_mode=ceil_mode, \
            count_include_pad=count_include_pad)
    """,
    "global_avg_pool2d": """
        share = sum_to(grad, shape=shape(grad), factor=ratio(grad, input))
        d_input = broadcast(share, shape=shape(input))
    """,
    "global_max_pool2d": """
        largest = cast(equal(input, output), dtype=dtype(grad))
        d_input = mul(largest, div(grad, sum_to(largest, shape=shape(grad))))
    """,
    # -- moves ------------------------------------------------------------------------------------
    "broadcast": "d_input = sum_to(grad, shape=shape(input))",
    "reshape": "d_input = reshape(grad, shape=shape(input))",
    "transpose": "d_input = transpose(grad, perm=inverse(perm))",
    "copy": "d_input = copy(grad)",
    "cast": "d_input = cast(grad, dtype=dtype(input))",
    "gather": "d_input = gather_gradient(grad, indices, shape=shape(input), axis=axis)",
}

_OUTPUT_FAMILIES = ("argmax", "compare")


def gradient_of(operation: Operation) -> tuple[Step, ...]:
    """The steps of an operation's gradient; none if there is none: see why_not()."""
    text = PROGRAMS.get(operation.name, "")
    return read_program(operation, prepare_text(text)) if text else ()


def why_not(operation: Operation) -> str:
    """Why an operation has no gradient; "" if it has one."""
    if operation.name in PROGRAMS:
        return ""
    if operation.family in _OUTPUT_FAMILIES:
        return "its output is no float"
    if not set(FLOATS) & set(operation.dtypes):
        return "it isn't defined for floats"
    return "this version has none for it"
