"""Recurrent layers as a whole: what they compute, and how far off a driver may be."""

from __future__ import annotations

from typing import Any

from ._model import Shape, Tolerance, Values
from ._numeric import ScalarError, narrow, product, widen
from ._recurrent import (
    Activations,
    biases,
    error_step,
    gru_step,
    lstm_step,
    rnn_step,
    run_layer,
)

GATES = {"rnn": 1, "gru": 3, "lstm": 4}
BATCH_FIRST = 1


def layer(
    np: Any,
    kind: str,
    x: Any,
    w: Any,
    r: Any,
    bias: Any,
    lengths: Any,
    initial: list[Any],
    peepholes: Any,
    values: Values,
) -> tuple[Any, ...]:
    """The outputs of a layer: all hidden states, then the last states."""
    if not values["clip"] >= 0:
        raise ScalarError(f"clip is {values['clip']}; expected 0 or more")
    gates, size, dtype = GATES[kind], r.shape[-1], x.dtype
    first = values["layout"] == BATCH_FIRST
    x, w, r = (widen(np, item) for item in (x, w, r))
    x = x.swapaxes(0, 1) if first else x
    none = np.zeros((w.shape[0], x.shape[1], size))
    states = [none if item is None else widen(np, item) for item in initial]
    states = [item.swapaxes(0, 1) if first and item is not none else item for item in states]
    act = Activations(np, kind, values)

    def step(now: Any, states: Any, d: int) -> Any:
        own, rest = biases(np, None if bias is None else widen(np, bias)[d], gates, size)
        sums = product(np, now, w[d].T) + own
        if kind == "rnn":
            return rnn_step(np, sums, states, r[d], rest, act, d)
        if kind == "gru":
            return gru_step(np, sums, states, r[d], rest, act, d, values["linear_before_reset"])
        seen = None if peepholes is None else widen(np, peepholes)[d]
        return lstm_step(np, sums, states, r[d], rest, act, d, seen, values["input_forget"])

    total, last = run_layer(np, x, states, lengths, values["direction"], step)
    if first:
        total = total.transpose(2, 0, 1, 3)
        last = [item.swapaxes(0, 1) for item in last]
    return tuple(narrow(np, np.ascontiguousarray(item), dtype) for item in (total, *last))


def magnitude_of(kind: str, output: int) -> Any:
    """What the roundings of an output are relative to: errors carried from step to step."""

    def magnitude(
        np: Any,
        x: Any,
        w: Any,
        r: Any,
        bias: Any = None,
        lengths: Any = None,
        initial: Any = None,
        initial_cell: Any = None,
        peepholes: Any = None,
        **values: Any,
    ) -> Any:
        size, first = r.shape[-1], values["layout"] == BATCH_FIRST
        x = x.swapaxes(0, 1) if first else x
        count = 2 if kind == "lstm" else 1
        given = [initial, initial_cell][:count]
        none = np.zeros((w.shape[0], x.shape[1], size))
        states = [none if i is None else (i.swapaxes(0, 1) if first else i) for i in given]
        act = Activations(np, kind, values)
        steep = act.steepness()

        def step(now: Any, both: Any, d: int) -> Any:
            states, errors = both[:count], both[count:]
            own, rest = biases(np, None if bias is None else bias[d], GATES[kind], size)
            sums = product(np, now, w[d].T) + own
            seen = None if peepholes is None else peepholes[d]
            if kind == "rnn":
                new = rnn_step(np, sums, states, r[d], rest, act, d)
            elif kind == "gru":
                new = gru_step(np, sums, states, r[d], rest, act, d, values["linear_before_reset"])
            else:
                new = lstm_step(np, sums, states, r[d], rest, act, d, seen, values["input_forget"])
            inputs = np.matmul(abs(now), abs(w[d]).T) + abs(own) + abs(rest)
            if seen is not None:
                reach = abs(seen).max(initial=0.0)
                inputs = inputs + reach * (abs(states[-1]) + errors[-1]).max(initial=0.0)
            grown = error_step(np, inputs, states, errors, r[d], steep)
            return (*grown[:1], *new, *grown[1:]) if output == 0 else (*new, *grown)

        # The first state is what run_layer() collects: for output 0 the error itself.
        if output == 0:
            start = [none, *states, *([none] * (count - 1))]

            def ordered(now: Any, all_: Any, d: int) -> Any:
                return step(now, (*all_[1 : count + 1], all_[0], *all_[count + 1 :]), d)

            total, _ = run_layer(np, x, start, lengths, values["direction"], ordered)
            return total.transpose(2, 0, 1, 3) if first else total
        start = [*states, *([none] * count)]
        _, last = run_layer(np, x, start, lengths, values["direction"], step)
        error = last[count + output - 1]
        return error.swapaxes(0, 1) if first else error

    return magnitude


def length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    """Roundings of one step."""
    w, r = shapes[1] or (0, 0, 0), shapes[2] or (0, 0, 0)
    return w[-1] + r[-1] + 16


def tolerance(kind: str, output: int) -> Tolerance:
    """That of an output of a layer."""
    return Tolerance(
        ulps=1.0,
        length=length,
        magnitude=magnitude_of(kind, output),
        reason="The roundings of both products and 16 more in each step, relative to absolute "
        "sums, and carried on by the absolute weights from step to step.",
    )
