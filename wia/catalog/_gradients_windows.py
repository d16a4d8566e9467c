"""Gradients of convolutions and pools."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

_DEFORM = """deform_conv_gradient(grad, input, weight, offset, mask, stride=stride, \\
            padding=padding, dilation=dilation, groups=groups, offset_groups=offset_groups)"""

PROGRAMS: dict[str, str] = {
    # -- convolutions ----------------------------------------------------------------------------
    "conv2d": """
        d_input = conv2d_input_gradient(grad, weight, shape=shape(input), padding=padding, \
            stride=stride, dilation=dilation, groups=groups)
        d_weight = conv2d_weight_gradient(grad, input, shape=shape(weight), padding=padding, \
            stride=stride, dilation=dilation, groups=groups)
        d_bias = reduce_sum(grad, axes=[0, 2, 3])
    """,
    "conv": """
        n = let(rank(input) - 2)
        s = let((stride if len(stride) > 0 else [1]) + repeat(0, n))
        d = let((dilation if len(dilation) > 0 else [1]) + repeat(0, n))
        p = let((padding if len(padding) > 0 else [0]) + repeat(0, 2 * n))
        k = let(shape(weight)[2:])
        out = let((shape(grad)[2:] - 1) * s + (k - 1) * d + 1)
        more = let(shape(input)[2:] - (out - p[:n] - p[n:]))
        d_input = conv_transpose(grad, weight, stride=s, padding=p, dilation=d, \
            output_padding=more, groups=groups)
        parts = let([shape(input)[0], groups, shape(input)[1] // groups, *shape(input)[2:]])
        images = let([shape(input)[1] // groups, groups * shape(input)[0], *shape(input)[2:]])
        split = transpose(reshape(input, shape=parts), perm=[2, 1, 0, *range(3, n + 3)])
        x = reshape(split, shape=images)
        taps = transpose(grad, perm=[1, 0, *range(2, n + 2)])
        w = conv(x, taps, stride=d, padding=p, dilation=s, groups=groups)
        cut = slice(w, starts=repeat(0, n), ends=k, axes=range(2, n + 2))
        d_weight = transpose(cut, perm=[1, 0, *range(2, n + 2)])
        d_bias = reduce_sum(grad, axes=[0, *range(2, n + 2)])
    """,
    "conv_transpose": """
        n = let(rank(input) - 2)
        s = let((stride if len(stride) > 0 else [1]) + repeat(0, n))
        d = let((dilation if len(dilation) > 0 else [1]) + repeat(0, n))
        p = let((padding if len(padding) > 0 else [0]) + repeat(0, 2 * n))
        k = let(shape(weight)[2:])
        near = conv(grad, weight, stride=s, padding=p, dilation=d, groups=groups)
        d_input = slice(near, starts=repeat(0, n), ends=shape(input)[2:], axes=range(2, n + 2))
        parts = let([shape(grad)[0], groups, shape(grad)[1] // groups, *shape(grad)[2:]])
        images = let([shape(grad)[1] // groups, groups * shape(grad)[0], *shape(grad)[2:]])
        split = transpose(reshape(grad, shape=parts), perm=[2, 1, 0, *range(3, n + 3)])
        x = reshape(split, shape=images)
        taps = transpose(input, perm=[1, 0, *range(2, n + 2)])
        w = conv(x, taps, stride=d, padding=p, dilation=s, groups=groups)
        cut = slice(w, starts=repeat(0, n), ends=k, axes=range(2, n + 2))
        d_weight = transpose(cut, perm=[1, 0, *range(2, n + 2)])
        d_bias = reduce_sum(grad, axes=[0, *range(2, n + 2)])
    """,
    "deform_conv": f"""
        d_input = {_DEFORM}.by_input
        d_weight = {_DEFORM}.by_weight
        d_offset = {_DEFORM}.by_offset
        d_mask = {_DEFORM}.by_mask
        d_bias = reduce_sum(grad, axes=[0, 2, 3])
    """,
    "conv2d_input_gradient": """
        d_grad = conv2d(grad_output, weight, padding=padding, stride=stride, dilation=dilation, \
            groups=groups)
        d_weight = conv2d_weight_gradient(grad, grad_output, shape=shape(weight), \
            padding=padding, stride=stride, dilation=dilation, groups=groups)
    """,
    "conv2d_weight_gradient": """
        d_grad = conv2d(input, grad_output, padding=padding, stride=stride, dilation=dilation, \
            groups=groups)
        d_input = conv2d_input_gradient(grad, grad_output, shape=shape(input), \
            padding=padding, stride=stride, dilation=dilation, groups=groups)
    """,
    "im2col": """
        d_input = col2im(grad, image=shape(input)[2:], kernel=kernel, stride=stride, \
            padding=padding, dilation=dilation)
    """,
    "col2im": """
        d_input = im2col(grad, kernel=kernel, stride=stride, padding=padding, dilation=dilation)
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
    "max_pool": """
        found = indices if given(indices) and storage_order == 0
        found = max_pool(input, ceil_mode=ceil_mode, kernel=kernel, stride=stride, \
            padding=padding, dilation=dilation).indices
        first = fill(shape=[], dtype=int64)
        places = reshape(maximum(found, first), shape=[size(grad)])
        taken = reshape(where(found < first, 0, grad), shape=[size(grad)])
        flat = gather_gradient(taken, places, shape=[size(input)])
        d_input = reshape(flat, shape=shape(input))
    """,
    "max_pool2d_gradient": """
        s = let(stride + kernel * max(0, 1 - stride))
        found = max_pool(input, ceil_mode=ceil_mode, kernel=kernel, stride=s, \
            padding=padding, dilation=dilation).indices
        d_grad = gather(reshape(grad_output, shape=[size(input)]), found)
    """,
    "avg_pool2d_gradient": """
        d_grad = avg_pool2d(grad_output, kernel=kernel, stride=stride, padding=padding, \
            dilation=dilation, ceil_mode=ceil_mode, count_include_pad=count_include_pad)
    """,
    "avg_pool": """
        n = let(rank(input) - 2)
        k = let(kernel + repeat(0, n))
        t = let((stride if len(stride) > 0 else [0]) + repeat(0, n))
        s = let(t + k * max(0, 1 - t))
        d = let((dilation if len(dilation) > 0 else [1]) + repeat(0, n))
        p = let((padding if len(padding) > 0 else [0]) + repeat(0, 2 * n))
        reach = let((shape(grad)[2:] - 1) * s + (k - 1) * d + 1)
        behind = let(max(p[n:], reach - shape(input)[2:] - p[:n]))
        ones = fill(shape=[1, 1, *shape(input)[2:]], dtype=dtype(grad), value=1)
        taps = fill(shape=[1, 1, *k], dtype=dtype(grad), value=1)
        padded = pad(ones, pads=[0, 0, *p[:n], 0, 0, *p[n:]], value=1)
        count = conv(padded, taps, stride=s, dilation=d, \
            padding=[*repeat(0, n), *(behind - p[n:])]) if count_include_pad
        count = conv(ones, taps, stride=s, dilation=d, padding=[*p[:n], *behind])
        share = reshape(grad / count, shape=[*shape(grad)[:2], 1, prod(shape(grad)[2:])])
        spread = broadcast(share, shape=[*shape(grad)[:2], prod(k), prod(shape(grad)[2:])])
        columns = reshape(spread, \
            shape=[shape(grad)[0], shape(grad)[1] * prod(k), prod(shape(grad)[2:])])
        d_input = col2im(columns, image=shape(input)[2:], kernel=k, stride=s, dilation=d, \
            padding=[*p[:n], *behind])
    """,
    "lp_pool": """
        n = let(rank(input) - 2)
        k = let(kernel + repeat(0, n))
        t = let((stride if len(stride) > 0 else [0]) + repeat(0, n))
        s = let(t + k * max(0, 1 - t))
        d = let((dilation if len(dilation) > 0 else [1]) + repeat(0, n))
        b = let((padding if len(padding) > 0 else [0]) + repeat(0, 2 * n))
        reach = let((shape(grad)[2:] - 1) * s + (k - 1) * d + 1)
        behind = let(max(b[n:], reach - shape(input)[2:] - b[:n]))
        bent = where(output == 0, 0, grad * pow(output, 1 - p))
        share = reshape(bent, shape=[*shape(grad)[:2], 1, prod(shape(grad)[2:])])
        spread = broadcast(share, shape=[*shape(grad)[:2], prod(k), prod(shape(grad)[2:])])
        columns = reshape(spread, \
            shape=[shape(grad)[0], shape(grad)[1] * prod(k), prod(shape(grad)[2:])])
        sum = col2im(columns, image=shape(input)[2:], kernel=k, stride=s, dilation=d, \
            padding=[*b[:n], *behind])
        d_input = sum * sign(input) * pow(abs(input), p - 1)
    """,
    "global_avg_pool": """
        share = scale(grad, factor=size(grad) / max(1, size(input)))
        d_input = broadcast(share, shape=shape(input))
    """,
    "global_max_pool": """
        chosen = cast(input == output, dtype=dtype(grad))
        d_input = chosen * (grad / sum_to(chosen, shape=shape(grad)))
    """,
    "global_lp_pool": """
        bent = where(output == 0, 0, grad * pow(output, 1 - p))
        d_input = bent * sign(input) * pow(abs(input), p - 1)
    """,
    "max_unpool": """
        n = let(rank(input) - 2)
        k = let((kernel if len(kernel) > 0 else [1]) + repeat(0, n))
        t = let((stride if len(stride) > 0 else [0]) + repeat(0, n))
        s = let(t + k * max(0, 1 - t))
        p = let((padding if len(padding) > 0 else [0]) + repeat(0, 2 * n))
        inner = let((shape(input)[2:] - 1) * s + k - p[:n] - p[n:])
        near = slice(grad, starts=repeat(0, n), ends=inner, axes=range(2, n + 2)) if len(size) > 0
        near = grad
        room = let(prod(shape(input)[:2]) * prod(inner))
        flat = reshape(indices, shape=[size(indices)])
        order = iota(shape=[size(indices)], dtype=int64)
        none = fill(shape=[room], dtype=int64)
        last = gather(scatter_elements(none, flat, order), flat) == order
        taken = where(last, gather(reshape(near, shape=[room]), flat), 0)
        d_input = reshape(taken, shape=shape(input))
    """,
    "adaptive_avg_pool": """
        across_square = eye(shape=[shape(input)[-1], shape(input)[-1]], dtype=dtype(grad))
        across = reshape(across_square, shape=[1, shape(input)[-1], shape(input)[-1]])
        columns = reshape(adaptive_avg_pool(across, size=[shape(grad)[-1]]), \
            shape=[shape(input)[-1], shape(grad)[-1]])
        wide = matmul(grad, columns, transpose_b=1)
        above_square = eye(shape=[shape(input)[-2], shape(input)[-2]], dtype=dtype(grad))
        above = reshape(above_square, shape=[1, shape(input)[-2], shape(input)[-2]])
        lines = reshape(adaptive_avg_pool(above, size=[shape(grad)[-2]]), \
            shape=[shape(input)[-2], shape(grad)[-2]])
        tall = matmul(lines, wide)
        behind_square = eye(shape=[shape(input)[-3], shape(input)[-3]], dtype=dtype(grad))
        behind = reshape(behind_square, shape=[1, shape(input)[-3], shape(input)[-3]])
        planes = reshape(adaptive_avg_pool(behind, size=[shape(grad)[-3]]), \
            shape=[shape(input)[-3], shape(grad)[-3]])
        images = let(shape(input)[-1] * shape(input)[-2])
        parts = let([*shape(grad)[:2], shape(grad)[-3], images])
        d_input = copy(wide) if rank(input) == 3
        d_input = copy(tall) if rank(input) == 4
        d_input = reshape(matmul(planes, reshape(tall, shape=parts)), shape=shape(input))
    """,
    # -- regions ---------------------------------------------------------------------------------
    "adaptive_max_pool": "d_input = adaptive_max_pool_gradient(grad, input, size=size)",
    "max_roi_pool": """
        d_input = max_roi_pool_gradient(grad, input, rois, height=height, width=width, \
            spatial_scale=spatial_scale)
    """,
    "roi_align": """
        d_input = roi_align_gradient(grad, input, rois, batch_indices, mode=mode, height=height, \
            width=width, sampling_ratio=sampling_ratio, spatial_scale=spatial_scale, \
            coordinates=coordinates)
    """,
    "roi_align_gradient": """
        d_grad = roi_align(grad_output, rois, batch_indices, height=height, width=width, \
            sampling_ratio=sampling_ratio, spatial_scale=spatial_scale, \
            coordinates=coordinates) if mode == 0
    """,
    "grid_sample": """
        d_input = grid_sample_gradient(grad, input, grid, mode=mode, padding_mode=padding_mode, \
            align_corners=align_corners).by_input
        d_grid = grid_sample_gradient(grad, input, grid, mode=mode, padding_mode=padding_mode, \
            align_corners=align_corners).by_grid
    """,
}
