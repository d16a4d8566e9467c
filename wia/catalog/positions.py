"""Rotary positions, and the cache of keys and values that grows in place."""

from __future__ import annotations

from typing import Any

from ._attention import join_heads, split_heads
from ._cost import moves_only, per_output
from ._forms import flag
from ._model import (
    ANY,
    FLOATS,
    INT32_MAX,
    Attribute,
    Choice,
    Operand,
    Operation,
    Sample,
    Standard,
    Tolerance,
)
from ._numeric import OperandError, narrow, widen

_CIRCULAR = 1


def _rotate(np: Any, wide: Any, cos: Any, sin: Any, interleaved: int, width: int) -> Any:
    """[b, h, s, d] with the first ``width`` of d rotated by angles [b, s, width / 2]."""
    half = width // 2
    if interleaved:
        left, right = wide[..., 0:width:2], wide[..., 1:width:2]
    else:
        left, right = wide[..., :half], wide[..., half:width]
    cos, sin = cos[:, None], sin[:, None]
    real, imaginary = cos * left - sin * right, sin * left + cos * right
    result = wide.copy()
    if interleaved:
        result[..., 0:width:2], result[..., 1:width:2] = real, imaginary
    else:
        result[..., :half], result[..., half:width] = real, imaginary
    return result


def rotary_embedding(
    np: Any,
    x: Any,
    cos: Any,
    sin: Any,
    positions: Any = None,
    *,
    interleaved: int,
    heads: int,
    width: int,
) -> Any:
    """Rotates pairs of each head's elements by an angle that grows with the position."""
    wide = widen(np, x)
    split = split_heads(wide, heads) if x.ndim == 3 else wide
    cosines, sines = widen(np, cos), widen(np, sin)
    if positions is not None:
        wrong = (positions < 0) | (positions >= cos.shape[0])
        if wrong.any():
            raise OperandError(
                f"rotary_embedding: a position is {positions[wrong].flat[0]}; expected 0 to "
                f"{cos.shape[0] - 1}"
            )
        cosines, sines = cosines[positions], sines[positions]
    width = width or split.shape[-1]
    rotated = _rotate(np, split, cosines, sines, interleaved, width)
    return narrow(np, join_heads(np, rotated) if x.ndim == 3 else rotated, x.dtype)


def _rotated_size(
    np: Any, x: Any, cos: Any, sin: Any, positions: Any = None, *, heads: int, **values: Any
) -> Any:
    # Both products of a sum count whole: |cos| |a| + |sin| |b|.
    plus = rotary_embedding(np, abs(x), abs(cos), abs(sin), positions, heads=heads, **values)
    other = rotary_embedding(np, abs(x), abs(cos), -abs(sin), positions, heads=heads, **values)
    return np.maximum(abs(plus), abs(other))


def kv_cache_update(
    np: Any, cache: Any, update: Any, starts: Any = None, *, axis: int, mode: int
) -> Any:
    """The cache with the update written from a place on, one for each batch."""
    result = cache.copy()
    axis %= cache.ndim
    size, count = cache.shape[axis], update.shape[axis]
    places = np.zeros(cache.shape[0], np.int64) if starts is None else starts.astype(np.int64)
    wrong = (places < 0) if mode == _CIRCULAR else (places < 0) | (places + count > size)
    if wrong.any():
        limit = "0 or more" if mode == _CIRCULAR else f"0 to {size - count}"
        raise OperandError(f"kv_cache_update: a start is {places[wrong].flat[0]}; expected {limit}")
    if count == 0:
        return result
    for i, start in enumerate(places.tolist()):
        where = (np.arange(count) + start) % size
        np.moveaxis(result[i], axis - 1, 0)[where] = np.moveaxis(update[i], axis - 1, 0)
    return result


