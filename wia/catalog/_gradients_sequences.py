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

PROGRAMS: dict[str, str] = {
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
        n = let(heads if rank(queries) == 3 else shape(queries)[1])
        m = let(kv_heads if rank(keys) == 3 else shape(keys)[1])
        d = let(shape(queries)[-1] // n if rank(queries) == 3 else shape(queries)[-1])
        q_parts = let([*shape(queries)[:2], n, d])
        k_parts = let([*shape(keys)[:2], n, d])
        v_parts = let([*shape(values)[:2], n, shape(values)[-1] // n])
        g_parts = let([*shape(grad)[:2], n, shape(grad)[-1] // n])
        factor = fill(shape=[], dtype=dtype(grad), value=scale) if scale != 0
        factor = rsqrt(fill(shape=[], dtype=dtype(grad), value=d))
        {_HEADS}
        rows = let(shape(queries)[1] if rank(queries) == 3 else shape(queries)[2])
        columns = let(shape(keys)[1] if rank(keys) == 3 else shape(keys)[2])
        added = product + mask if given(mask) and dtype(mask) != bool
        added = product
        row = iota(shape=[rows, 1], dtype=int64, axis=0)
        past = iota(shape=[1, columns], dtype=int64, axis=1) <= row
        allowed = logical_and(past, mask) if causal and given(mask) and dtype(mask) == bool
        allowed = past if causal
        allowed = mask
        share = masked_softmax(added, allowed) \
            if causal or (given(mask) and dtype(mask) == bool)
        share = softmax(added)
        {_SHARES}
        plain = let(n == m and softcap == 0 and left < 0 and right < 0)
        alone = let(not given(past_keys) and not given(lengths))
        other = let(given(grad_present_keys) or given(grad_present_values) or given(grad_scores))
        good = let(plain and alone and not other)
        flat = let(rank(queries) == 3)
        d_queries = reshape(transpose(to_q, perm=turned), shape=shape(queries)) if good and flat
        d_queries = copy(to_q) if good
        d_keys = reshape(transpose(to_k, perm=turned), shape=shape(keys)) if good and flat
        d_keys = copy(to_k) if good
        d_values = reshape(transpose(to_v, perm=turned), shape=shape(values)) if good and flat
        d_values = copy(to_v) if good
        d_mask = sum_to(bent, shape=shape(mask)) if good and shape(mask)[-1] == columns
    """,
}
