"""Gradients of what moves elements."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

_NUMBERED = "reshape(iota(shape=[size(input)], dtype=int64), shape=shape(input))"
"""Each element's number: moved, it tells where an element of the result comes from."""

_BACK = """
        rows = reshape(grad, shape=[size(grad)])
        places = reshape(moved, shape=[size(grad)])
        d_input = reshape(gather_gradient(rows, places, shape=[size(input)]), shape=shape(input))
"""
_BACK_OR_OUT = """
        rows = reshape(grad, shape=[size(grad)])
        places = reshape(moved, shape=[size(grad)])
        all = gather_gradient(rows, places, shape=[size(input) + 1])
        d_input = reshape(slice(all, starts=[0], ends=[size(input)], axes=[0]), shape=shape(input))
"""
"""The same, with a place behind the input for what comes from none of its elements."""


def _scatter(kind: str, axis: str) -> str:
    """What replaces, adds, multiplies, or is the largest or smallest: equals share."""

    def store(into: str, what: str, reduction: int) -> str:
        return f"scatter_{kind}({into}, indices, {what}{axis}, reduction={reduction})"

    def pick(of: str) -> str:
        return f"gather_{kind}({of}, indices{axis})"

    return f"""
        zeros = fill(shape=shape(updates), dtype=dtype(grad))
        order = reshape(iota(shape=[size(updates)], dtype=int64), shape=shape(updates))
        none = fill(shape=shape(input), dtype=int64)
        last = {store("none", "order", 0)}
        stays = {pick("last")} == order
        picked = {pick("grad")}
        kept = cast(input == output, dtype=dtype(grad))
        hit = cast(updates == {pick("output")}, dtype=dtype(grad))
        part = grad / {store("kept", "hit", 1)}
        x = where(input == 0, 1, input)
        y = where(updates == 0, 1, updates)
        no_x = cast(input == 0, dtype=dtype(grad))
        no_y = cast(updates == 0, dtype=dtype(grad))
        whole = {store("x", "y", 2)}
        lost = {store("no_x", "no_y", 1)}
        d_input = {store("grad", "zeros", 0)} if reduction == 0
        d_input = copy(grad) if reduction == 1
        d_input = grad * where(lost == no_x, whole / x, 0) if reduction == 2
        d_input = kept * part
        d_updates = where(stays, picked, 0) if reduction == 0
        d_updates = copy(picked) if reduction == 1
        d_updates = picked * where({pick("lost")} == no_y, {pick("whole")} / y, 0) \\
            if reduction == 2
        d_updates = hit * {pick("part")}
    """


