"""Gradients of matrix products, and of functions of matrices."""

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
    "gemm": """
        d_a = matmul(b, grad, transpose_a=transpose_b, transpose_b=1, alpha=alpha) if transpose_a
        d_a = matmul(grad, b, transpose_b=not transpose_b, alpha=alpha)
        d_b = matmul(grad, a, transpose_a=1, transpose_b=transpose_a, alpha=alpha) if transpose_b
        d_b = matmul(a, grad, transpose_a=not transpose_a, alpha=alpha)
        d_c = sum_to(grad, shape=shape(c), factor=beta)
    """,
    "einsum": "d_inputs = einsum_gradient(grad, *inputs, equation=equation, place=place())",
    # -- matrices --------------------------------------------------------------------------------
    "determinant": """
        turned = let([*range(0, rank(input) - 2), rank(input) - 1, rank(input) - 2])
        slope = reshape(grad * output, shape=[*shape(grad), 1, 1])
        d_input = slope * transpose(inverse(input), perm=turned)
    """,
    "inverse": """
        d_input = -matmul(matmul(output, grad, transpose_a=1), output, transpose_b=1)
    """,
    "cholesky": """
        turned = let([*range(0, rank(input) - 2), rank(input) - 1, rank(input) - 2])
        eye = eye(shape=shape(input)[-2:], dtype=dtype(input))
        lower = transpose(output, perm=turned) if upper
        lower = output
        slope = transpose(grad, perm=turned) if upper
        slope = grad
        half = 1 - eye * 0.5
        inner = trilu(matmul(lower, slope, transpose_a=1), upper=0) * half
        back = inverse(lower)
        whole = matmul(matmul(back, inner, transpose_a=1), back)
        both = (whole + transpose(whole, perm=turned)) * half
        d_input = trilu(both, upper=upper)
    """,
    "solve_triangular": """
        turned = let([*range(0, rank(a) - 2), rank(a) - 1, rank(a) - 2])
        d_b = solve_triangular(transpose(a, perm=turned), grad, upper=not upper, \
            unit_diagonal=unit_diagonal)
        outer = matmul(d_b, output, transpose_b=1)
        off = let((1 if upper else -1) if unit_diagonal else 0)
        d_a = -trilu(outer, upper=upper, k=off)
    """,
}