ROTARY_EMBEDDING = Operation(
    number=372,
    name="rotary_embedding",
    summary="Rotates pairs of elements of each head by angles that belong to positions.",
    formula="(output_i, output_j) = (cos * input_i - sin * input_j, sin * input_i + cos * input_j)",
    inputs=(
        Operand(name="input", summary="[b, heads, s, d], or [b, s, heads * d]."),
        Operand(name="cos", summary="[positions, width / 2]; without positions [b, s, width / 2]."),
        Operand(name="sin", summary="The shape of cos."),
        Operand(
            name="positions",
            summary="[b, s]: rows of cos and sin.",
            optional=True,
            dtypes=("int64",),
        ),
    ),
    outputs=(Operand(name="output", summary="The shape of input."),),
    family="rotary_embedding",
    dtypes=FLOATS,
    semantics=rotary_embedding,
    notes=(
        "Pairs are (i, i + width / 2), or (2 i, 2 i + 1) with interleaved, for i below width / 2. "
        "Elements behind width stay. A position out of range is INVALID_ARGUMENT.",
    ),
    standard=Standard(name="RotaryEmbedding", opset=23),
    attributes=(
        flag("interleaved", "1: pairs are neighbours."),
        Attribute(
            name="heads",
            summary="Heads; has to be given for rank 3, and fits or is 0 else.",
            default=0,
            maximum=INT32_MAX,
        ),
        Attribute(
            name="width",
            summary="Elements of each head that are rotated, an even number; 0: all.",
            default=0,
            maximum=INT32_MAX,
        ),
    ),
    config="wia_rotary_embedding_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: 3,
        magnitude=_rotated_size,
        reason="Two products and a sum in the accumulator, relative to the absolute products, and "
        "one rounding of the result.",
    ),
    flops=per_output(3.0),
    samples=(
        Sample(
            shapes=((2, 3, 4, 8), (9, 4), (9, 4), (2, 4)),
            fills=("normal", "normal", "normal", "0..9"),
        ),
        Sample(
            shapes=((2, 4, 18), (5, 2), (5, 2), (2, 4)),
            values={"heads": 3, "width": 4, "interleaved": 1},
            fills=("normal", "normal", "normal", "0..5"),
        ),
        Sample(shapes=((1, 2, 3, 6), (1, 3, 3), (1, 3, 3), None)),
        Sample(shapes=((0, 2, 3, 4), (0, 3, 2), (0, 3, 2), None)),
    ),
    source="ONNX node tests rotary_embedding*",
)

KV_CACHE_UPDATE = Operation(
    number=373,
    name="kv_cache_update",
    summary="Writes new keys or values into a cache, from a place on for each batch.",
    formula="output[b, ..., (starts[b] + i), ...] = update[b, ..., i, ...], else cache",
    inputs=(
        Operand(name="cache", summary="[b, ...], rank 2 or more."),
        Operand(name="update", summary="The shape of cache, but no larger along axis."),
        Operand(
            name="starts",
            summary="[b]: the first place in each batch; 0 when left out.",
            optional=True,
            dtypes=("int64",),
        ),
    ),
    outputs=(
        Operand(
            name="output", summary="The shape of cache; cache itself, where the kernel allows it."
        ),
    ),
    family="kv_cache_update",
    dtypes=ANY,
    semantics=kv_cache_update,
    notes=("A place out of range is INVALID_ARGUMENT, unless mode is circular.",),
    standard=Standard(name="TensorScatter", opset=24),
    attributes=(
        Attribute(
            name="axis",
            summary="The dimension that grows, not the first; below 0 from the last.",
            default=-2,
            minimum=-8,
            maximum=7,
        ),
        Attribute(
            name="mode",
            summary="What happens at the end.",
            default=0,
            maximum=1,
            enum="wia_cache_mode_t",
            choices=(
                Choice(name="LINEAR", value=0, summary="The update ends there at last."),
                Choice(name="CIRCULAR", value=1, summary="It goes on at the begin."),
            ),
        ),
    ),
    config="wia_kv_cache_update_config_t",
    tolerance=Tolerance(),
    flops=moves_only,
    samples=(
        Sample(shapes=((2, 3, 8, 4), (2, 3, 2, 4), (2,)), fills=("normal", "normal", "0..7")),
        Sample(
            shapes=((3, 5, 2), (3, 4, 2), (3,)),
            values={"axis": 1, "mode": 1},
            fills=("normal", "normal", "0..33"),
        ),
        Sample(shapes=((2, 9), (2, 9), None), values={"axis": -1}, fills=("special", "special")),
        Sample(shapes=((2, 3, 4), (2, 0, 4), None)),
    ),
    source="ONNX node tests tensorscatter*",
)

OPERATIONS = (ROTARY_EMBEDDING, KV_CACHE_UPDATE)
