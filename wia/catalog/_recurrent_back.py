"""Backpropagation through time: what recurrent layers give back, in wide arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._model import Values
from ._recurrent import Activations, biases, take_step
from ._recurrent_layer import GATES

_SLOPES: dict[int, Callable[..., Any]] = {
    1: lambda np, x, a, b: 0.25 * (1.0 - np.tanh(0.5 * x) ** 2),
    2: lambda np, x, a, b: 1.0 - np.tanh(x) ** 2,
    3: lambda np, x, a, b: np.where(x > 0, 1.0, 0.0),
    4: lambda np, x, a, b: np.full_like(x, a),
    5: lambda np, x, a, b: np.where(x >= 0, 1.0, a),
    6: lambda np, x, a, b: np.where(x >= a, 1.0, 0.0),
    7: lambda np, x, a, b: a * b * (1.0 - np.tanh(b * x) ** 2),
    8: lambda np, x, a, b: np.where((a * x + b > 0) & (a * x + b < 1), a, 0.0),
    9: lambda np, x, a, b: np.where(x >= 0, 1.0, a * np.exp(np.minimum(x, 0.0))),
    10: lambda np, x, a, b: (1.0 + abs(x)) ** -2,
    11: lambda np, x, a, b: 0.5 * (1.0 + np.tanh(0.5 * x)),
}
"""Derivatives of the activations, by code."""


class BackActivations(Activations):
    """The functions of the gates with their slopes."""

    sign = -1.0
    """Of what is taken off: 1.0 where absolute values are added up."""

    def slope(self, x: Any, gate: int, direction: int) -> Any:
        """The derivative at a gate's sum: 0 behind the bound of clip."""
        code, alpha, beta = self.chosen(gate, direction)
        bounded = self._np.clip(x, -self._limit, self._limit)
        inside = abs(x) <= self._limit
        return self._np.where(inside, _SLOPES[code](self._np, bounded, alpha, beta), 0.0)


class SteepActivations(BackActivations):
    """The same of absolute values, with the largest slopes: what errors are relative to."""

    sign = 1.0

    def slope(self, x: Any, gate: int, direction: int) -> Any:
        """The largest there is."""
        code, alpha, beta = self.chosen(gate, direction)
        steep = {4: abs(alpha), 5: max(1.0, abs(alpha)), 7: abs(alpha * beta), 8: abs(alpha)}
        return self._np.full_like(x, steep.get(code, max(1.0, abs(alpha)) if code == 9 else 1.0))

    def __call__(self, x: Any, gate: int, direction: int) -> Any:
        """Absolute values, with what an affine one adds."""
        return abs(super().__call__(x, gate, direction)) + abs(self.chosen(gate, direction)[2])


class Back:
    """What one step gives back.

    ``sums`` are the slopes of the products with w, ``own`` those of the products with r, both
    [b, gates * h]; ``states`` the gradients of the states before.
    """

    def __init__(self, sums: Any, own: Any, states: Sequence[Any], r: Any, seen: Any) -> None:
        self.sums, self.own, self.states, self.r, self.seen = sums, own, states, r, seen


def _rnn(
    np: Any, sums: Any, states: Any, grads: Any, r: Any, bias: Any, act: Any, d: int, values: Values
) -> Back:
    (h,), (grad,) = states, grads
    slope = grad * act.slope(sums + h @ r.T + bias, 0, d)
    return Back(slope, slope, (slope @ r,), slope.T @ h, None)


def _gru(
    np: Any, sums: Any, states: Any, grads: Any, r: Any, bias: Any, act: Any, d: int, values: Values
) -> Back:
    (h,), (grad,) = states, grads
    n = r.shape[1]
    top, low = r[: 2 * n], r[2 * n :]
    gates = sums[:, : 2 * n] + h @ top.T + bias[: 2 * n]
    z, reset = act(gates[:, :n], 0, d), act(gates[:, n:], 0, d)
    linear = values["linear_before_reset"]
    seen = h if linear else reset * h
    moved = seen @ low.T + bias[2 * n :]
    inner = sums[:, 2 * n :] + (reset * moved if linear else moved)
    s_new = grad * (1.0 + act.sign * z) * act.slope(inner, 1, d)
    s_z = grad * (h + act.sign * act(inner, 1, d)) * act.slope(gates[:, :n], 0, d)
    s_moved = s_new * reset if linear else s_new
    back = s_moved @ low
    s_reset = (s_new * moved if linear else back * h) * act.slope(gates[:, n:], 0, d)
    pair = np.concatenate([s_z, s_reset], axis=1)
    before = grad * z + pair @ top + (back if linear else back * reset)
    by_r = np.concatenate([pair.T @ h, s_moved.T @ seen], axis=0)
    sums, own = (np.concatenate([pair, last], axis=1) for last in (s_new, s_moved))
    return Back(sums, own, (before,), by_r, None)


