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
}
