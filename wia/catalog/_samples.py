"""Inputs of samples: made from a seed, the same on every machine."""

from __future__ import annotations

import re
from typing import Any

from ._model import Operation, Sample
from ._numeric import is_integer, is_unsigned, limits, narrow


def input_dtypes(operation: Operation, dtype: str, sample: Sample) -> tuple[str, ...]:
    """The dtypes of a sample's inputs when the operation's is that one."""
    if operation.variadic:
        return (dtype,) * len(sample.shapes)
    own = dict(sample.own)
    return tuple(
        own.get(operand.name)
        or (operand.dtypes[0] if operand.dtypes else dict(operand.dtype_for).get(dtype, dtype))
        for operand in operation.inputs
    )


def sample_values(operation: Operation, sample: Sample, dtype: str) -> dict[str, Any]:
    """What a sample gives when the operation's dtype is that one.

    Where no input has it, the attribute dtype does.
    """
    values = dict(sample.values)
    if operation.lead < 0 and any(item.name == "dtype" for item in operation.attributes):
        values["dtype"] = dtype
    return values


def make_inputs(
    np: Any, operation: Operation, sample: Sample, dtypes: tuple[Any, ...], seed: int = 0
) -> list[Any]:
    """Arrays for a sample, None for what it leaves out; ``dtypes`` are numpy's, one per input.

    Fills: "normal" (standard normal; integers from -8 to 8), "positive" (0.5 to 2; integers 1 to
    8), "wide" (over the dtype's range), "special" (normal with NaN, infinities, zeros of both signs
    and the smallest values among them; floats only), "halves" (multiples of 1/2 from -4 to 4: ends
    and middles of what is rounded; floats only), "ends" (0, 1, the largest, the least and -1, one
    after the other; integers only), "index5" (integers from -5 to 4), "2..7" (from
    2 to below 7; ends may be negative and, for floats, have a point), "rising7" (0, then sorted
    integers up to 7).
    """
    index = operation.samples.index(sample)
    arrays: list[Any] = []
    for position, shape in enumerate(sample.shapes):
        if shape is None:
            arrays.append(None)
            continue
        random = np.random.default_rng([operation.number, index, position, seed])
        fill = sample.fills[position] if position < len(sample.fills) else "normal"
        between = re.fullmatch(r"(-?[\d.]*\d)\.\.(-?[\d.]+)", fill)
        if index_of := re.fullmatch(r"index(\d+)", fill):
            size = int(index_of[1])
            arrays.append(random.integers(-size, size, shape).astype(dtypes[position]))
        elif rising := re.fullmatch(r"rising(\d+)", fill):
            arrays.append(_rising(np, random, shape, dtypes[position], int(rising[1])))
        elif between:
            arrays.append(_between(np, random, shape, dtypes[position], *between.groups()))
        else:
            arrays.append(_FILLS[fill](np, random, shape, dtypes[position]))
    return arrays


def _rising(np: Any, random: Any, shape: Any, dtype: Any, end: int) -> Any:
    values = np.sort(random.integers(0, end, shape, endpoint=True)).astype(dtype)
    values[:1] = 0
    return values


def _between(np: Any, random: Any, shape: Any, dtype: Any, low: str, high: str) -> Any:
    if is_integer(dtype):
        return narrow(np, random.integers(int(low), int(high), shape), dtype)
    return narrow(np, random.uniform(float(low), float(high), shape), dtype)


def _normal(np: Any, random: Any, shape: Any, dtype: Any) -> Any:
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if is_integer(dtype):
        low = 0 if is_unsigned(dtype) else -8
        return narrow(np, random.integers(low, 9, shape), dtype)
    values = random.standard_normal(shape)
    if dtype.kind == "c":
        values = values + 1j * random.standard_normal(shape)
    return narrow(np, values, dtype)


def _positive(np: Any, random: Any, shape: Any, dtype: Any) -> Any:
    if is_integer(dtype):
        return random.integers(1, 9, shape).astype(dtype)
    return narrow(np, random.uniform(0.5, 2.0, shape), dtype)


def _wide(np: Any, random: Any, shape: Any, dtype: Any) -> Any:
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if is_integer(dtype):
        least, largest = limits(np, dtype)
        wide = np.uint64 if is_unsigned(dtype) else np.int64
        return narrow(np, random.integers(least, largest, shape, wide, endpoint=True), dtype)
    exponents = random.uniform(-20.0, 20.0, shape)
    return narrow(np, random.choice([-1.0, 1.0], shape) * 2.0**exponents, dtype)


def _special(np: Any, random: Any, shape: Any, dtype: Any) -> Any:
    values = _normal(np, random, shape, dtype)
    if is_integer(dtype):
        return values
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 2.0**-149, 6e4, -3e38]).astype(dtype)
    chosen = random.random(shape) < 0.25
    return np.where(chosen, random.choice(odd, shape), values)


def _halves(np: Any, random: Any, shape: Any, dtype: Any) -> Any:
    if is_integer(dtype):
        return _normal(np, random, shape, dtype)
    return narrow(np, 0.5 * random.integers(-8, 9, shape), dtype)


def _ends(np: Any, random: Any, shape: Any, dtype: Any) -> Any:
    least, largest = limits(np, dtype)
    ends = [0, 1, largest] if is_unsigned(dtype) else [0, 1, largest, least, -1]
    wide = np.array(ends, np.uint64 if is_unsigned(dtype) else np.int64)
    return narrow(np, np.resize(wide, shape), dtype)


def _ascending(np: Any, random: Any, shape: Any, dtype: Any) -> Any:
    return np.sort(_normal(np, random, shape, dtype), axis=-1)


def _definite(np: Any, random: Any, shape: Any, dtype: Any) -> Any:
    half = random.uniform(-1.0, 1.0, shape)
    return narrow(np, half @ np.swapaxes(half, -1, -2) + np.eye(shape[-1]), dtype)


_FILLS = {
    "ascending": _ascending,
    "definite": _definite,
    "ends": _ends,
    "halves": _halves,
    "normal": _normal,
    "positive": _positive,
    "special": _special,
    "wide": _wide,
}
