"""Attention over heads, with masks and a cache of keys and values."""

from __future__ import annotations

from typing import Any

from ._attention import allowed, attend, bias_of, join_heads, split_heads
from ._cost import elements
from ._forms import flag
from ._model import (
    FLOATS,
    INT32_MAX,
    Attribute,
    Choice,
    Operand,
    Operation,
    Option,
    Sample,
    Scalar,
    Shape,
    Standard,
    Tolerance,
    Values,
)
from ._numeric import ScalarError, narrow, widen

_CAUSAL = 1


def attention(
    np: Any,
    queries: Any,
    keys: Any,
    values: Any,
    mask: Any = None,
    past_keys: Any = None,
    past_values: Any = None,
    lengths: Any = None,
    **given: Any,
) -> tuple[Any, Any, Any, Any]:
    """softmax(scale * q k^T + mask) v for each head, with keys and values of the past."""
    if not given["softcap"] >= 0:
        raise ScalarError(f"softcap is {given['softcap']}; expected 0 or more")
    flat = queries.ndim == 3
    if flat:
        queries = split_heads(queries, given["heads"])
        keys, values = (split_heads(item, given["kv_heads"]) for item in (keys, values))
    start = 0
    if past_keys is not None:
        start = past_keys.shape[2]
        keys = np.concatenate((past_keys, keys), axis=2)
        values = np.concatenate((past_values, values), axis=2)
    size = (queries.shape[2], keys.shape[2])
    if lengths is not None:
        start = lengths.astype(np.int64) - size[0]
    sides = (given["left"], given["right"])
    open_ = allowed(np, size, start, bool(given["causal"]), *sides)
    if lengths is not None:
        open_ = open_ & (np.arange(size[1]) < lengths.reshape(-1, 1, 1, 1))
    bias = np.where(open_, 0.0, -np.inf)
    if mask is not None:
        bias = bias + bias_of(np, mask, size[1])
    wide = [widen(np, item) for item in (queries, keys, values)]
    scalars = {"scale": given["scale"], "softcap": given["softcap"]}
    result, steps = attend(np, *wide, dtype=queries.dtype, bias=bias, **scalars)
    shown = narrow(np, steps[given["shown"]], queries.dtype)
    return (
        join_heads(np, result) if flat else result,
        np.ascontiguousarray(keys),
        np.ascontiguousarray(values),
        shown,
    )


def multi_head_attention(
    np: Any,
    queries: Any,
    keys: Any,
    values: Any,
    *,
    num_heads: int,
    attention_pattern: int,
    **_: Any,
) -> Any:
    """Attention of [b, s, h * d] operands, each head on its own."""
    parts = [split_heads(widen(np, item), num_heads) for item in (queries, keys, values)]
    size = (queries.shape[1], keys.shape[1])
    open_ = allowed(np, size, 0, attention_pattern == _CAUSAL)
    bias = np.where(open_, 0.0, -np.inf)
    result, _steps = attend(np, *parts, dtype=queries.dtype, bias=bias, scale=0.0)
    return join_heads(np, result)


def _error(np: Any, operands: Any, steps: Any, scale: float) -> Any:
    """What each rounding is relative to: values times how far scores may be off, and 2."""
    queries, keys, values = operands
    repeats = queries.shape[1] // max(1, keys.shape[1])
    keys, values = (np.repeat(abs(item), repeats, axis=1) for item in (keys, values))
    factor = abs(scale) or 1.0 / max(1, queries.shape[-1]) ** 0.5
    sizes = (abs(queries)[..., None, :] * keys[..., None, :, :]).sum(-1) * factor
    finite = np.where(np.isfinite(steps[2]), abs(steps[2]), 0.0)
    largest = np.max(sizes + finite, axis=-1, keepdims=True, initial=0.0)
    return (2.0 + 2.0 * largest) * np.matmul(steps[3], values)


def _with_bools(rest: tuple[Any, ...]) -> tuple[Any, ...]:
    """Optional inputs whose mask, if it was one of bools, is one again: its wide copy isn't."""
    if not rest or rest[0] is None or rest[0].dtype.kind not in "iu":
        return rest
    return (rest[0] != 0, *rest[1:])


def _attention_magnitude(
    np: Any, queries: Any, keys: Any, values: Any, *rest: Any, **given: Any
) -> Any:
    flat = queries.ndim == 3
    rest = _with_bools(rest)
    outputs = [
        attention(np, queries, keys, values, *rest, **{**given, "shown": shown}) for shown in (2, 3)
    ]
    steps = (None, None, outputs[0][3], outputs[1][3])
    heads = split_heads(queries, given["heads"]) if flat else queries
    error = _error(np, (heads, *outputs[0][1:3]), steps, given["scale"])
    return join_heads(np, error) if flat else error


