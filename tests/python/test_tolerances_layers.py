"""Allowed errors that are carried on: of layers and moved taps, not tight, not loose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from wia.catalog import BY_NAME, allowed_error, evaluate

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
STEPS, BATCH, WIDTH, SIZE = 20, 3, 33, 32
RANDOM = np.random.default_rng(8)


def sigmoid(x: Any) -> Any:
    """The textbook's, in the dtype of x."""
    return 1 / (1 + np.exp(-x))


def rnn(x: Any, states: list[Any], w: Any, r: Any, b: Any) -> list[Any]:
    """One step in the dtype of the operands, as a driver would take it."""
    return [np.tanh(x @ w.T + states[0] @ r.T + b[:SIZE] + b[SIZE:])]


def gru(x: Any, states: list[Any], w: Any, r: Any, b: Any) -> list[Any]:
    """With the reset gate before the product."""
    (h,) = states
    n = 2 * SIZE
    gates = sigmoid(x @ w[:n].T + h @ r[:n].T + b[:n] + b[3 * SIZE : 3 * SIZE + n])
    z, reset = gates[:, :SIZE], gates[:, SIZE:]
    new = np.tanh(x @ w[n:].T + (reset * h) @ r[n:].T + b[n : 3 * SIZE] + b[3 * SIZE + n :])
    return [(1 - z) * new + z * h]


def lstm(x: Any, states: list[Any], w: Any, r: Any, b: Any) -> list[Any]:
    """Gates i, o, f, c."""
    h, c = states
    sums = x @ w.T + h @ r.T + b[: 4 * SIZE] + b[4 * SIZE :]
    i, o, f, g = np.split(sums, 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return [sigmoid(o) * np.tanh(c), c]


CELLS: dict[str, Callable[..., list[Any]]] = {"rnn": rnn, "gru": gru, "lstm": lstm}


def operands(kind: str) -> list[Any]:
    """x, w, r and bias of float32, with the sizes of weights that training begins with."""
    gates = GATES[kind]
    made = [
        RANDOM.standard_normal((STEPS, BATCH, WIDTH)),
        RANDOM.standard_normal((1, gates * SIZE, WIDTH)) / WIDTH**0.5,
        RANDOM.standard_normal((1, gates * SIZE, SIZE)) / SIZE**0.5,
        RANDOM.standard_normal((1, 2 * gates * SIZE)),
    ]
    return [item.astype(np.float32) for item in made]


def layer(kind: str, given: list[Any]) -> list[Any]:
    """All outputs, step by step in the dtype of what is given."""
    x, w, r, b = given
    states = [np.zeros((BATCH, SIZE), x.dtype)] * (2 if kind == "lstm" else 1)
    seen = []
    for now in x:
        states = CELLS[kind](now, states, w[0], r[0], b[0])
        seen.append(states[0][None])
    return [np.stack(seen), *(item[None] for item in states)]


def bounds(name: str, given: list[Any], **values: Any) -> tuple[Any, Any]:
    """What the semantics give, in float64, and the allowed errors of float32."""
    entry = BY_NAME[name]
    inputs = [*given, *[None] * (len(entry.inputs) - len(given))]
    known = {**entry.defaults(), **values}
    wide = [None if item is None else item.astype(np.float64) for item in inputs]
    narrow = evaluate(np, entry, inputs, known)
    return evaluate(np, entry, wide, known), allowed_error(np, entry, inputs, known, narrow)


@pytest.mark.parametrize("kind", CELLS)
def test_layers(kind: str) -> None:
    """float32 is inside by a factor of 4 at least; inputs that went through float16 are outside."""
    given = operands(kind)
    exact, allowed = bounds(kind, given)
    for result, wanted, bound in zip(layer(kind, given), exact, allowed, strict=True):
        assert result.dtype == np.float32
        assert (abs(result - wanted) <= bound / 4).all()
    rounded = [item.astype(np.float16).astype(np.float32) for item in given]
    careless = layer(kind, [item.astype(np.float64) for item in rounded])
    for result, wanted, bound in zip(careless, exact, allowed, strict=True):
        assert not (abs(result - wanted) <= bound).all()


@pytest.mark.parametrize("kind", CELLS)
def test_cells(kind: str) -> None:
    """One step, where nothing is carried yet."""
    x, w, r, b = (item[0] for item in operands(kind))
    states = [RANDOM.standard_normal((BATCH, SIZE)).astype(np.float32)]
    states += [states[0] + np.float32(0.5)] if kind == "lstm" else []
    given = [x, *states, w, r, b]
    exact, allowed = bounds(f"{kind}_cell", given)
    for result, wanted, bound in zip(CELLS[kind](x, states, w, r, b), exact, allowed, strict=True):
        assert (abs(result - wanted) <= bound / 4).all()
    # Half of the digits of the state are lost.
    states = [item.astype(np.float16).astype(np.float32) for item in states]
    careless = CELLS[kind](x, states, w, r, b)
    for result, wanted, bound in zip(careless, exact, allowed, strict=True):
        assert not (abs(result - wanted) <= bound).all()


def moved_taps(x: Any, weight: Any, offset: Any, mask: Any) -> Any:
    """deform_conv of one image without padding, as a driver has it, in the dtype of x."""
    outputs, channels, height, width = weight.shape
    rows, columns = offset.shape[2:]
    result = np.zeros((1, outputs, rows, columns), x.dtype)
    one = x.dtype.type(1)
    for o, r, c in np.ndindex(outputs, rows, columns):
        total = x.dtype.type(0)
        for i, j in np.ndindex(height, width):
            tap = 2 * (i * width + j)
            y, z = offset[0, tap, r, c] + (r + i), offset[0, tap + 1, r, c] + (c + j)
            top, left = int(np.floor(y)), int(np.floor(z))
            for p, q in ((top, left), (top, left + 1), (top + 1, left), (top + 1, left + 1)):
                if not (0 <= p < x.shape[2] and 0 <= q < x.shape[3]):
                    continue
                share = (one - abs(y - p)) * (one - abs(z - q)) * mask[0, tap // 2, r, c]
                for channel in range(channels):
                    total += weight[o, channel, i, j] * (share * x[0, channel, p, q])
        result[0, o, r, c] = total
    return result


def test_deform_conv() -> None:
    """float32 is inside by a factor of 2; offsets that went through float16 are outside."""
    x, weight = (RANDOM.standard_normal(shape) for shape in ((1, 5, 17, 9), (2, 5, 3, 3)))
    offset, mask = RANDOM.standard_normal((1, 18, 15, 7)), RANDOM.random((1, 9, 15, 7))
    given = [item.astype(np.float32) for item in (x, weight, offset, mask)]
    operands_of = [*given[:3], None, given[3]]
    (exact,), (bound,) = bounds("deform_conv", operands_of)
    error = abs(moved_taps(*given) - exact)
    assert (error <= bound / 2).all()
    given[2] = given[2].astype(np.float16).astype(np.float32)
    careless = moved_taps(*given)
    assert not (abs(careless - exact) <= bound).all()
