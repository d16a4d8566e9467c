"""Attention, and positions that are turned into angles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wia.onnx._errors import UnsupportedError

if TYPE_CHECKING:
    from wia.onnx._call import Call, Result

__all__ = ["attention", "rotary_embedding"]


def attention(call: Call) -> Result:
    """Attention.

    softmax_precision asks for no more than the operation does, which rounds once at its end. What
    it hasn't runs by ONNX's body: a scale of 0, and values of another dtype than keys.
    """
    queries, keys, values = (call.tensor(i) for i in range(3))
    mask, past = call.get(3), [call.get(i) for i in (4, 5)]
    scale = call.attribute("scale")
    if scale == 0 or not queries.dtype == keys.dtype == values.dtype:
        raise UnsupportedError("attention has a scale that isn't 0, and one dtype")
    if mask is not None and mask.dtype.kind != "b":
        mask = call.cast(mask, queries.dtype)
    flat = queries.ndim == 3
    return call.ops(
        "attention",
        queries,
        keys,
        values,
        mask,
        *past,
        call.get(6),
        count=max(call.wanted, 1),
        causal=call.attribute("is_causal", 0),
        left=call.attribute("left_window_size", -1),
        right=call.attribute("right_window_size", -1),
        heads=call.attribute("q_num_heads", 0) if flat else 0,
        kv_heads=call.attribute("kv_num_heads", 0) if flat else 0,
        shown=call.attribute("qk_matmul_output_mode", 0),
        scale=0.0 if scale is None else scale,
        softcap=call.attribute("softcap", 0.0),
    )


def rotary_embedding(call: Call) -> Result:
    """RotaryEmbedding."""
    x = call.tensor(0)
    return call.op(
        "rotary_embedding",
        x,
        call.tensor(1),
        call.tensor(2),
        call.get(3),
        interleaved=call.attribute("interleaved", 0),
        heads=call.attribute("num_heads", 0) if x.ndim == 3 else 0,
        width=call.attribute("rotary_embedding_dim", 0),
    )
