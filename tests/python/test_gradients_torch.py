"""Gradients beside those of PyTorch 2.13.0, where it is installed; in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from catalog_calls import attributes_of

import wia
from wia.catalog import BY_NAME

torch: Any = pytest.importorskip("torch")
F: Any = torch.nn.functional


class Case(NamedTuple):
    """An operation on inputs (shapes, or arrays that have no gradient), and the same of PyTorch."""

    op: str
    inputs: tuple[Any, ...]
    function: Callable[..., Any]
    values: dict[str, Any] = {}  # noqa: RUF012  nobody writes to it
    positive: bool = False


IMAGE = (2, 4, 6, 5)
LABELS = np.array([0, 2, 1, 2, 0])
CASES = [
    Case("relu", ((3, 5),), torch.relu),
    Case("gelu", ((3, 5),), F.gelu),
    Case("gelu", ((3, 5),), lambda x: F.gelu(x, approximate="tanh"), {"approximate": 1}),
    Case("silu", ((3, 5),), F.silu),
    Case("mish", ((3, 5),), F.mish),
    Case("digamma", ((3, 5),), torch.digamma, positive=True),
    Case("polygamma", ((3, 5),), lambda x: torch.polygamma(2, x), {"order": 2}, positive=True),
    Case("lgamma", ((3, 5),), torch.lgamma, positive=True),
    Case("erfinv", ((3, 5),), torch.erfinv),
    Case("pow", ((3, 5), (3, 5)), torch.pow, positive=True),
    Case("reduce_prod", ((3, 5),), lambda x: x.prod()),
    Case("reduce_log_sum_exp", ((3, 5),), lambda x: x.logsumexp(1), {"axes": (1,)}),
    Case("cumprod", ((3, 5),), lambda x: x.cumprod(1), {"axis": 1}),
    Case("softmax", ((3, 5),), lambda x: x.softmax(-1)),
    Case("log_softmax", ((3, 5),), lambda x: x.log_softmax(-1)),
    Case("matmul", ((2, 3, 4), (4, 5)), torch.matmul),
    Case("linear", ((3, 4), (5, 4), (5,)), F.linear),
    Case("layer_norm", ((3, 4), (4,), (4,)), lambda x, w, b: F.layer_norm(x, (4,), w, b, 1e-5)),
    Case(
        "group_norm",
        (IMAGE, (4,), (4,)),
        lambda x, w, b: F.group_norm(x, 2, w, b, 1e-5),
        {"groups": 2},
    ),
    Case(
        "conv2d",
        (IMAGE, (6, 2, 3, 2), (6,)),
        lambda x, w, b: F.conv2d(x, w, b, (2, 1), (1, 0), (1, 2), 2),
        {"stride": (2, 1), "padding": (1, 0, 1, 0), "dilation": (1, 2), "groups": 2},
    ),
    Case(
        "conv_transpose",
        (IMAGE, (4, 3, 3, 2)),
        lambda x, w: F.conv_transpose2d(x, w, None, 2),
        {"stride": (2,)},
    ),
    Case(
        "max_pool2d",
        (IMAGE,),
        lambda x: F.max_pool2d(x, 3, 2, 1),
        {"kernel": (3, 3), "stride": (2, 2), "padding": (1, 1, 1, 1)},
    ),
    Case(
        "avg_pool2d",
        (IMAGE,),
        lambda x: F.avg_pool2d(x, 3, 2, 1),
        {"kernel": (3, 3), "stride": (2, 2), "padding": (1, 1, 1, 1), "count_include_pad": 1},
    ),
    Case(
        "adaptive_max_pool", (IMAGE,), lambda x: F.adaptive_max_pool2d(x, (4, 3)), {"size": (4, 3)}
    ),
    Case(
        "adaptive_avg_pool", (IMAGE,), lambda x: F.adaptive_avg_pool2d(x, (4, 3)), {"size": (4, 3)}
    ),
    Case("softmax_cross_entropy", ((5, 3), LABELS), F.cross_entropy),
    Case("bce_with_logits_loss", ((3, 5), (3, 5)), F.binary_cross_entropy_with_logits),
    Case("embedding", ((7, 3), LABELS), lambda w, i: F.embedding(i, w)),
    Case(
        "multi_head_attention",
        ((2, 3, 8), (2, 5, 8), (2, 5, 8)),
        lambda q, k, v: _heads(q, k, v),
        {"num_heads": 2},
    ),
    *(
        Case(
            "grid_sample",
            (IMAGE, (2, 3, 4, 2)),
            lambda x, g, m=mode, p=padding, a=align: F.grid_sample(
                x,
                g,
                ("bilinear", "nearest", "bicubic")[m],
                ("zeros", "border", "reflection")[p],
                bool(a),
            ),
            {"mode": mode, "padding_mode": padding, "align_corners": align},
        )
        for mode in range(3)
        for padding in range(3)
        for align in (0, 1)
    ),
    *(
        Case(
            "resize",
            (IMAGE,),
            lambda x, m=name, a=align: F.interpolate(x, (9, 4), mode=m, align_corners=a),
            {"sizes": (9, 4), "axes": (2, 3), "mode": mode, "coordinates": 3 if align else 0},
        )
        for mode, name in ((1, "bilinear"), (2, "bicubic"))
        for align in (False, True)
    ),
]


def _heads(q: Any, k: Any, v: Any) -> Any:
    """Attention of two heads that lie side by side."""
    parts = [x.reshape(x.shape[0], x.shape[1], 2, -1).transpose(1, 2) for x in (q, k, v)]
    return F.scaled_dot_product_attention(*parts).transpose(1, 2).reshape(q.shape)


@pytest.fixture(scope="module")
def ctx() -> Iterator[wia.Context]:
    """A context on the device that has every operation."""
    with wia.Context("reference") as context:
        yield context


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.op}-{case.values}")
def test_gradients_are_those_of_torch(ctx: wia.Context, case: Case) -> None:
    """The gradients by each input that is a float, of outputs weighted at random."""
    random = np.random.default_rng(2)
    arrays = [
        given if isinstance(given, np.ndarray) else random.uniform(-0.9, 0.9, given)
        for given in case.inputs
    ]
    if case.positive:
        arrays = [0.5 + abs(array) for array in arrays]
    floats = [i for i, array in enumerate(arrays) if array.dtype == np.float64]
    others = [torch.tensor(array, requires_grad=i in floats) for i, array in enumerate(arrays)]
    expected = case.function(*others)
    seed = random.standard_normal(tuple(expected.shape))
    expected.backward(torch.tensor(seed))
    given = [ctx.tensor(array) for array in arrays]
    missing: list[wia.Tensor | None] = [None] * (len(BY_NAME[case.op].inputs) - len(given))
    with wia.Tape() as tape:
        output = ctx.execute(case.op, [*given, *missing], **attributes_of(case.values))[0]
    np.testing.assert_allclose(output.numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-11)
    sources = [tensor for tensor in given if tensor.dtype == np.float64]
    slopes = tape.gradient(output, sources, seed=ctx.tensor(seed))
    for slope, place in zip(slopes, floats, strict=True):
        wanted = others[place].grad.numpy()
        np.testing.assert_allclose(slope.numpy(), wanted, rtol=1e-9, atol=1e-10)