def _lstm(
    np: Any,
    sums: Any,
    states: Any,
    grads: Any,
    r: Any,
    bias: Any,
    act: Any,
    d: int,
    values: Values,
    peepholes: Any,
) -> Back:
    (h, c), (grad, grad_cell) = states, grads
    n, coupled = r.shape[1], values["input_forget"]
    all_sums = sums + h @ r.T + bias
    a_i, a_o, a_f, a_g = (all_sums[:, k * n : (k + 1) * n] for k in range(4))
    p = np.zeros(3 * n) if peepholes is None else peepholes
    p_i, p_o, p_f = p[:n], p[n : 2 * n], p[2 * n :]
    a_i, a_f = a_i + p_i * c, a_f + p_f * c
    i, g = act(a_i, 0, d), act(a_g, 1, d)
    f = 1.0 + act.sign * i if coupled else act(a_f, 0, d)
    cell = f * c + i * g
    a_o = a_o + p_o * cell
    s_o = grad * act(cell, 2, d) * act.slope(a_o, 0, d)
    by_cell = grad_cell + grad * act(a_o, 0, d) * act.slope(cell, 2, d) + s_o * p_o
    s_f = by_cell * c * (0.0 if coupled else act.slope(a_f, 0, d))
    s_i = by_cell * (g + act.sign * c if coupled else g) * act.slope(a_i, 0, d)
    s_g = by_cell * i * act.slope(a_g, 1, d)
    slope = np.concatenate([s_i, s_o, s_f, s_g], axis=1)
    before = by_cell * f + s_i * p_i + s_f * p_f
    seen = np.concatenate([(s * of).sum(axis=0) for s, of in ((s_i, c), (s_o, cell), (s_f, c))])
    return Back(slope, slope, (slope @ r, before), slope.T @ h, seen)


def layer_back(
    np: Any,
    kind: str,
    act: Any,
    grads: Sequence[Any],
    x: Any,
    w: Any,
    r: Any,
    bias: Any,
    lengths: Any,
    states: Sequence[Any],
    peepholes: Any,
    values: Values,
) -> tuple[list[Any], list[Any]]:
    """Gradients of x, w, r, bias and peepholes; then of the states at the begin.

    ``grads`` are those of all hidden states [s, directions, b, h], and of the last states; the
    others as run_layer() has them. All are wide.
    """
    steps, batch = x.shape[:2]
    gates, size = GATES[kind], r.shape[2]
    of_x, of_w, of_r = np.zeros(x.shape), np.zeros(w.shape), np.zeros(r.shape)
    of_bias, of_seen = np.zeros((len(w), 2 * gates * size)), np.zeros((len(w), 3 * size))
    begin = [np.zeros(item.shape) for item in states]
    limit = np.full(batch, steps) if lengths is None else lengths.astype(np.int64)
    every = np.arange(batch)
    for d in range(len(w)):
        own, rest = biases(np, None if bias is None else bias[d], gates, size)
        seen = None if peepholes is None else peepholes[d]
        now, kept = [item[d] for item in states], []
        for s in range(steps):
            valid = (s < limit)[:, None]
            place = np.full(batch, s)
            if values["direction"] == 1 or d == 1:
                place = np.where(s < limit, limit - 1 - s, s)
            sums = x[place, every] @ w[d].T + own
            kept.append((valid, place, sums, now))
            new = take_step(np, kind, sums, now, r[d], rest, act, d, values, seen)
            now = [np.where(valid, a, b) for a, b in zip(new, now, strict=True)]
        slopes = [item[d] for item in grads[1:]]
        for valid, place, sums, before in reversed(kept):
            slopes[0] = slopes[0] + np.where(valid, grads[0][place, d, every], 0.0)
            inner = [np.where(valid, slope, 0.0) for slope in slopes]
            more = (seen,) if kind == "lstm" else ()
            step = _STEPS[kind](np, sums, before, inner, r[d], rest, act, d, values, *more)
            slopes = [np.where(valid, a, b) for a, b in zip(step.states, slopes, strict=True)]
            of_x[place, every] += step.sums @ w[d]
            of_w[d] += step.sums.T @ x[place, every]
            of_r[d] += step.r
            of_bias[d] += np.concatenate([step.sums.sum(axis=0), step.own.sum(axis=0)])
            if step.seen is not None:
                of_seen[d] += step.seen
        for item, slope in zip(begin, slopes, strict=True):
            item[d] = slope
    return [of_x, of_w, of_r, of_bias, of_seen], begin


_STEPS: dict[str, Callable[..., Back]] = {"rnn": _rnn, "gru": _gru, "lstm": _lstm}
