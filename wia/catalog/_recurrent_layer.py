"""Recurrent layers as a whole: what they compute, and how far off a driver may be."""

from __future__ import annotations

from typing import Any

from ._bounded import CARRIED, Bounded, allowance, errors_of, exact
from ._model import Tolerance, Values
from ._numeric import ScalarError, narrow, widen
from ._recurrent import Activations, BoundedActivations, biases, run_layer, take_step

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
        sums = act.product(now, w[d].T) + own
        seen = None if peepholes is None else widen(np, peepholes)[d]
        return take_step(np, kind, sums, states, r[d], rest, act, d, values, seen)

    total, last = run_layer(np, x, states, lengths, values["direction"], step)
    if first:
        total = total.transpose(2, 0, 1, 3)
        last = [item.swapaxes(0, 1) for item in last]
    return tuple(narrow(np, np.ascontiguousarray(item), dtype) for item in (total, *last))


def magnitude_of(kind: str, output: int) -> Any:
    """The error of an output in roundings of the accumulator, carried from step to step."""

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
        none = np.zeros((w.shape[0], x.shape[1], size))
        given = [none if i is None else i for i in (initial, initial_cell)[:count]]
        states = [i.swapaxes(0, 1) if first and i is not none else i for i in given]
        act = BoundedActivations(np, kind, values)
        width = count * size
        quiet = np.zeros((*none.shape, width))

        # A state is its number and its errors side by side: run_layer() collects the first one.
        def step(now: Any, both: Any, d: int) -> Any:
            own, rest = biases(np, None if bias is None else bias[d], GATES[kind], size)
            sums = act.product(exact(np, now, width), w[d].T) + own
            seen = None if peepholes is None else peepholes[d]
            known = [
                Bounded(item[..., 0], item[..., 1:], np.zeros(item.shape[:2])) for item in both
            ]
            new = take_step(np, kind, sums, known, r[d], rest, act, d, values, seen)
            errors = errors_of(np, new)
            return [
                np.concatenate([item.value[..., None], errors[:, i]], axis=-1)
                for i, item in enumerate(new)
            ]

        start = [np.concatenate([item[..., None], quiet], axis=-1) for item in states]
        total, last = run_layer(np, x, start, lengths, values["direction"], step)
        if output == 0:
            error = allowance(np, total[..., 1:])
            return error.transpose(2, 0, 1, 3) if first else error
        error = allowance(np, last[output - 1][..., 1:])
        return error.swapaxes(0, 1) if first else error

    return magnitude


def tolerance(kind: str, output: int) -> Tolerance:
    """That of an output of a layer."""
    return Tolerance(
        ulps=1.0,
        length=lambda shapes, values: 1,
        magnitude=magnitude_of(kind, output),
        reason=f"{CARRIED}, from step to step.",
    )
