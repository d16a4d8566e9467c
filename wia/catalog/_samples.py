"""Inputs of samples: made from a seed, the same on every machine."""

from __future__ import annotations

from typing import Any

from ._model import Operation, Sample
from ._numeric import is_integer, narrow


def make_inputs(
    np: Any, operation: Operation, sample: Sample, dtypes: tuple[Any, ...], seed: int = 0
) -> list[Any]:
    """Arrays for a sample, None for what it leaves out; ``dtypes`` are numpy's, one per input.

    Fills: "normal" (standard normal; integers from -8 to 8), "positive" (0.5 to 2; integers 1 to
    8), "wide" (over the dtype's range), "special" (normal with NaN, infinities, zeros of both signs
    and the smallest values among them; floats only).
    """
    index = operation.samples.index(sample)
    arrays: list[Any] = []
    for position, shape in enumerate(sample.shapes):
        if shape is None:
            arrays.append(None)
            continue
        random = np.random.default_rng([operation.number, index, position, seed])
        fill = sample.fills[position] if position < len(sample.fills) else "normal"
        arrays.append(_FILLS[fill](np, random, shape, dtypes[position]))
    return arrays


def _normal(np: Any, random: Any, shape: Any, dtype: Any) -> Any:
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if is_integer(dtype):
        low = 0 if dtype.kind == "u" else -8
        return random.integers(low, 9, shape).astype(dtype)
    return narrow(np, random.standard_normal(shape), dtype)


def _positive(np: Any, random: Any, shape: Any, dtype: Any) -> Any:
    if is_integer(dtype):
        return random.integers(1, 9, shape).astype(dtype)
    return narrow(np, random.uniform(0.5, 2.0, shape), dtype)


def _wide(np: Any, random: Any, shape: Any, dtype: Any) -> Any:
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if is_integer(dtype):
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    exponents = random.uniform(-20.0, 20.0, shape)
    return narrow(np, random.choice([-1.0, 1.0], shape) * 2.0**exponents, dtype)


def _special(np: Any, random: Any, shape: Any, dtype: Any) -> Any:
    values = _normal(np, random, shape, dtype)
    if is_integer(dtype):
        return values
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 2.0**-149, 6e4, -3e38]).astype(dtype)
    chosen = random.random(shape) < 0.25
    return np.where(chosen, random.choice(odd, shape), values)


_FILLS = {"normal": _normal, "positive": _positive, "special": _special, "wide": _wide}
