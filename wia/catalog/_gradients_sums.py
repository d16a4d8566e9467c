"""Gradients of reductions, scans and norms."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

PROGRAMS: dict[str, str] = {
    # -- reductions --------------------------------------------------------------------------------
    "reduce_sum": """
        slope = reshape(grad, shape=kept(shape(input), axes))
        d_input = broadcast(slope, shape=shape(input))
    """,
    "reduce_mean": """
        slope = reshape(grad, shape=kept(shape(input), axes))
        share = scale(slope, factor=size(grad) / max(1, size(input)))
        d_input = broadcast(share, shape=shape(input))
    """,
    "reduce_max": """
        slope = reshape(grad, shape=kept(shape(input), axes))
        chosen = cast(input == reshape(output, shape=kept(shape(input), axes)), dtype=dtype(grad))
        d_input = chosen * (slope / sum_to(chosen, shape=kept(shape(input), axes)))
    """,
    "reduce_min": """
        slope = reshape(grad, shape=kept(shape(input), axes))
        chosen = cast(input == reshape(output, shape=kept(shape(input), axes)), dtype=dtype(grad))
        d_input = chosen * (slope / sum_to(chosen, shape=kept(shape(input), axes)))
    """,
    "reduce_prod": """
        slope = reshape(grad, shape=kept(shape(input), axes))
        zeros = cast(input == 0, dtype=dtype(grad))
        filled = input + zeros
        product = reshape(reduce_prod(filled, axes=axes), shape=kept(shape(input), axes))
        others = sum_to(zeros, shape=kept(shape(input), axes)) - zeros
        d_input = where(others == 0, slope * (product / filled), 0)
    """,
    "reduce_sum_square": """
        slope = reshape(grad, shape=kept(shape(input), axes))
        d_input = slope * (input + input)
    """,
    "reduce_l1": "d_input = reshape(grad, shape=kept(shape(input), axes)) * sign(input)",
    "reduce_l2": """
        share = where(output == 0, 0, grad / output)
        d_input = reshape(share, shape=kept(shape(input), axes)) * input
    """,
    "reduce_var": """
        slope = reshape(grad, shape=kept(shape(input), axes))
        deviation = input - reshape(reduce_mean(input, axes=axes), shape=kept(shape(input), axes))
        d_input = slope * (deviation * (2 * size(grad) / (size(input) - correction * size(grad))))
    """,
    "reduce_log_sum": """
        share = reshape(grad / exp(output), shape=kept(shape(input), axes))
        d_input = broadcast(share, shape=shape(input))
    """,
    "reduce_log_sum_exp": """
        weight = exp(input - reshape(output, shape=kept(shape(input), axes)))
        d_input = reshape(grad, shape=kept(shape(input), axes)) * weight
    """,
    # -- scans ----------------------------------------------------------------------------------
    "cumsum": "d_input = cumsum(grad, axis=axis, exclusive=exclusive, reverse=not reverse)",
    "sum_to": """
        all = broadcast(grad, shape=shape(input))
        d_input = sum_to(all, shape=shape(input), factor=factor)
    """,
    "cumprod": """
        zeros = cast(input == 0, dtype=dtype(grad))
        passed = cumsum(zeros, axis=axis, reverse=reverse)
        back = cumsum(grad * output, axis=axis, exclusive=exclusive, reverse=not reverse)
        first = logical_and(input == 0, passed == 1)
        whole = cumprod(where(first, 1, input), axis=axis, exclusive=exclusive, reverse=reverse)
        rest = cumsum(grad * whole, axis=axis, exclusive=exclusive, reverse=not reverse)
        d_input = where(passed == 0, back / input, where(first, rest, 0))
    """,
    "log_cumsum_exp": """
        up = log(maximum(grad, 0)) - output
        down = log(maximum(-grad, 0)) - output
        above = flip(log_cumsum_exp(flip(up, axes=[axis]), axis=axis), axes=[axis])
        below = flip(log_cumsum_exp(flip(down, axes=[axis]), axis=axis), axes=[axis])
        d_input = exp(input + above) - exp(input + below)
    """,
    "cummax": """
        zeros = fill(shape=shape(input), dtype=dtype(grad))
        d_input = scatter_elements(zeros, indices, grad, axis=axis, reduction=1)
    """,
    "cummin": """
        zeros = fill(shape=shape(input), dtype=dtype(grad))
        d_input = scatter_elements(zeros, indices, grad, axis=axis, reduction=1)
    """,
    # -- along an axis ---------------------------------------------------------------------------
    "softmax": """
        weighted = mul(grad, output)
        total = reduce_sum(weighted, axes=axis, keepdims=1)
        d_input = sub(weighted, mul(output, total))
    """,
    "masked_softmax": """
        weighted = grad * output
        d_input = weighted - output * reduce_sum(weighted, axes=axis, keepdims=1)
    """,
    "softmin": """
        weighted = grad * output
        d_input = output * reduce_sum(weighted, axes=axis, keepdims=1) - weighted
    """,
    "log_softmax": "d_input = grad - exp(output) * reduce_sum(grad, axes=axis, keepdims=1)",
    "lp_norm": """
        norm = reduce_l1(input, axes=axis, keepdims=1) if p == 1
        norm = reduce_l2(input, axes=axis, keepdims=1)
        slope = sign(input) if p == 1
        slope = output
        share = grad - slope * reduce_sum(grad * output, axes=axis, keepdims=1)
        d_input = where(norm == 0, 0, share / norm)
    """,
    "cosine_similarity": """
        slope = reshape(grad, shape=kept(shape(a), [axis]))
        cosine = reshape(output, shape=kept(shape(a), [axis]))
        square_a = reduce_sum_square(a, axes=axis, keepdims=1)
        square_b = reduce_sum_square(b, axes=axis, keepdims=1)
        product = sqrt(square_a) * sqrt(square_b)
        free = product > epsilon
        divisor = maximum(product, epsilon)
        d_a = slope * (b / divisor - where(free, cosine * a / square_a, 0))
        d_b = slope * (a / divisor - where(free, cosine * b / square_b, 0))
    """,
}
