"""Results beside those of PyTorch 2.13.0, where it is installed: float64, drawn sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

import wia

torch: Any = pytest.importorskip("torch")
F: Any = torch.nn.functional
# It warns of what it changed between its versions.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

Array = np.ndarray[Any, Any]
TOLERANCE = 1e-11
"""Relative and absolute: sums of a few hundred products of size 1, rounded to 53 bits."""
SEEDS = range(12)


class Draw:
    """Sizes and numbers of one case, and the comparison."""

    def __init__(self, context: wia.Context, seed: int) -> None:
        self.wia: Any = context
        self.random = Random(seed)
        self.numpy = np.random.default_rng(seed)

    def size(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def sizes(self, count: int, low: int, high: int) -> list[int]:
        return [self.random.randint(low, high) for _ in range(count)]

    def flag(self) -> bool:
        return self.random.random() < 0.5

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def normal(self, *shape: int) -> Array:
        return self.numpy.standard_normal(shape)

    def to_wia(self, *values: Any) -> list[Any]:
        """Tensors of arrays; None stays."""
        return [v if v is None else self.wia.tensor(np.ascontiguousarray(v)) for v in values]


def same(got: wia.Tensor, expected: Any, scale: float = 1.0) -> None:
    """Guard: shape and values."""
    wanted = expected.detach().numpy()
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got.numpy(), wanted, rtol=TOLERANCE, atol=TOLERANCE * scale)


def to_torch(*values: Any) -> list[Any]:
    """Tensors of PyTorch; None stays."""
    return [v if v is None else torch.from_numpy(np.array(v)) for v in values]


@pytest.fixture(params=SEEDS)
def draw(request: pytest.FixtureRequest) -> Iterator[Draw]:
    """One of the cases, on the reference driver: conformance compares the others with it."""
    with wia.Context("reference") as context:
        yield Draw(context, request.param)


def _by_rank(name: str, rank: int) -> Any:
    return getattr(F, f"{name}{rank}d")


def test_convolutions(draw: Draw) -> None:
    """One to three dimensions; groups, strides, padding and dilation of each."""
    for rank in (1, 2, 3):
        groups = draw.size(1, 3)
        kernel, dilation, stride = (draw.sizes(rank, 1, n) for n in (3, 2, 3))
        padding = draw.sizes(rank, 0, 2)
        inputs, outputs = groups * draw.size(1, 3), groups * draw.size(1, 3)
        x = draw.normal(draw.size(1, 2), inputs, *draw.sizes(rank, 5, 9))
        w, b = draw.normal(outputs, inputs // groups, *kernel), draw.normal(outputs)
        given = {"stride": stride, "dilation": dilation, "groups": groups}
        got = draw.wia.conv(*draw.to_wia(x, w, b), padding=padding * 2, **given)
        same(got, _by_rank("conv", rank)(*to_torch(x, w, b), padding=padding, **given))

        more = [draw.size(0, max(pair) - 1) for pair in zip(stride, dilation, strict=True)]
        w = draw.normal(inputs, outputs // groups, *kernel)
        padding = draw.sizes(rank, 0, 1)
        given["output_padding"] = more
        got = draw.wia.conv_transpose(*draw.to_wia(x, w, b), padding=padding * 2, **given)
        expected = _by_rank("conv_transpose", rank)(*to_torch(x, w, b), padding=padding, **given)
        same(got, expected)


def test_pools(draw: Draw) -> None:
    """With ceil_mode, count_include_pad and dilation; and to a size."""
    for rank in (1, 2, 3):
        kernel, stride, dilation = (draw.sizes(rank, 1, n) for n in (3, 3, 2))
        padding = [draw.size(0, size // 2) for size in kernel]
        x = draw.normal(draw.size(1, 2), draw.size(1, 3), *draw.sizes(rank, 6, 9))
        (a,), (b,) = draw.to_wia(x), to_torch(x)
        ceil, counted = draw.flag(), draw.flag()
        given: Any = {"kernel": kernel, "stride": stride, "padding": padding * 2}
        got, _ = draw.wia.max_pool(a, ceil_mode=ceil, dilation=dilation, **given)
        pool = _by_rank("max_pool", rank)
        same(got, pool(b, kernel, stride, padding, dilation=dilation, ceil_mode=ceil))
        got = draw.wia.avg_pool(a, ceil_mode=ceil, count_include_pad=counted, **given)
        pool = _by_rank("avg_pool", rank)
        same(got, pool(b, kernel, stride, padding, ceil_mode=ceil, count_include_pad=counted))
        size = draw.sizes(rank, 1, 7)
        same(draw.wia.adaptive_avg_pool(a, size=size), _by_rank("adaptive_avg_pool", rank)(b, size))
        same(draw.wia.adaptive_max_pool(a, size=size), _by_rank("adaptive_max_pool", rank)(b, size))


def test_windows_as_columns(draw: Draw) -> None:
    """im2col and what adds it up again."""
    kernel, stride, dilation = (draw.sizes(2, 1, n) for n in (3, 2, 2))
    padding, image = draw.sizes(2, 0, 1), draw.sizes(2, 5, 8)
    x = draw.normal(2, draw.size(1, 3), *image)
    given: Any = {"kernel": kernel, "stride": stride, "dilation": dilation, "padding": padding * 2}
    columns = F.unfold(*to_torch(x), kernel, dilation, padding, stride)
    same(draw.wia.im2col(*draw.to_wia(x), **given), columns)
    got = draw.wia.col2im(*draw.to_wia(columns.numpy()), image=image, **given)
    same(got, F.fold(columns, image, kernel, dilation, padding, stride))


def test_normalisations(draw: Draw) -> None:
    """Over groups, planes, the last dimensions, and channels beside one another."""
    groups = draw.size(1, 3)
    channels = groups * draw.size(1, 3)
    x = draw.normal(draw.size(1, 3), channels, *draw.sizes(draw.size(1, 3), 2, 5))
    w, b = draw.normal(channels), draw.normal(channels)
    (a, *wb), (t, *scales) = draw.to_wia(x, w, b), to_torch(x, w, b)
    same(draw.wia.group_norm(a, *wb, groups=groups), F.group_norm(t, groups, *scales))
    expected = F.instance_norm(t, weight=scales[0], bias=scales[1])
    same(draw.wia.instance_norm(a, *wb), expected)
    size = draw.pick(1, 3, 5)
    got = draw.wia.lrn(a, size=size, alpha=0.1, beta=0.6, bias=1.5)
    same(got, F.local_response_norm(t, size, 0.1, 0.6, 1.5))
    axis = draw.size(1, x.ndim - 1)
    rest = x.shape[axis:]
    w, b = draw.normal(*rest), draw.normal(*rest)
    wb, scales = draw.to_wia(w, b), to_torch(w, b)
    same(draw.wia.layer_norm(a, *wb, axis=axis), F.layer_norm(t, rest, *scales), scale=100)
    got = draw.wia.rms_norm(a, wb[0], axis=axis)
    same(got, F.rms_norm(t, rest, scales[0], eps=1e-5))


def test_running_results(draw: Draw) -> None:
    """Sums, products, extremes; also with NaN and infinities."""
    x = draw.normal(*draw.sizes(draw.size(1, 3), 1, 6))
    axis = draw.size(-x.ndim, x.ndim - 1)
    if draw.flag():
        x.flat[draw.size(0, x.size - 1)] = draw.pick(np.nan, np.inf, -np.inf)
    (a,), (t,) = draw.to_wia(x), to_torch(x)
    same(draw.wia.cumsum(a, axis=axis), t.cumsum(axis))
    same(draw.wia.cumprod(a, axis=axis), t.cumprod(axis))
    same(draw.wia.log_cumsum_exp(a, axis=axis), t.logcumsumexp(axis))
    same(draw.wia.log_softmax(a, axis=axis), t.log_softmax(axis))
    same(draw.wia.reduce_log_sum_exp(a, axes=[axis]), t.logsumexp(axis))
    for name in ("cummax", "cummin"):
        got, places = getattr(draw.wia, name)(a, axis=axis)
        values, indices = getattr(torch, name)(t, axis)
        same(got, values)
        if not np.isnan(x).any():
            same(places, indices)


def test_losses(draw: Draw) -> None:
    """Each reduction; classes with weights, and a target that is ignored."""
    classes = draw.size(1, 5)
    shape = [draw.size(1, 5), classes, *draw.sizes(draw.size(0, 2), 1, 3)]
    x, y = draw.normal(*shape), draw.normal(*shape)
    target = draw.numpy.integers(0, classes, (shape[0], *shape[2:]))
    if draw.flag() and target.size > 1:
        target.flat[0] = -100
    weight = abs(draw.normal(classes)) + 0.1 if draw.flag() else None
    by: Any = {"reduction": draw.pick("mean", "sum", "none")}
    (a, b, labels, w), (s, t, places, v) = (
        draw.to_wia(x, y, target, weight),
        to_torch(x, y, target, weight),
    )
    got, _ = draw.wia.softmax_cross_entropy(a, labels, w, **by)
    same(got, F.cross_entropy(s, places, v, **by))
    logs = s.log_softmax(1)
    (c,) = draw.to_wia(logs.numpy())
    same(draw.wia.nll_loss(c, labels, w, **by), F.nll_loss(logs, places, v, **by))
    same(draw.wia.mse_loss(a, b, **by), F.mse_loss(s, t, **by))
    same(draw.wia.l1_loss(a, b, **by), F.l1_loss(s, t, **by))
    same(draw.wia.huber_loss(a, b, delta=0.7, **by), F.huber_loss(s, t, delta=0.7, **by))
    same(draw.wia.smooth_l1_loss(a, b, beta=0.7, **by), F.smooth_l1_loss(s, t, beta=0.7, **by))
    p, q = draw.numpy.random(shape), draw.numpy.random(shape)
    p.flat[0] = q.flat[0] = 0
    (a, b, c), (s, t, u) = draw.to_wia(p, q, 30 * x), to_torch(p, q, 30 * x)
    same(draw.wia.bce_loss(a, b, **by), F.binary_cross_entropy(s, t, **by))
    expected = F.binary_cross_entropy_with_logits(u, t, **by)
    same(draw.wia.bce_with_logits_loss(c, b, **by), expected)
    same(draw.wia.kl_div_loss(c, b, **by), F.kl_div(u, t, **by), scale=100)
    same(draw.wia.cosine_similarity(b, c, axis=1), F.cosine_similarity(t, u, 1))


def test_sizes_of_images(draw: Draw) -> None:
    """resize, in the ways that both know."""
    x = draw.normal(1, 2, *draw.sizes(2, 1, 7))
    size = draw.sizes(2, 1, 9)
    (a,), (t,) = draw.to_wia(x), to_torch(x)
    to: Any = {"sizes": size, "axes": (2, 3)}
    near = {"mode": "nearest", "coordinates": "asymmetric", "nearest_mode": "floor"}
    same(draw.wia.resize(a, **to, **near), F.interpolate(t, size, mode="nearest"))
    for mode, name in (("linear", "bilinear"), ("cubic", "bicubic")):
        ends = {"mode": mode, "coordinates": "align_corners"}
        expected = F.interpolate(t, size, mode=name, align_corners=True)
        same(draw.wia.resize(a, **to, **ends), expected)
        half = {"mode": mode, "coordinates": "half_pixel"}
        expected = F.interpolate(t, size, mode=name, align_corners=False)
        same(draw.wia.resize(a, **to, **half), expected)
        if size[1] == 1:
            continue  # PyTorch 2.13.0 gives the first row again and again when it smooths
        # It smooths with another cubic, and leaves out what lies outside.
        smooth = half | {"antialias": True, "cubic_a": -0.5, "exclude_outside": True}
        expected = F.interpolate(t, size, mode=name, align_corners=False, antialias=True)
        same(draw.wia.resize(a, **to, **smooth), expected)


def test_samples_at_places(draw: Draw) -> None:
    """grid_sample and affine_grid."""
    modes = {"nearest": "nearest", "linear": "bilinear", "cubic": "bicubic"}
    for rank in (2, 3):
        x = draw.normal(2, 2, *draw.sizes(rank, 1, 5))
        grid = 1.2 * draw.normal(2, *draw.sizes(rank, 1, 4), rank)
        corners = draw.flag()
        for mode in [*modes][: 5 - rank]:
            # A cubic at the border is ONNX's: the place is moved there. PyTorch moves neighbours.
            for padding in ("zeros", "reflection", "border")[: 2 if mode == "cubic" else 3]:
                got = draw.wia.grid_sample(
                    *draw.to_wia(x, grid), mode=mode, padding_mode=padding, align_corners=corners
                )
                same(got, F.grid_sample(*to_torch(x, grid), modes[mode], padding, corners), 10)
        theta, size = draw.normal(2, rank, rank + 1), [2, 3, *draw.sizes(rank, 1, 4)]
        got = draw.wia.affine_grid(*draw.to_wia(theta), size=size, align_corners=corners)
        same(got, F.affine_grid(*to_torch(theta), size, corners))


def test_attention(draw: Draw) -> None:
    """Groups of heads; causal, or with a mask."""
    batch, heads, width = draw.sizes(3, 1, 4)
    queries, keys = draw.size(1, 5), draw.size(1, 6)
    q = draw.normal(batch, heads * draw.size(1, 2), queries, width)
    k, v = draw.normal(batch, heads, keys, width), draw.normal(batch, heads, keys, width)
    mask = draw.numpy.random((queries, keys)) > 0.4
    mask[:, 0] = True
    operands, theirs = draw.to_wia(q, k, v), to_torch(q, k, v)
    attend = F.scaled_dot_product_attention
    got, *_ = draw.wia.attention(*operands, causal=True)
    same(got, attend(*theirs, is_causal=True, enable_gqa=True))
    got, *_ = draw.wia.attention(*operands, *draw.to_wia(mask))
    same(got, attend(*theirs, attn_mask=to_torch(mask)[0], enable_gqa=True))


GATES = {"rnn": (0,), "gru": (1, 0, 2), "lstm": (0, 3, 1, 2)}
"""The gates of PyTorch's layers, in the order of ONNX."""


