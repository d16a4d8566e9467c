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
PLACES = np.array([1, 3, 1, 7, 0, 3])


def _codes(equation: str) -> dict[str, Any]:
    return {"equation": tuple(equation.encode())}


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
        "einsum",
        ((3, 4), (4, 5)),
        lambda a, b: torch.einsum("ij,jk->ki", a, b),
        _codes("ij,jk->ki"),
    ),
    Case(
        "einsum",
        ((2, 1, 3, 4), (5, 4, 3)),
        lambda a, b: torch.einsum("...ij,...jk->...ik", a, b),
        _codes("...ij,...jk->...ik"),
    ),
    Case(
        "einsum", ((4, 4, 3), (2,)), lambda a, b: torch.einsum("iij,k->j", a, b), _codes("iij,k->j")
    ),
    *(
        Case(
            kind,
            (
                (4, 2, 3),
                (d, gates * 5, 3),
                (d, gates * 5, 5),
                (d, 2 * gates * 5),
                None,
                *[(d, 2, 5)] * (2 if kind == "lstm" else 1),
            ),
            lambda x, w, r, bias, *states, k=kind: _layer(k, x, w, r, bias, states),
            {"direction": 2 * (d - 1), **({"linear_before_reset": 1} if kind == "gru" else {})},
        )
        for kind, gates in (("rnn", 1), ("gru", 3), ("lstm", 4))
        for d in (1, 2)
    ),
    *(
        Case(
            f"scatter_{kind}",
            ((8,), PLACES if kind == "elements" else PLACES[:, None], (6,)),
            lambda x, i, u, r=reduce: x.scatter_reduce(0, i.flatten(), u, r),
            {"reduction": reduction},
        )
        for kind in ("elements", "nd")
        for reduction, reduce in ((1, "sum"), (2, "prod"), (3, "amax"), (4, "amin"))
    ),
    *(
        Case(
            "embedding_bag",
            ((7, 3), LABELS, np.array([0, 2])),
            lambda w, i, o, m=name: F.embedding_bag(i, w, o, mode=m),
            {"mode": mode},
        )
        for mode, name in enumerate(("sum", "mean", "max"))
    ),
    Case(
        "embedding_bag",
        ((7, 3), LABELS, np.array([0, 2]), (5,)),
        lambda w, i, o, f: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=f),
    ),
    *(
        Case(
            f"adaptive_{kind}_pool",
            ((1, 2, *sizes),),
            lambda x, f=f"adaptive_{kind}_pool{rank}d", s=size: getattr(F, f)(x, s),
            {"size": size},
        )
        for kind in ("avg", "max")
        for rank, sizes, size in ((1, (7,), (3,)), (3, (5, 4, 6), (2, 3, 4)))
    ),
    Case("cummax", ((3, 5),), lambda x: x.cummax(1)[0], {"axis": 1}),
    Case("cummin", ((3, 5),), lambda x: x.cummin(1)[0], {"axis": 1}),
    Case(
        "attention",
        ((2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 6)),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
    ),
    Case(
        "dft",
        ((3, 4, 2),),
        lambda x: torch.fft.irfft(torch.view_as_complex(x), dim=1)[..., None],
        {"axis": 1, "inverse": 1, "onesided": 1},
    ),
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


ORDERS = {"rnn": [0], "gru": [1, 0, 2], "lstm": [0, 2, 3, 1]}
"""Where PyTorch's gates are among those of ONNX."""


def _layer(kind: str, x: Any, w: Any, r: Any, bias: Any, states: Any) -> Any:
    """All hidden states of a recurrent layer, [s, directions, b, h]."""
    directions, size, order = r.shape[0], r.shape[2], ORDERS[kind]

    def sorted_gates(weight: Any) -> Any:
        parts = weight.reshape(len(order), size, *weight.shape[1:])
        return parts[order].reshape(weight.shape)

    flat = []
    for d in range(directions):
        both = bias[d].reshape(2, -1)
        flat += [sorted_gates(item) for item in (w[d], r[d], both[0], both[1])]
    function = getattr(torch, "rnn_tanh" if kind == "rnn" else kind)
    given = list(states) if kind == "lstm" else states[0]
    result = function(x, given, flat, True, 1, 0.0, False, directions == 2, False)[0]
    return result.reshape(*x.shape[:2], directions, size).permute(0, 2, 1, 3)


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
    arrays: list[Any] = [
        given
        if given is None or isinstance(given, np.ndarray)
        else random.uniform(-0.9, 0.9, given)
        for given in case.inputs
    ]
    if case.positive:
        arrays = [0.5 + abs(array) for array in arrays]
    floats = [
        i for i, array in enumerate(arrays) if array is not None and array.dtype == np.float64
    ]
    others: list[Any] = [
        None if array is None else torch.tensor(array, requires_grad=i in floats)
        for i, array in enumerate(arrays)
    ]
    expected = case.function(*(item for item in others if item is not None))
    seed = random.standard_normal(tuple(expected.shape))
    expected.backward(torch.tensor(seed))
    given = [None if array is None else ctx.tensor(array) for array in arrays]
    missing: list[wia.Tensor | None] = [None] * (len(BY_NAME[case.op].inputs) - len(given))
    with wia.Tape() as tape:
        output = ctx.execute(case.op, [*given, *missing], **attributes_of(case.values))[0]
    np.testing.assert_allclose(output.numpy(), expected.detach().numpy(), rtol=1e-9, atol=1e-11)
    sources = [tensor for tensor in given if tensor is not None and tensor.dtype == np.float64]
    slopes = tape.gradient(output, sources, seed=ctx.tensor(seed))
    for slope, place in zip(slopes, floats, strict=True):
        wanted = others[place].grad.numpy()
        np.testing.assert_allclose(slope.numpy(), wanted, rtol=1e-9, atol=1e-10)