def _shown_magnitude(
    np: Any, queries: Any, keys: Any, values: Any, *rest: Any, **given: Any
) -> Any:
    rest = _with_bools(rest)
    outputs = attention(np, queries, keys, values, *rest, **given)
    heads = split_heads(queries, given["heads"]) if queries.ndim == 3 else queries
    repeats = heads.shape[1] // max(1, outputs[1].shape[1])
    past = np.repeat(abs(outputs[1]), repeats, axis=1)
    scale = given["scale"] or 1.0 / max(1, heads.shape[-1]) ** 0.5
    sizes = (abs(heads)[..., None, :] * past[..., None, :, :]).sum(-1) * abs(scale)
    finite = np.where(np.isfinite(outputs[3]), abs(outputs[3]), 0.0)
    if given["shown"] == 3:
        return finite * (2.0 + 2.0 * np.max(sizes, axis=-1, keepdims=True, initial=0.0))
    return sizes + finite


def _multi_magnitude(np: Any, queries: Any, keys: Any, values: Any, **given: Any) -> Any:
    parts = [split_heads(item, given["num_heads"]) for item in (queries, keys, values)]
    open_ = allowed(np, (queries.shape[1], keys.shape[1]), 0, given["attention_pattern"] == _CAUSAL)
    bias = np.where(open_, 0.0, -np.inf)
    _, steps = attend(np, *parts, dtype=queries.dtype, bias=bias, scale=0.0)
    return join_heads(np, _error(np, parts, steps, 0.0))


def _keys(shapes: tuple[Shape | None, ...]) -> int:
    past = shapes[4] if len(shapes) > 4 else None
    return (shapes[1] or (0, 0, 0))[-2] + (past[-2] if past else 0)


def _length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    return (shapes[0] or (0,))[-1] + 2 * _keys(shapes) + 16


def _flops(shapes: tuple[Shape | None, ...], out: Shape, values: Values) -> float:
    return 2.0 * _keys(shapes) * (elements(shapes[0]) + elements(out))


_REASON = (
    "Roundings of both products, of softmax and of 16 steps, relative to the shares' sum of "
    "absolute values times how far a score may be off."
)
_EXACT = Tolerance(reason="Copied.")


def _side(name: str, where: str) -> Attribute:
    return Attribute(
        name=name,
        summary=f"Keys {where} its own place that a query looks at; -1: all.",
        default=-1,
        minimum=-1,
        maximum=INT32_MAX,
    )


def _heads(name: str, summary: str) -> Attribute:
    return Attribute(name=name, summary=summary, default=0, maximum=INT32_MAX)


ATTENTION = Operation(
    number=370,
    name="attention",
    summary="Scaled dot-product attention over heads, with mask, groups, soft cap and cache.",
    formula="output = softmax(cap(scale * queries keys^T) + mask) values for each head, keys and "
    "values behind those of the past; cap(x) = softcap * tanh(x / softcap)",
    inputs=(
        Operand(name="queries", summary="[b, heads, q, d], or [b, q, heads * d]."),
        Operand(name="keys", summary="[b, kv_heads, k, d], or [b, k, kv_heads * d] like queries."),
        Operand(
            name="values", summary="[b, kv_heads, k, v], or [b, k, kv_heads * v] like queries."
        ),
        Operand(
            name="mask",
            summary="Broadcasts to [b, heads, q, total] but for a shorter last dimension, behind "
            "which nothing is looked at. bool: true where a key may be looked at; else added.",
            optional=True,
            dtypes=(*FLOATS, "bool"),
        ),
        Operand(
            name="past_keys", summary="[b, kv_heads, past, d], with past_values.", optional=True
        ),
        Operand(
            name="past_values", summary="[b, kv_heads, past, v], with past_keys.", optional=True
        ),
        Operand(
            name="lengths",
            summary="[b]: keys that count in each batch; not with a past.",
            optional=True,
            dtypes=("int64",),
        ),
    ),
    outputs=(
        Operand(name="output", summary="[b, heads, q, v], or [b, q, heads * v] like queries."),
        Operand(
            name="present_keys",
            summary="[b, kv_heads, total, d], total = past + k: past and keys.",
            optional=True,
            tolerance=_EXACT,
        ),
        Operand(
            name="present_values",
            summary="[b, kv_heads, total, v]: past and values.",
            optional=True,
            tolerance=_EXACT,
        ),
        Operand(
            name="scores",
            summary="[b, heads, q, total]: the step that shown names.",
            optional=True,
            tolerance=Tolerance(
                ulps=1.0, length=_length, magnitude=_shown_magnitude, reason=_REASON
            ),
        ),
    ),
    family="attention",
    dtypes=FLOATS,
    semantics=attention,
    notes=(
        "kv_heads divides heads: query head h looks at key head h * kv_heads / heads. The place "
        "of query i among the keys is past + i, or lengths - q + i; with causal it looks at those "
        "up to there.",
        "A query that may look at no key gives 0. All is computed in the accumulator and rounded "
        "once.",
    ),
    standard=Standard(
        name="Attention", opset=25, note="softmax_precision is that of the accumulator"
    ),
    attributes=(
        flag("causal", "1: later keys aren't looked at."),
        _side("left", "before"),
        _side("right", "behind"),
        _heads("heads", "Heads of queries; has to be given for rank 3, and fits or is 0 else."),
        _heads("kv_heads", "Heads of keys and values; likewise."),
        Attribute(
            name="shown",
            summary="What scores shows.",
            default=0,
            maximum=3,
            enum="wia_attention_step_t",
            choices=(
                Choice(name="PRODUCT", value=0, summary="The scaled product."),
                Choice(name="CAPPED", value=1, summary="After the soft cap."),
                Choice(name="MASKED", value=2, summary="After the mask was added."),
                Choice(name="SHARES", value=3, summary="After softmax."),
            ),
        ),
    ),
    scalars=(
        Scalar(name="scale", summary="Factor of the product; 0: 1 / sqrt(d).", default=0.0),
        Scalar(name="softcap", summary="Bound of scores; 0: none.", default=0.0),
    ),
    config="wia_attention_config_t",
    tolerance=Tolerance(ulps=1.0, length=_length, magnitude=_attention_magnitude, reason=_REASON),
    flops=_flops,
    samples=(
        Sample(shapes=((2, 3, 4, 8), (2, 3, 6, 8), (2, 3, 6, 5), None, None, None, None)),
        Sample(
            shapes=(
                (1, 4, 3, 8),
                (1, 2, 3, 8),
                (1, 2, 3, 8),
                None,
                (1, 2, 2, 8),
                (1, 2, 2, 8),
                None,
            ),
            values={"causal": 1, "softcap": 2.0, "left": 2},
        ),
        Sample(
            shapes=((2, 5, 12), (2, 7, 6), (2, 7, 10), (5, 4), None, None, None),
            values={"heads": 4, "kv_heads": 2, "scale": 0.3, "shown": 3},
        ),
        Sample(
            shapes=((2, 1, 3, 4), (2, 1, 9, 4), (2, 1, 9, 4), None, None, None, (2,)),
            values={"causal": 1, "shown": 2},
            fills=("normal",) * 6 + ("0..9",),
        ),
        Sample(shapes=((0, 2, 3, 4), (0, 2, 3, 4), (0, 2, 3, 4), None, None, None, None)),
        Sample(
            shapes=((1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4), None, None, None, None),
            values={"softcap": 1.5, "shown": 1},
        ),
    ),
    source="ONNX node tests attention_*; rows of which nothing is looked at by hand",
)