@pytest.mark.parametrize("kind", GATES)
def test_recurrent_layers(draw: Draw, kind: str) -> None:
    """One direction, and both."""
    length, batch, inputs, hidden = draw.sizes(4, 1, 5)
    x = draw.normal(length, batch, inputs)
    both = draw.flag()
    make = getattr(torch.nn, kind.upper())
    layer = make(inputs, hidden, bidirectional=both, dtype=torch.float64)

    def weights(name: str) -> Array:
        ends: Sequence[str] = ("_l0", "_l0_reverse") if both else ("_l0",)
        found = np.stack([getattr(layer, name + end).detach().numpy() for end in ends])
        parts = np.split(found, len(GATES[kind]), axis=1)
        return np.concatenate([parts[i] for i in GATES[kind]], axis=1)

    with torch.no_grad():
        for weight in layer.parameters():
            weight.copy_(torch.from_numpy(draw.normal(*weight.shape)))
        expected, _ = layer(*to_torch(x))
    bias = np.concatenate([weights("bias_ih"), weights("bias_hh")], axis=1)
    operands = draw.to_wia(x, weights("weight_ih"), weights("weight_hh"), bias)
    given: Any = {"direction": "both" if both else "forward"}
    if kind == "gru":
        given["linear_before_reset"] = True
    got, *_ = getattr(draw.wia, kind)(*operands, **given)
    same(got, expected.reshape(length, batch, -1, hidden).transpose(1, 2))
