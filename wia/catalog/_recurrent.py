"""Recurrent cells and the layers that repeat them, in wide arithmetic.

Gates stand below each other in weights, in the order of ONNX: z r h of a GRU, i o f c of an LSTM.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ._bounded import Bounded, bounded_product
from ._model import Values
from ._products import product

Steps = Callable[[Any, Sequence[Any], int], Sequence[Any]]
"""(products of the input, states, direction) to the next states, the hidden one first."""

DEFAULTS = {"rnn": (2,), "gru": (1, 2), "lstm": (1, 2, 2)}
"""Activations of the gates: sigmoid is 1, tanh is 2."""
_ALPHAS = {5: 0.01, 8: 0.2}
_BETAS = {7: 1.0, 8: 0.5}


def _elu(np: Any, x: Any, a: float, b: float) -> Any:
    return np.where(x >= 0, x, a * np.expm1(np.minimum(x, 0.0)))


_FUNCTIONS: dict[int, Callable[..., Any]] = {
    1: lambda np, x, a, b: 0.5 * (1.0 + np.tanh(0.5 * x)),
    2: lambda np, x, a, b: np.tanh(x),
    3: lambda np, x, a, b: np.maximum(x, 0.0),
    4: lambda np, x, a, b: a * x + b,
    5: lambda np, x, a, b: np.where(x >= 0, x, a * x),
    6: lambda np, x, a, b: np.where(x >= a, x, 0.0),
    7: lambda np, x, a, b: a * np.tanh(b * x),
    8: lambda np, x, a, b: np.clip(a * x + b, 0.0, 1.0),
    9: _elu,
    10: lambda np, x, a, b: x / (1.0 + np.abs(x)),
    11: lambda np, x, a, b: np.logaddexp(0.0, x),
}


class Activations:
    """The functions of the gates, by direction, with what bounds their inputs; and products."""

    def __init__(self, np: Any, kind: str, values: Values) -> None:
        self._np = np
        self._kind = kind
        self._codes = tuple(values.get("activations", ()))
        self._alphas, self._betas = values.get("alpha", ()), values.get("beta", ())
        self._limit = values.get("clip", 0.0) or math.inf

    def chosen(self, gate: int, direction: int) -> tuple[int, float, float]:
        """Which function a gate has, and its two numbers."""
        defaults = DEFAULTS[self._kind]
        place = gate + direction * len(defaults)
        code = (self._codes[place] if self._codes else 0) or defaults[gate]
        alpha = self._alphas[place] if self._alphas else _ALPHAS.get(code, 1.0)
        beta = self._betas[place] if self._betas else _BETAS.get(code, 0.0)
        return code, alpha, beta

    def __call__(self, x: Any, gate: int, direction: int) -> Any:
        """The activation of a gate's sum."""
        code, alpha, beta = self.chosen(gate, direction)
        bounded = self._np.clip(x, -self._limit, self._limit)
        return _FUNCTIONS[code](self._np, bounded, alpha, beta)

    def product(self, a: Any, b: Any) -> Any:
        """The matrix product of states and weights."""
        return product(self._np, a, b)


class BoundedActivations(Activations):
    """The same of numbers that may be off."""

    def __call__(self, x: Bounded, gate: int, direction: int) -> Bounded:
        """Four roundings of the result, one of the input, and one of beta where it is added."""
        code, alpha, beta = self.chosen(gate, direction)
        value = super().__call__(x.value, gate, direction)
        slope = _slope(self._np, code, alpha, beta, value)
        added = abs(beta) if code in _ADDING else 0.0
        made = x.scaled(slope, value).rounded(slope * x.value)
        return made.rounded(4.0 * abs(value) + added)

    def product(self, a: Bounded, b: Any) -> Bounded:
        """The same with errors."""
        return bounded_product(self._np, a, b)


_ADDING = (4, 8)
"""Activations that add beta, so that the result may cancel."""


def _slope(np: Any, code: int, alpha: float, beta: float, value: Any) -> Any:
    """The derivative of an activation of sigmoid or tanh; of others the largest there is.

    Nothing bounds an error at the jump of 6.
    """
    a = abs(alpha)
    if code in (1, 2):
        local = value * (1.0 - value) if code == 1 else 1.0 - value * value
        return np.maximum(local, 2.0**-12)  # where an error moves the derivative itself
    steep = {4: a, 5: max(1.0, a), 7: abs(alpha * beta), 8: a, 9: max(1.0, a)}
    return np.full_like(value, steep.get(code, 1.0))


