"""One step of a recurrent layer."""

from __future__ import annotations

from typing import Any

from ._forms import flag
from ._model import FLOATS, Operand, Operation, Sample, Shape, Tolerance, Values
from ._numeric import narrow, product, widen
from ._recurrent import Activations, biases, error_step, gru_step, lstm_step, rnn_step

_GATES = {"rnn": 1, "gru": 3, "lstm": 4}
_REASON = (
    "The roundings of both products and 16 more, relative to absolute sums of all gates and the "
    "states."
)


def _step(
    np: Any, kind: str, x: Any, states: list[Any], w: Any, r: Any, bias: Any, linear: int = 0
) -> tuple[Any, ...]:
    """The next states, wide."""
    own, rest = biases(np, bias, _GATES[kind], r.shape[-1])
    sums = product(np, x, w.T) + own
    act = Activations(np, kind, {})
    if kind == "rnn":
        return tuple(rnn_step(np, sums, states, r, rest, act, 0))
    if kind == "gru":
        return tuple(gru_step(np, sums, states, r, rest, act, 0, linear))
    return tuple(lstm_step(np, sums, states, r, rest, act, 0, None, 0))


def _cell(np: Any, kind: str, x: Any, *operands: Any, linear: int = 0) -> tuple[Any, ...]:
    *rest, bias = operands
    *states, w, r = (widen(np, item) for item in rest)
    bias = None if bias is None else widen(np, bias)
    new = _step(np, kind, widen(np, x), states, w, r, bias, linear)
    return tuple(narrow(np, item, x.dtype) for item in new)


def rnn_cell(np: Any, x: Any, h: Any, w: Any, r: Any, bias: Any = None) -> Any:
    """tanh(x w^T + h r^T + b)."""
    return _cell(np, "rnn", x, h, w, r, bias)[0]


def gru_cell(
    np: Any, x: Any, h: Any, w: Any, r: Any, bias: Any = None, *, linear_before_reset: int
) -> Any:
    """One step of gru."""
    return _cell(np, "gru", x, h, w, r, bias, linear=linear_before_reset)[0]


def lstm_cell(np: Any, x: Any, h: Any, c: Any, w: Any, r: Any, bias: Any = None) -> tuple[Any, ...]:
    """One step of lstm."""
    return _cell(np, "lstm", x, h, c, w, r, bias)


def _magnitude(kind: str, output: int) -> Any:
    def magnitude(np: Any, x: Any, *operands: Any, **values: Any) -> Any:
        *rest, bias = operands
        *states, w, r = rest
        own, more = biases(np, bias, _GATES[kind], r.shape[-1])
        inputs = np.matmul(abs(x), abs(w).T) + abs(own) + abs(more)
        none = [np.zeros_like(item) for item in states]
        return error_step(np, inputs, states, none, r, 1.0)[output]

    return magnitude


def _length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    return (shapes[0] or (0, 0))[1] + (shapes[1] or (0, 0))[1] + 16


def _flops(shapes: tuple[Shape | None, ...], out: Shape, values: Values) -> float:
    batch, width = shapes[0] or (0, 0)
    hidden = out[-1]
    gates = (shapes[-2] or (0, 0))[0]
    return 2.0 * batch * gates * (width + hidden)


def _entry(
    number: int, kind: str, semantics: Any, states: tuple[str, ...], **more: Any
) -> Operation:
    gates = _GATES[kind]
    weights = ((gates * 4, 5), (gates * 4, 4))
    state = ((3, 4),) * len(states)
    samples = [
        Sample(shapes=((3, 5), *state, *weights, None)),
        Sample(shapes=((3, 5), *state, *weights, (2 * gates * 4,))),
        Sample(shapes=((0, 5), *(((0, 4),) * len(states)), *weights, None)),
    ]
    if kind == "gru":
        samples.append(
            Sample(
                shapes=((3, 5), *state, *weights, (2 * gates * 4,)),
                values={"linear_before_reset": 1},
            )
        )
    return Operation(
        number=number,
        name=f"{kind}_cell",
        inputs=(
            Operand(name="x", summary="[b, in]."),
            *(Operand(name=name, summary="[b, h].") for name in states),
            Operand(name="w", summary=f"[{gates} h, in]."),
            Operand(name="r", summary=f"[{gates} h, h]."),
            Operand(
                name="bias",
                summary=f"[{2 * gates} h]: for the products with w, then with r; 0 when left out.",
                optional=True,
            ),
        ),
        outputs=tuple(
            Operand(
                name=f"next_{name}",
                summary="[b, h].",
                tolerance=Tolerance(
                    ulps=1.0, length=_length, magnitude=_magnitude(kind, i), reason=_REASON
                ),
            )
            for i, name in enumerate(states)
        ),
        family="recurrent_cell",
        dtypes=FLOATS,
        semantics=semantics,
        tolerance=Tolerance(
            ulps=1.0, length=_length, magnitude=_magnitude(kind, 0), reason=_REASON
        ),
        flops=_flops,
        samples=tuple(samples),
        **more,
    )


RNN_CELL = _entry(
    383,
    "rnn",
    rnn_cell,
    ("h",),
    summary="One step of a simple recurrent layer.",
    formula="next_h = tanh(x w^T + h r^T + bias)",
    source="the ONNX vectors of rnn, one step at a time",
    no_gradient="this version has none; rnn_cell has one",
)
GRU_CELL = _entry(
    384,
    "gru",
    gru_cell,
    ("h",),
    summary="One step of a layer of gated recurrent units.",
    formula="z = sigmoid(x w_z^T + h r_z^T + b_z); r = sigmoid(x w_r^T + h r_r^T + b_r); n = "
    "tanh(x w_n^T + (r h) r_n^T + b_n); next_h = (1 - z) n + z h",
    notes=("Gates in w, r and bias: z, r, n.",),
    attributes=(flag("linear_before_reset", "1: n = tanh(x w_n^T + b + r (h r_n^T + b'))."),),
    config="wia_gru_cell_config_t",
    source="the ONNX vectors of gru, one step at a time",
    no_gradient="this version has none; gru_cell has one",
)
LSTM_CELL = _entry(
    385,
    "lstm",
    lstm_cell,
    ("h", "c"),
    summary="One step of a layer of long short-term memory.",
    formula="i, o, f = sigmoid(x w^T + h r^T + b); next_c = f c + i tanh(x w_c^T + h r_c^T + b_c); "
    "next_h = o tanh(next_c)",
    notes=("Gates in w, r and bias: i, o, f, c.",),
    source="the ONNX vectors of lstm, one step at a time",
    no_gradient="this version has none; lstm_cell has one",
)

OPERATIONS = (RNN_CELL, GRU_CELL, LSTM_CELL)
