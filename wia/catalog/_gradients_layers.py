"""Gradients of matrix products, convolutions and pools."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

PROGRAMS: dict[str, str] = {
    # -- products ----------------------------------------------------------------------------------
    "matmul": """
        g = reshape(grad, shape=[1, 1]) if rank(a) == 1 and rank(b) == 1
        g = reshape(grad, shape=[*shape(grad)[:-1], 1, shape(grad)[-1]]) if rank(a) == 1
        g = reshape(grad, shape=[*shape(grad), 1]) if rank(b) == 1
        g = grad
        x = reshape(a, shape=[1, *shape(a)]) if rank(a) == 1
        x = a
        y = reshape(b, shape=[*shape(b), 1]) if rank(b) == 1
        y = b
        p = matmul(y, g, transpose_a=transpose_b, transpose_b=1, alpha=alpha) if transpose_a
        p = matmul(g, y, transpose_b=not transpose_b, alpha=alpha)
        d_a = reshape(sum_to(p, shape=[1, *shape(a)]), shape=shape(a)) if rank(a) == 1
        d_a = sum_to(p, shape=shape(a))
        q = matmul(g, x, transpose_a=1, transpose_b=transpose_a, alpha=alpha) if transpose_b
        q = matmul(x, g, transpose_a=not transpose_a, alpha=alpha)
        d_b = reshape(sum_to(q, shape=[*shape(b), 1]), shape=shape(b)) if rank(b) == 1
        d_b = sum_to(q, shape=shape(b))
    """,
    "addmm": """
        d_input = sum_to(grad, shape=shape(input), factor=beta)
        d_mat1 = matmul(grad, mat2, transpose_b=1, alpha=alpha)
        d_mat2 = matmul(mat1, grad, transpose_a=1, alpha=alpha)
    """,
    "linear": """
        flat = reshape(grad, shape=[prod(shape(grad)[:-1]), shape(grad)[-1]])
        x = reshape(input, shape=[prod(shape(input)[:-1]), shape(input)[-1]])
        d_input = reshape(matmul(flat, weight), shape=shape(input)) if rank(input) == 1
        d_input = matmul(grad, weight)
        d_weight = matmul(flat, x, transpose_a=1)
        d_bias = sum_to(grad, shape=shape(bias))
    """,
    "conv2d": """
        d_input = conv2d_input_gradient(grad, weight, shape=shape(input), padding=padding, \
            stride=stride, dilation=dilation, groups=groups)
        d_weight = conv2d_weight_gradient(grad, input, shape=shape(weight), padding=padding, \
            stride=stride, dilation=dilation, groups=groups)
        d_bias = reduce_sum(grad, axes=[0, 2, 3])
    """,
    # -- pools -------------------------------------------------------------------------------------
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
        share = sum_to(grad, shape=shape(grad), factor=size(grad) / max(1, size(input)))
        d_input = broadcast(share, shape=shape(input))
    """,
    "global_max_pool2d": """
        largest = cast(equal(input, output), dtype=dtype(grad))
        d_input = mul(largest, div(grad, sum_to(largest, shape=shape(grad))))
    """,
}
