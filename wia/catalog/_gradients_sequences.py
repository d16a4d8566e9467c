"""Gradients of recurrent cells and attention."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

_CELL = """
        d_x = matmul(s, w)
        d_w = matmul(s, x, transpose_a=1)
"""

_HEADS = """
        turned = let([0, 2, 1, 3])
        q = transpose(reshape(queries, shape=q_parts), perm=turned) if rank(queries) == 3
        q = queries
        k = transpose(reshape(keys, shape=k_parts), perm=turned) if rank(keys) == 3
        k = keys
        v = transpose(reshape(values, shape=v_parts), perm=turned) if rank(values) == 3
        v = values
        g = transpose(reshape(grad, shape=g_parts), perm=turned) if rank(queries) == 3
        g = grad
        product = matmul(q, k, transpose_b=1) * factor
"""
"""What the heads see, [b, heads, ...], from operands that may have them side by side."""

_SHARES = """
        slope = matmul(g, v, transpose_b=1)
        weighted = slope * share
        bent = weighted - share * reduce_sum(weighted, axes=[-1], keepdims=1)
        to_q = matmul(bent, k) * factor
        to_k = matmul(bent, q, transpose_a=1) * factor
        to_v = matmul(share, g, transpose_a=1)
"""


def _attention(shown: int) -> str:
    """The call again, with a step of it as scores."""
    return (
        "attention(queries, keys, values, mask, past_keys, past_values, lengths, causal=causal, "
        "left=left, right=right, heads=heads, kv_heads=kv_heads, scale=scale, softcap=softcap, "
        f"shown={shown})"
    )


def _layer(kind: str, more: str, *attributes: str) -> str:
    """What is given back by each input of a layer, from its operation."""
    values = ("direction", "layout", "activations", "alpha", "beta", "clip", *attributes)
    cells = "initial_cell, peepholes, grad_last, grad_last_cell" if more else "grad_last"
    call = f"{kind}_gradient(grad, x, w, r, bias, lengths, initial, {cells}, "
    call += ", ".join(f"{value}={value}" for value in values) + ")"
    names = ["x", "w", "r", "bias", "initial", *more.split()]
    return "".join(f"        d_{name} = {call}.by_{name}\n" for name in names)


PROGRAMS: dict[str, str] = {
    "kv_cache_update": """
        none = fill(shape=shape(update), dtype=dtype(grad))
        d_cache = kv_cache_update(grad, none, starts, axis=axis, mode=mode)
        order = reshape(iota(shape=[size(update)], dtype=int64), shape=shape(update))
        old = fill(shape=shape(cache), dtype=int64, value=-1)
        found = kv_cache_update(old, order, starts, axis=axis, mode=mode)
        first = fill(shape=[], dtype=int64)
        places = reshape(maximum(found, first), shape=[size(grad)])
        taken = reshape(where(found < first, 0, grad), shape=[size(grad)])
        d_update = reshape(gather_gradient(taken, places, shape=[size(update)]), \
            shape=shape(update)) if size(update) > 0
        d_update = copy(none)
    """,
    "rnn": _layer("rnn", ""),
    "gru": _layer("gru", "", "linear_before_reset"),
    "lstm": _layer("lstm", "initial_cell peepholes", "input_forget"),
    "rnn_cell": f"""
        s = grad * (1 - next_h * next_h)
        {_CELL}
        d_h = matmul(s, r)
        d_r = matmul(s, h, transpose_a=1)
        each = reduce_sum(s, axes=[0])
        d_bias = concat(each, each, axis=0)
    """,
    "lstm_cell": f"""
        n = let(shape(h)[1])
        products = matmul(x, w, transpose_b=1) + matmul(h, r, transpose_b=1)
        first = slice(bias, starts=[0], ends=[4 * n], axes=[0])
        a = products + first + slice(bias, starts=[4 * n], ends=[8 * n], axes=[0]) if given(bias)
        a = products
        i = sigmoid(slice(a, starts=[0], ends=[n], axes=[1]))
        o = sigmoid(slice(a, starts=[n], ends=[2 * n], axes=[1]))
        f = sigmoid(slice(a, starts=[2 * n], ends=[3 * n], axes=[1]))
        new = tanh(slice(a, starts=[3 * n], ends=[4 * n], axes=[1]))
        t = tanh(next_c)
        cell = grad_next_c + grad * o * (1 - t * t)
        s_i = cell * new * i * (1 - i)
        s_o = grad * t * o * (1 - o)
        s_f = cell * c * f * (1 - f)
        s_new = cell * i * (1 - new * new)
        s = concat(s_i, s_o, s_f, s_new, axis=1)
        {_CELL}
        d_h = matmul(s, r)
        d_r = matmul(s, h, transpose_a=1)
        d_c = cell * f
        each = reduce_sum(s, axes=[0])
        d_bias = concat(each, each, axis=0)
    """,
    "gru_cell": f"""
        n = let(shape(h)[1])
        from_x = matmul(x, w, transpose_b=1)
        a = from_x + slice(bias, starts=[0], ends=[3 * n], axes=[0]) if given(bias)
        a = from_x
        top = slice(r, starts=[0], ends=[2 * n], axes=[0])
        from_h = matmul(h, top, transpose_b=1)
        p = from_h + slice(bias, starts=[3 * n], ends=[5 * n], axes=[0]) if given(bias)
        p = from_h
        gates = sigmoid(slice(a, starts=[0], ends=[2 * n], axes=[1]) + p)
        z = slice(gates, starts=[0], ends=[n], axes=[1])
        reset = slice(gates, starts=[n], ends=[2 * n], axes=[1])
        low = slice(r, starts=[2 * n], ends=[3 * n], axes=[0])
        seen = h if linear_before_reset
        seen = reset * h
        plain = matmul(seen, low, transpose_b=1)
        moved = plain + slice(bias, starts=[5 * n], ends=[6 * n], axes=[0]) if given(bias)
        moved = plain
        scaled = reset * moved if linear_before_reset
        scaled = moved
        new = tanh(slice(a, starts=[2 * n], ends=[3 * n], axes=[1]) + scaled)
        s_new = grad * (1 - z) * (1 - new * new)
        s_z = grad * (h - new) * z * (1 - z)
        inner = s_new * reset if linear_before_reset
        inner = s_new
        back = matmul(inner, low)
        s_reset = s_new * moved * reset * (1 - reset) if linear_before_reset
        s_reset = back * h * reset * (1 - reset)
        s = concat(s_z, s_reset, s_new, axis=1)
        {_CELL}
        s_gates = concat(s_z, s_reset, axis=1)
        through = back if linear_before_reset
        through = back * reset
        d_h = grad * z + through + matmul(s_gates, top)
        r_gates = matmul(s_gates, h, transpose_a=1)
        d_r = concat(r_gates, matmul(inner, seen, transpose_a=1), axis=0)
        b_x = reduce_sum(s, axes=[0])
        b_h = reduce_sum(concat(s_gates, inner, axis=1), axes=[0])
        d_bias = concat(b_x, b_h, axis=0)
    """,
    "multi_head_attention": f"""
        d = let(shape(queries)[2] // num_heads)
        q_parts = let([*shape(queries)[:2], num_heads, d])
        k_parts = let([*shape(keys)[:2], num_heads, d])
        v_parts = let([*shape(values)[:2], num_heads, shape(values)[2] // num_heads])
        g_parts = let([*shape(grad)[:2], num_heads, shape(grad)[2] // num_heads])
        ones = fill(shape=[], dtype=dtype(grad), value=d)
        factor = rsqrt(ones)
        {_HEADS}
        row = iota(shape=[shape(queries)[1], 1], dtype=int64, axis=0)
        allowed = iota(shape=[1, shape(keys)[1]], dtype=int64, axis=1) <= row
        share = masked_softmax(product, allowed) if attention_pattern == 1
        share = softmax(product)
        {_SHARES}
        d_queries = reshape(transpose(to_q, perm=turned), shape=shape(queries))
        d_keys = reshape(transpose(to_k, perm=turned), shape=shape(keys))
        d_values = reshape(transpose(to_v, perm=turned), shape=shape(values))
    """,
    "attention": f"""
        turned = let([0, 2, 1, 3])
        flat = let(rank(queries) == 3)
        n = let(heads if flat else shape(queries)[1])
        m = let(kv_heads if flat else shape(keys)[1])
        rows = let(shape(queries)[-2])
        past = let(shape(past_keys)[2] if given(past_keys) else 0)
        total = let(past + shape(keys)[-2])
        d = let(shape(queries)[-1] // n if flat else shape(queries)[-1])
        e = let(shape(values)[-1] // m if flat else shape(values)[-1])
        group = let([shape(queries)[0], m, n // m * rows])
        q_heads = transpose(reshape(queries, shape=[shape(queries)[0], rows, n, d]), perm=turned) \
            if flat
        q_heads = queries
        g_heads = transpose(reshape(grad, shape=[shape(queries)[0], rows, n, e]), perm=turned) \
            if flat
        g_heads = grad
        q = reshape(q_heads, shape=[*group, d])
        g = reshape(g_heads, shape=[*group, e])
        all_keys = {_attention(3)}.present_keys
        all_values = {_attention(3)}.present_values
        share = reshape({_attention(3)}.scores, shape=[*group, total])
        shows = let(shown if given(grad_scores) else -1)
        shown_grad = reshape(grad_scores, shape=[*group, total])
        slope = matmul(g, all_values, transpose_b=1)
        pull = slope + shown_grad if shows == 3
        pull = slope
        weighted = pull * share
        bent = weighted - share * reduce_sum(weighted, axes=[-1], keepdims=1)
        masked = {_attention(2)}.scores
        looked = reshape(where(is_inf(masked), 0, grad_scores), shape=[*group, total])
        at_mask = bent + looked if shows == 2
        at_mask = bent
        at_cap = at_mask + shown_grad if shows == 1
        at_cap = at_mask
        ratio = reshape({_attention(1)}.scores, shape=[*group, total]) / softcap
        inner = at_cap * (1 - ratio * ratio) if softcap > 0
        inner = at_cap
        at_product = inner + shown_grad if shows == 0
        at_product = inner
        factor = fill(shape=[], dtype=dtype(grad), value=scale) if scale != 0
        factor = rsqrt(fill(shape=[], dtype=dtype(grad), value=d))
        to_q = reshape(matmul(at_product, all_keys) * factor, \
            shape=[shape(queries)[0], n, rows, d])
        d_queries = reshape(transpose(to_q, perm=turned), shape=shape(queries)) if flat
        d_queries = copy(to_q)
        to_keys = matmul(at_product, q, transpose_a=1) * factor
        by_keys = to_keys + grad_present_keys if given(grad_present_keys)
        by_keys = to_keys
        to_values = matmul(share, g, transpose_a=1)
        by_values = to_values + grad_present_values if given(grad_present_values)
        by_values = to_values
        new_keys = slice(by_keys, starts=[past], ends=[total], axes=[2]) if past > 0
        new_keys = by_keys
        new_values = slice(by_values, starts=[past], ends=[total], axes=[2]) if past > 0
        new_values = by_values
        d_keys = reshape(transpose(new_keys, perm=turned), shape=shape(keys)) if flat
        d_keys = copy(new_keys)
        d_values = reshape(transpose(new_values, perm=turned), shape=shape(values)) if flat
        d_values = copy(new_values)
        d_past_keys = slice(by_keys, starts=[0], ends=[past], axes=[2])
        d_past_values = slice(by_values, starts=[0], ends=[past], axes=[2])
        to_mask = reshape(at_mask, shape=[shape(queries)[0], n, rows, total])
        seen = slice(to_mask, starts=[0], ends=[shape(mask)[-1]], axes=[3])
        d_mask = sum_to(seen, shape=shape(mask))
    """,
}