MULTI_HEAD_ATTENTION = Operation(
    number=371,
    name="multi_head_attention",
    summary="Attention of each head on its own part of the last dimension.",
    formula="output = softmax(queries keys^T / sqrt(d)) values for each head",
    inputs=(
        Operand(name="queries", summary="[b, q, num_heads * d]."),
        Operand(name="keys", summary="[b, k, num_heads * d]."),
        Operand(name="values", summary="[b, k, num_heads * v]."),
    ),
    outputs=(Operand(name="output", summary="[b, q, num_heads * v]."),),
    family="multi_head_attention",
    dtypes=FLOATS,
    semantics=multi_head_attention,
    notes=(
        "wia_attention() has masks, groups of heads and a cache. A query without a key gives 0.",
    ),
    standard=Standard(name="Attention", opset=24, note="rank 3, heads alike, no mask"),
    options=(
        Option(
            name="use_flash_attention",
            summary="1: blocks of scores may be rescaled on the way, which rounds otherwise.",
            default=0,
            kind="bool",
            maximum=1,
            field="uint32_t",
        ),
    ),
    attributes=(
        Attribute(
            name="num_heads",
            summary="Heads.",
            default=1,
            minimum=1,
            maximum=INT32_MAX,
            zero_is_default=True,
        ),
        Attribute(
            name="head_dim",
            summary="Checked against the last dimension of queries unless 0.",
            default=0,
            maximum=INT32_MAX,
        ),
        Attribute(
            name="sequence_length",
            summary="Checked against q unless 0.",
            default=0,
            maximum=INT32_MAX,
        ),
        Attribute(
            name="attention_pattern",
            summary="Which keys a query looks at.",
            default=0,
            maximum=1,
            enum="wia_attention_t",
            choices=(
                Choice(name="FULL", value=0, summary="All."),
                Choice(name="CAUSAL", value=1, summary="Those up to its own place."),
            ),
        ),
    ),
    config="wia_transformer_attention_config_t",
    tolerance=Tolerance(ulps=1.0, length=_length, magnitude=_multi_magnitude, reason=_REASON),
    flops=_flops,
    samples=(
        Sample(shapes=((2, 4, 6), (2, 5, 6), (2, 5, 9)), values={"num_heads": 3}),
        Sample(
            shapes=((1, 7, 8), (1, 7, 8), (1, 7, 8)),
            values={"num_heads": 2, "attention_pattern": 1, "head_dim": 4, "sequence_length": 7},
        ),
        Sample(shapes=((1, 2, 33), (1, 31, 33), (1, 31, 33)), fills=("positive", "positive")),
        Sample(shapes=((0, 4, 6), (0, 5, 6), (0, 5, 6)), values={"num_heads": 2}),
    ),
    source="ONNX's vectors by way of attention, as a special case of it",
)

OPERATIONS = (ATTENTION, MULTI_HEAD_ATTENTION)
