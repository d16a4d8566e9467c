"""Gradients of reductions, scans and norms."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

PROGRAMS: dict[str, str] = {
    # -- reductions ----------------------------------------------------------------------------------
    "reduce_sum": "d_input = broadcast(reshape(grad, shape=kept(shape(input), axes)), shape=shape(input))",
    "reduce_mean": """
        share = sum_to(grad, shape=shape(grad), factor=size(grad) / max(1, size(input)))
        d_input = broadcast(reshape(share, shape=kept(shape(input), axes)), shape=shape(input))
    """,
    "reduce_max": """
        largest = cast(equal(input, reshape(output, shape=kept(shape(input), axes))), dtype=dtype(grad))
        count = sum_to(largest, shape=kept(shape(input), axes))
        d_input = mul(largest, div(reshape(grad, shape=kept(shape(input), axes)), count))
    """,
    "reduce_min": """
        least = cast(equal(input, reshape(output, shape=kept(shape(input), axes))), dtype=dtype(grad))
        count = sum_to(least, shape=kept(shape(input), axes))
        d_input = mul(least, div(reshape(grad, shape=kept(shape(input), axes)), count))
    """,
    "reduce_prod": """
        whole = mul(grad, output)
        d_input = div(reshape(whole, shape=kept(shape(input), axes)), input)
    """,
    "reduce_sum_square": """
        twice = add(input, input)
        d_input = mul(reshape(grad, shape=kept(shape(input), axes)), twice)
    """,
    "reduce_l2": """
        share = div(grad, output)
        d_input = mul(reshape(share, shape=kept(shape(input), axes)), input)
    """,
    "reduce_log_sum": """
        share = div(grad, exp(output))
        d_input = broadcast(reshape(share, shape=kept(shape(input), axes)), shape=shape(input))
    """,
    "reduce_log_sum_exp": """
        weight = exp(sub(input, reshape(output, shape=kept(shape(input), axes))))
        d_input = mul(reshape(grad, shape=kept(shape(input), axes)), weight)
    """,
    "cumsum": "d_input = cumsum(grad, axis=axis, exclusive=exclusive, reverse=not reverse)",
    "sum_to": """
        all = broadcast(grad, shape=shape(input))
        d_input = sum_to(all, shape=shape(input), factor=factor)
    """,
}
