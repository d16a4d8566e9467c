"""Gradients of losses."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

_EACH = """
        each = scale(grad, factor=1 / max(1, size(input))) if reduction == 0
        each = grad
"""
"""What the gradient is for each element."""

_CLASSES = """
        ones = let(repeat(1, rank(input) - 2))
        places = let([shape(input)[0], 1, *shape(input)[2:]])
        right = reshape(target, shape=places)
        classes = iota(shape=[shape(input)[1], *ones], dtype=dtype(target), axis=0)
        ignored = fill(shape=[], dtype=dtype(target), value=ignore_index)
        counted = logical_and(right == classes, right != ignored)
        worth = reshape(weight, shape=[shape(input)[1], *ones]) if given(weight)
        worth = 1
        chosen = where(counted, worth, 0)
        each = grad / reduce_sum(chosen) if reduction == 0
        each = grad if reduction == 1
        each = reshape(grad, shape=places)
"""
_WEIGHT = """
        off = -{log} - output if reduction == 0
        off = -{log}
        by_class = sum_to(each * where(counted, off, 0), shape=[1, shape(input)[1], *ones])
        d_weight = reshape(by_class, shape=shape(weight))
"""
"""A weight counts in the sum, and in what a mean is divided by."""

PROGRAMS: dict[str, str] = {
    "mse_loss": f"""{_EACH}
        slope = each * (2 * (input - target))
        d_input = copy(slope)
        d_target = -slope
    """,
    "l1_loss": f"""{_EACH}
        slope = each * sign(input - target)
        d_input = copy(slope)
        d_target = -slope
    """,
    "huber_loss": f"""{_EACH}
        slope = each * clip(input - target, min=-delta, max=delta)
        d_input = copy(slope)
        d_target = -slope
    """,
    "smooth_l1_loss": f"""{_EACH}
        bent = clip((input - target) / beta, min=-1, max=1) if beta > 0
        bent = sign(input - target)
        slope = each * bent
        d_input = copy(slope)
        d_target = -slope
    """,
    "bce_loss": f"""{_EACH}
        yes = log(input)
        no = log1p(-input)
        up = where(yes > -100, target / input, 0)
        down = where(no > -100, (1 - target) / (1 - input), 0)
        d_input = each * (down - up)
        d_target = each * (maximum(no, -100) - maximum(yes, -100))
    """,
    "bce_with_logits_loss": f"""{_EACH}
        d_input = each * (sigmoid(input) - target)
        d_target = -(each * input)
    """,
    "kl_div_loss": f"""{_EACH}
        there = target > 0
        d_input = -(each * where(there, target, 0))
        d_target = each * where(there, log(target) + 1 - input, 0)
    """,
    "hinge_loss": f"""{_EACH}
        short = where(input * target < margin, each, 0)
        d_input = -(short * target)
        d_target = -(short * input)
    """,
    "nll_loss": f"""{_CLASSES}
        d_input = -(each * chosen)
        {_WEIGHT.format(log="input")}
    """,
    "softmax_cross_entropy": f"""{_CLASSES}
        share = softmax(input, axis=1)
        loss = each * (share * reduce_sum(chosen, axes=1, keepdims=1) - chosen)
        total = reduce_sum(grad_log_prob, axes=1, keepdims=1)
        d_input = loss + (grad_log_prob - share * total) if given(grad_log_prob)
        d_input = loss
        logarithm = log_softmax(input, axis=1)
        {_WEIGHT.format(log="logarithm")}
    """,
}
