"""Attention, in the steps of its definition."""

from __future__ import annotations

import math
from typing import Any

from ._numeric import narrow, widen
from ._products import finished_product, product

SCORES, CAPPED, MASKED, SHARES = range(4)
"""What the fourth output shows."""


def split_heads(array: Any, heads: int) -> Any:
    """[b, s, h * d] as [b, h, s, d]."""
    batch, length, width = array.shape
    return array.reshape(batch, length, heads, width // heads).swapaxes(1, 2)


def join_heads(np: Any, array: Any) -> Any:
    """[b, h, s, d] as [b, s, h * d]."""
    batch, heads, length, width = array.shape
    return np.ascontiguousarray(array.swapaxes(1, 2)).reshape(batch, length, heads * width)


def allowed(np: Any, shape: Any, start: Any, causal: bool, left: int = -1, right: int = -1) -> Any:
    """[b or 1, 1, q, k]: which keys a query may look at, ``start`` keys being before them.

    ``left`` and ``right`` are how far it may look to both sides; -1: as far as there are keys.
    """
    queries, keys = shape
    ahead = np.arange(keys) - np.arange(queries)[:, None] - np.reshape(start, (-1, 1, 1, 1))
    open_ = np.ones(ahead.shape, bool)
    if causal:
        open_ &= ahead <= 0
    if left >= 0:
        open_ &= ahead >= -left
    if right >= 0:
        open_ &= ahead <= right
    return open_


def bias_of(np: Any, mask: Any, keys: int) -> Any:
    """A mask as what is added to scores; keys that it doesn't reach are excluded."""
    bias = np.where(mask, 0.0, -np.inf) if mask.dtype == np.bool_ else widen(np, mask)
    missing = keys - mask.shape[-1]
    return np.pad(bias, [(0, 0)] * (mask.ndim - 1) + [(0, missing)], constant_values=-np.inf)


def shares_of(np: Any, scores: Any, bias: Any) -> Any:
    """softmax of scores and bias; rows of which nothing may be looked at are 0."""
    total = scores + bias
    none = np.isneginf(bias.max(axis=-1, keepdims=True, initial=-np.inf))
    largest = total.max(axis=-1, keepdims=True, initial=-np.inf)
    powers = np.exp(total - np.where(none | np.isneginf(largest), 0.0, largest))
    total = powers.sum(axis=-1, keepdims=True)
    shares = powers / np.where(total == 0, 1.0, total)
    return np.where(none, 0.0, shares)


def attend(
    np: Any,
    queries: Any,
    keys: Any,
    values: Any,
    *,
    dtype: Any,
    bias: Any,
    scale: float,
    softcap: float = 0.0,
) -> tuple[Any, tuple[Any, ...]]:
    """Attention of wide [b, h, s, d] operands: the result, rounded, and what each step gives."""
    repeats = queries.shape[1] // max(1, keys.shape[1])
    keys, values = (np.repeat(item, repeats, axis=1) for item in (keys, values))
    factor = scale or 1.0 / math.sqrt(max(1, queries.shape[-1]))
    turned = np.ascontiguousarray(keys.swapaxes(-1, -2))
    scores = product(np, np.ascontiguousarray(queries), turned) * factor
    capped = np.tanh(scores / softcap) * softcap if softcap > 0 else scores
    bias = np.broadcast_to(bias, np.broadcast_shapes(bias.shape, capped.shape))
    shares = shares_of(np, capped, bias)
    result = finished_product(np, shares, values, dtype, lambda sums: narrow(np, sums, dtype))
    return result, (scores, capped, capped + bias, shares)