PROGRAMS: dict[str, str] = {
    "broadcast": "d_input = sum_to(grad, shape=shape(input))",
    "reshape": "d_input = reshape(grad, shape=shape(input))",
    "transpose": "d_input = transpose(grad, perm=inverse(perm))",
    "copy": "d_input = copy(grad)",
    "cast": "d_input = cast(grad, dtype=dtype(input))",
    "concat": """
        end = let(before(axis) + shape(inputs)[axis])
        d_inputs = slice(grad, starts=[before(axis)], ends=[end], axes=[axis])
    """,
    "split": f"""
        d_input = concat(grad, {", ".join(f"grad_part_{k}" for k in range(1, 8))}, axis=axis)
    """,
    "stack": """
        row = slice(grad, starts=[place()], ends=[place() + 1], axes=[axis])
        d_inputs = reshape(row, shape=shape(inputs))
    """,
    "slice": f"""
        moved = slice({_NUMBERED}, starts=starts, ends=ends, axes=axes, steps=steps)
        {_BACK}
    """,
    "pad": f"""
        moved = pad({_NUMBERED}, pads=pads, mode=mode, value=size(input))
        {_BACK_OR_OUT}
    """,
    "tile": f"""
        moved = tile({_NUMBERED}, repeats=repeats)
        {_BACK}
    """,
    "roll": "d_input = roll(grad, shifts=-shifts, axes=axes)",
    "flip": "d_input = flip(grad, axes=axes)",
    "trilu": "d_input = trilu(grad, k=k, upper=upper)",
    "diag": f"""
        moved = diag({_NUMBERED} + fill(shape=[], dtype=int64, value=1), k=k)
        rows = reshape(grad, shape=[size(grad)])
        places = reshape(moved, shape=[size(grad)])
        all = gather_gradient(rows, places, shape=[size(input) + 1])
        back = slice(all, starts=[1], ends=[size(input) + 1], axes=[0])
        d_input = reshape(back, shape=shape(input))
    """,
    "depth_to_space": "d_input = space_to_depth(grad, block_size=block_size, mode=mode)",
    "space_to_depth": "d_input = depth_to_space(grad, block_size=block_size, mode=mode)",
    "reverse_sequence": """
        d_input = reverse_sequence(grad, lengths, time_axis=time_axis, batch_axis=batch_axis)
    """,
    "resize": """
        d_input = resize_gradient(grad, shape=shape(input), sizes=sizes, scales=scales, axes=axes, \
            mode=mode, coordinates=coordinates, nearest_mode=nearest_mode, antialias=antialias, \
            exclude_outside=exclude_outside, cubic_a=cubic_a, keep_aspect=keep_aspect, roi=roi)
    """,
    "resize_gradient": """
        d_grad = resize(grad_output, sizes=sizes, scales=scales, axes=axes, mode=mode, \
            coordinates=coordinates, nearest_mode=nearest_mode, antialias=antialias, \
            exclude_outside=exclude_outside, cubic_a=cubic_a, keep_aspect=keep_aspect, roi=roi)
    """,
    # -- picked ----------------------------------------------------------------------------------
    "gather": "d_input = gather_gradient(grad, indices, shape=shape(input), axis=axis)",
    "gather_gradient": "d_grad = gather(grad_output, indices, axis=axis)",
    "embedding": "d_weight = gather_gradient(grad, indices, shape=shape(weight), axis=0)",
    "gather_elements": """
        zeros = fill(shape=shape(input), dtype=dtype(grad))
        d_input = scatter_elements(zeros, indices, grad, axis=axis, reduction=1)
    """,
    "gather_nd": f"""
        moved = gather_nd({_NUMBERED}, indices, batch_dims=batch_dims)
        {_BACK}
    """,
    "scatter_elements": _scatter("elements", ", axis=axis"),
    "scatter_nd": _scatter("nd", ""),
    "index_add": """
        d_input = copy(grad)
        d_updates = gather(grad, indices, axis=axis)
    """,
    "embedding_bag": """
        bags = let(shape(grad)[0])
        order = iota(shape=[size(indices)], dtype=dtype(offsets))
        after = searchsorted(offsets, order, right=1)
        bag = after - fill(shape=[], dtype=int64, value=1)
        one = fill(shape=[size(indices)], dtype=dtype(grad), value=1)
        count = gather_gradient(one, bag, shape=[bags])
        share = grad / reshape(count, shape=[bags, 1]) if mode == 1
        share = grad if mode == 0
        row = gather(share, bag)
        most = cast(gather(weight, indices) == gather(output, bag), dtype=dtype(grad))
        among = gather_gradient(most, bag, shape=shape(grad), axis=0)
        rows = most * gather(grad / among, bag) if mode == 2
        rows = row * reshape(factors, shape=[size(indices), 1]) if given(factors)
        rows = row
        d_weight = gather_gradient(rows, indices, shape=shape(weight), axis=0)
        d_factors = reduce_sum(row * gather(weight, indices), axes=[1])
    """,
    # -- in order --------------------------------------------------------------------------------
    "sort": """
        order = argsort(input, axis=axis, descending=descending)
        zeros = fill(shape=shape(input), dtype=dtype(grad))
        d_input = scatter_elements(zeros, order, grad, axis=axis)
    """,
    "top_k": """
        order = indices if given(indices)
        order = top_k(input, k=k, axis=axis, largest=largest, sorted=sorted).indices
        zeros = fill(shape=shape(input), dtype=dtype(grad))
        d_input = scatter_elements(zeros, order, grad, axis=axis)
    """,
    # -- masks -----------------------------------------------------------------------------------
    "masked_fill": "d_input = where(mask, 0, grad)",
    "masked_add": """
        d_input = copy(grad)
        d_other = sum_to(where(mask, grad, 0), shape=shape(other))
    """,
    "dropout": "d_input = dropout(grad, ratio=ratio, seed=seed, offset=offset)",
    # -- layers ----------------------------------------------------------------------------------
    "glu": """
        half = let(shape(input)[axis] // 2)
        a = slice(input, starts=[0], ends=[half], axes=[axis])
        b = slice(input, starts=[half], ends=[2 * half], axes=[axis])
        gate = sigmoid(b)
        act = gate if activation == 0
        act = b * gate if activation == 1
        act = gelu(b) if activation == 2
        act = relu(b) if activation == 3
        act = b
        pull = grad * a
        d_b = pull * gate * (1 - gate) if activation == 0
        d_b = pull * (gate + b * gate * (1 - gate)) if activation == 1
        d_b = gelu_gradient(pull, b) if activation == 2
        d_b = relu_gradient(pull, act) if activation == 3
        d_b = pull
        d_input = concat(grad * act, d_b, axis=axis)
    """,
    "rotary_embedding": """
        d_input = rotary_embedding(grad, cos, -sin, positions, interleaved=interleaved, \
            heads=heads, width=width)
        flat = let(rank(input) == 3)
        heads_of = let([*shape(input)[:2], heads, shape(input)[-1] // max(1, heads)])
        x = transpose(reshape(input, shape=heads_of), perm=[0, 2, 1, 3]) if flat
        x = input
        g = transpose(reshape(grad, shape=heads_of), perm=[0, 2, 1, 3]) if flat
        g = grad
        half = let(shape(cos)[-1])
        first = let(2 * half - 1 if interleaved else half)
        second = let(1 if interleaved else half)
        step = let([2 if interleaved else 1])
        a = slice(x, starts=[0], ends=[first], axes=[3], steps=step)
        b = slice(x, starts=[second], ends=[2 * half], axes=[3], steps=step)
        by_a = slice(g, starts=[0], ends=[first], axes=[3], steps=step)
        by_b = slice(g, starts=[second], ends=[2 * half], axes=[3], steps=step)
        to_cos = reduce_sum(by_a * a + by_b * b, axes=[1])
        to_sin = reduce_sum(by_b * a - by_a * b, axes=[1])
        d_cos = gather_gradient(to_cos, positions, shape=shape(cos)) if given(positions)
        d_cos = copy(to_cos)
        d_sin = gather_gradient(to_sin, positions, shape=shape(sin)) if given(positions)
        d_sin = copy(to_sin)
    """,
    "affine_grid": """
        eye = eye(shape=shape(theta)[1:], dtype=dtype(grad))
        plain = broadcast(eye, shape=shape(theta))
        points = let([shape(theta)[0], prod(shape(grad)[1:-1])])
        grid = affine_grid(plain, size=size, align_corners=align_corners)
        places = reshape(grid, shape=[*points, shape(grad)[-1]])
        ones = fill(shape=[*points, 1], dtype=dtype(grad), value=1)
        slope = reshape(grad, shape=[*points, shape(grad)[-1]])
        d_theta = matmul(slope, concat(places, ones, axis=2), transpose_a=1)
    """,
    # -- signals ---------------------------------------------------------------------------------
    "dft": """
        n = let(shape(input)[axis])
        real = let(inverse and onesided)
        l = let(length if length > 0 else shape(output)[axis] if real else n)
        here = let(axis % rank(grad))
        pads = let(replaced(repeat(0, 2 * rank(grad)), here + rank(grad), l - shape(grad)[axis]))
        turned = dft(pad(grad, pads=pads), axis=axis, inverse=not inverse)
        half = let(l // 2 + 1)
        place = iota(shape=[half, 1], dtype=int64, axis=0)
        first = fill(shape=[], dtype=int64)
        middle = fill(shape=[], dtype=int64, value=l)
        times = where(logical_or(place == first, place + place == middle), 1, 2)
        line = reshape(times, shape=replaced(repeat(1, rank(grad)), here, half))
        full = dft(grad, axis=axis, onesided=1) * line / l if real
        full = turned / l if inverse
        full = turned * l
        there = let(min(n, half if real else l))
        cut = slice(full, starts=[0], ends=[there], axes=[axis])
        more = let(replaced(repeat(0, 2 * rank(grad)), here + rank(grad), n - there))
        whole = pad(cut, pads=more)
        last = let([rank(grad) - 1])
        d_input = slice(whole, starts=[0], ends=[shape(input)[-1]], axes=last)
    """,
    "stft": """
        taken = let(size(window) if given(window) else frame_length)
        l = let(taken if onesided else shape(output)[2])
        all = pad(grad, pads=[0, 0, 0, 0, 0, 0, l - shape(output)[2], 0])
        time = dft(all, axis=2, inverse=1) * l
        weighted = time * reshape(window, shape=[l, 1]) if given(window)
        weighted = time
        step = fill(shape=[], dtype=int64, value=frame_step)
        begins = iota(shape=[shape(output)[1], 1], dtype=int64, axis=0) * step
        places = begins + iota(shape=[1, l], dtype=int64, axis=1)
        channels = slice(weighted, starts=[0], ends=[shape(input)[2]], axes=[3])
        d_input = gather_gradient(channels, places, shape=shape(input), axis=1)
        frames = gather(input, places, axis=1)
        plain = slice(time, starts=[0], ends=[shape(input)[2]], axes=[3])
        d_window = reduce_sum(frames * plain, axes=[0, 1, 3])
    """,
}
