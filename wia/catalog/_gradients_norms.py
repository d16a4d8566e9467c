"""Gradients of normalisation."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

PROGRAMS: dict[str, str] = {
    "layer_norm": """
        last = let(range(axis % rank(input), rank(input)))
        deviation = input - reduce_mean(input, axes=last, keepdims=1)
        variance = reduce_mean(deviation * deviation, axes=last, keepdims=1)
        inverse = rsqrt(variance + epsilon)
        x = deviation * inverse
        scaled = grad * weight if given(weight)
        scaled = grad
        mean = reduce_mean(scaled, axes=last, keepdims=1)
        bent = reduce_mean(scaled * x, axes=last, keepdims=1)
        d_input = inverse * (scaled - mean - x * bent)
        d_weight = sum_to(grad * x, shape=shape(weight))
        d_bias = sum_to(grad, shape=shape(bias))
    """,
    "rms_norm": """
        last = let(range(axis % rank(input), rank(input)))
        square = reduce_mean(input * input, axes=last, keepdims=1)
        inverse = rsqrt(square + epsilon)
        x = input * inverse
        scaled = grad * weight if given(weight)
        scaled = grad
        bent = reduce_mean(scaled * x, axes=last, keepdims=1)
        d_input = inverse * (scaled - x * bent)
        d_weight = sum_to(grad * x, shape=shape(weight))
    """,
    "mean_variance_norm": """
        away = input - reduce_mean(input, axes=axes, keepdims=1)
        spread = sqrt(reduce_mean(away * away, axes=axes, keepdims=1))
        divisor = spread + epsilon
        bent = reduce_mean(grad * away, axes=axes, keepdims=1)
        turn = where(spread == 0, 0, bent / (spread * divisor * divisor))
        d_input = (grad - reduce_mean(grad, axes=axes, keepdims=1)) / divisor - away * turn
    """,
    "instance_norm": """
        channels = let([shape(input)[1], *repeat(1, rank(input) - 2)])
        others = let([0, *range(2, rank(input))])
        deviation = input - reduce_mean(input, axes=range(2, rank(input)), keepdims=1)
        variance = reduce_mean(deviation * deviation, axes=range(2, rank(input)), keepdims=1)
        inverse = rsqrt(variance + epsilon)
        x = deviation * inverse
        row = reshape(weight, shape=channels)
        scaled = grad * row if given(weight)
        scaled = grad
        mean = reduce_mean(scaled, axes=range(2, rank(input)), keepdims=1)
        bent = reduce_mean(scaled * x, axes=range(2, rank(input)), keepdims=1)
        d_input = inverse * (scaled - mean - x * bent)
        d_weight = reduce_sum(grad * x, axes=others)
        d_bias = reduce_sum(grad, axes=others)
    """,
    "group_norm": """
        parts = let([shape(input)[0], groups, prod(shape(input)[1:]) // groups])
        channels = let([shape(input)[1], *repeat(1, rank(input) - 2)])
        others = let([0, *range(2, rank(input))])
        rows = reshape(input, shape=parts)
        deviation = rows - reduce_mean(rows, axes=2, keepdims=1)
        inverse = rsqrt(reduce_mean(deviation * deviation, axes=2, keepdims=1) + epsilon)
        x = deviation * inverse
        row = reshape(weight, shape=channels)
        scaled = grad * row if given(weight)
        scaled = grad
        slope = reshape(scaled, shape=parts)
        mean = reduce_mean(slope, axes=2, keepdims=1)
        bent = reduce_mean(slope * x, axes=2, keepdims=1)
        d_input = reshape(inverse * (slope - mean - x * bent), shape=shape(input))
        d_weight = reduce_sum(grad * reshape(x, shape=shape(input)), axes=others)
        d_bias = reduce_sum(grad, axes=others)
    """,
    "batch_norm": """
        channels = let([shape(input)[1], *repeat(1, rank(input) - 2)])
        others = let([0, *range(2, rank(input))])
        middle = reshape(mean, shape=channels)
        wide = reshape(variance, shape=channels)
        inverse = rsqrt(wide + epsilon)
        x = (input - middle) * inverse
        row = reshape(weight, shape=channels)
        scaled = grad * row if given(weight)
        scaled = grad
        d_input = scaled * inverse
        d_mean = reduce_sum(-d_input, axes=others)
        d_variance = reduce_sum(d_input * x * inverse * -0.5, axes=others)
        d_weight = reduce_sum(grad * x, axes=others)
        d_bias = reduce_sum(grad, axes=others)
    """,
    "batch_norm_training": """
        channels = let([shape(input)[1], *repeat(1, rank(input) - 2)])
        others = let([0, *range(2, rank(input))])
        away = input - reduce_mean(input, axes=others, keepdims=1)
        wide = reduce_mean(away * away, axes=others, keepdims=1)
        inverse = rsqrt(wide + epsilon)
        x = away * inverse
        row = reshape(weight, shape=channels)
        scaled = grad * row if given(weight)
        scaled = grad
        middle = reduce_mean(scaled, axes=others, keepdims=1)
        bent = reduce_mean(scaled * x, axes=others, keepdims=1)
        each = let((1 - momentum) / max(1, size(input) // max(1, shape(input)[1])))
        to_mean = reshape(grad_running_mean, shape=channels) * each
        to_spread = reshape(grad_running_variance, shape=channels) * each * 2
        normal = inverse * (scaled - middle - x * bent)
        moved = normal + to_mean if given(grad_running_mean)
        moved = normal
        d_input = moved + away * to_spread if given(grad_running_variance)
        d_input = copy(moved)
        d_weight = reduce_sum(grad * x, axes=others)
        d_bias = reduce_sum(grad, axes=others)
        d_mean = grad_running_mean * momentum
        d_variance = grad_running_variance * momentum
    """,
    "layer_norm_with_stats": """
        last = let(range(axis % rank(input), rank(input)))
        away = input - reduce_mean(input, axes=last, keepdims=1)
        wide = reduce_mean(away * away, axes=last, keepdims=1)
        inverse = rsqrt(wide + epsilon)
        x = away * inverse
        scaled = grad * weight if given(weight)
        scaled = grad
        middle = reduce_mean(scaled, axes=last, keepdims=1)
        bent = reduce_mean(scaled * x, axes=last, keepdims=1)
        count = let(max(1, prod(shape(input)[axis % rank(input):])))
        normal = inverse * (scaled - middle - x * bent)
        to_mean = cast(grad_mean, dtype=dtype(grad)) / count
        moved = normal + to_mean if given(grad_mean)
        moved = normal
        falling = inverse * inverse * cast(grad_inverse_deviation, dtype=dtype(grad)) / count
        d_input = moved - x * falling if given(grad_inverse_deviation)
        d_input = copy(moved)
        d_weight = sum_to(grad * x, shape=shape(weight))
        d_bias = sum_to(grad, shape=shape(bias))
    """,
    "lrn": """
        image = let([shape(input)[0], 1, shape(input)[1], prod(shape(input)[2:])])
        rows = reshape(input, shape=image)
        slopes = reshape(grad, shape=image)
        around = avg_pool2d(rows * rows, kernel=[size, 1], stride=[1, 1], count_include_pad=1, \
            padding=[(size - 1) // 2, 0, size // 2, 0])
        base = around * alpha + bias
        falling = slopes * pow(base, -beta)
        turned = avg_pool2d(falling * rows / base, kernel=[size, 1], stride=[1, 1], \
            count_include_pad=1, padding=[size // 2, 0, (size - 1) // 2, 0])
        d_input = reshape(falling - rows * turned * (2 * alpha * beta), shape=shape(input))
    """,
}