def biases(np: Any, bias: Any, gates: int, size: int) -> tuple[Any, Any]:
    """Those of the input and those of the state, [gates * size] each."""
    if bias is None:
        none = np.zeros(gates * size)
        return none, none
    return bias[: gates * size], bias[gates * size :]


def rnn_step(np: Any, from_input: Any, states: Any, r: Any, bias: Any, act: Any, d: int) -> Any:
    """act(x W + h R + b)."""
    (h,) = states
    return (act(from_input + act.product(h, r.T) + bias, 0, d),)


def gru_step(
    np: Any, from_input: Any, states: Any, r: Any, bias: Any, act: Any, d: int, linear: int
) -> Any:
    """Update and reset gates; the reset works before the product, or on it when linear."""
    (h,) = states
    size = r.shape[1]
    gates = from_input[:, : 2 * size] + act.product(h, r[: 2 * size].T) + bias[: 2 * size]
    z, reset = act(gates[:, :size], 0, d), act(gates[:, size:], 0, d)
    last, own = r[2 * size :].T, from_input[:, 2 * size :]
    if linear:
        new = act(own + reset * (act.product(h, last) + bias[2 * size :]), 1, d)
    else:
        new = act(own + act.product(reset * h, last) + bias[2 * size :], 1, d)
    return ((1.0 - z) * new + z * h,)


def lstm_step(
    np: Any,
    from_input: Any,
    states: Any,
    r: Any,
    bias: Any,
    act: Any,
    d: int,
    peepholes: Any,
    coupled: int,
) -> Any:
    """Input, output and forget gates over a cell."""
    h, c = states
    size = r.shape[1]
    sums = from_input + act.product(h, r.T) + bias
    i, o, f, g = (sums[:, n * size : (n + 1) * size] for n in range(4))
    seen = np.zeros(3 * size) if peepholes is None else peepholes
    i = act(i + seen[:size] * c, 0, d)
    f = 1.0 - i if coupled else act(f + seen[2 * size :] * c, 0, d)
    cell = f * c + i * act(g, 1, d)
    o = act(o + seen[size : 2 * size] * cell, 0, d)
    return o * act(cell, 2, d), cell


def take_step(
    np: Any,
    kind: str,
    sums: Any,
    states: Any,
    r: Any,
    bias: Any,
    act: Any,
    d: int,
    values: Values,
    peepholes: Any = None,
) -> Any:
    """The next states of a cell of any kind."""
    if kind == "rnn":
        return rnn_step(np, sums, states, r, bias, act, d)
    if kind == "gru":
        return gru_step(np, sums, states, r, bias, act, d, values["linear_before_reset"])
    coupled = values.get("input_forget", 0)
    return lstm_step(np, sums, states, r, bias, act, d, peepholes, coupled)


def run_layer(
    np: Any, x: Any, states: Sequence[Any], lengths: Any, direction: int, step: Any
) -> tuple[Any, list[Any]]:
    """All steps of a layer: [s, directions, b, h] and the last states, [directions, b, h].

    ``x`` is [s, b, ...] and states are [directions, b, h, ...]; ``step(x, states, d)`` gives the
    next states of one direction d from x [b, ...]. ``direction`` is 0 forward, 1 reverse, 2 both.
    Behind its length a batch gives 0.
    """
    steps, batch = x.shape[:2]
    inner = states[0].shape[2:]
    count = 2 if direction == 2 else 1
    limit = np.full(batch, steps) if lengths is None else lengths.astype(np.int64)
    total = np.zeros((steps, count, batch, *inner))
    last = [item.copy() for item in states]
    every = np.arange(batch)
    for d in range(count):
        backward = direction == 1 or d == 1
        now = [item[d] for item in states]
        for s in range(steps):
            valid = (s < limit).reshape(-1, *([1] * len(inner)))
            place = np.where(s < limit, limit - 1 - s, s) if backward else np.full(batch, s)
            new = step(x[place, every], now, d)
            now = [np.where(valid, a, b) for a, b in zip(new, now, strict=True)]
            total[place, d, every] = np.where(valid, now[0], 0.0)
        for item, final in zip(last, now, strict=True):
            item[d] = final
    return total, last
