"""One step of a recurrent layer."""

from __future__ import annotations

from typing import Any

from ._bounded import CARRIED, allowance, errors_of, exact
from ._forms import flag
from ._model import FLOATS, Operand, Operation, Sample, Shape, Tolerance, Values
from ._numeric import narrow, widen
from ._recurrent import Activations, BoundedActivations, biases, take_step

_GATES = {"rnn": 1, "gru": 3, "lstm": 4}


def _step(
    np: Any, kind: str, x: Any, states: list[Any], w: Any, r: Any, bias: Any, act: Any, linear: int
) -> tuple[Any, ...]:
    """The next states."""
    own, rest = biases(np, bias, _GATES[kind], r.shape[-1])
    sums = act.product(x, w.T) + own
    values = {"linear_before_reset": linear}
    return tuple(take_step(np, kind, sums, states, r, rest, act, 0, values))


def _cell(np: Any, kind: str, x: Any, *operands: Any, linear: int = 0) -> tuple[Any, ...]:
    *rest, bias = operands
    *states, w, r = (widen(np, item) for item in rest)
    bias = None if bias is None else widen(np, bias)
    act = Activations(np, kind, {})
    new = _step(np, kind, widen(np, x), states, w, r, bias, act, linear)
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
    def magnitude(
        np: Any, x: Any, *operands: Any, linear_before_reset: int = 0, **values: Any
    ) -> Any:
        *rest, bias = operands
        *states, w, r = rest
        known = [exact(np, item, 0) for item in states]
        act = BoundedActivations(np, kind, {})
        new = _step(np, kind, exact(np, x, 0), known, w, r, bias, act, linear_before_reset)
        return allowance(np, errors_of(np, new)[:, output])

    return magnitude


def _tolerance(kind: str, output: int) -> Tolerance:
    return Tolerance(
        ulps=1.0,
        length=lambda shapes, values: 1,
        magnitude=_magnitude(kind, output),
        reason=f"{CARRIED}.",
    )


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
                tolerance=_tolerance(kind, i),
            )
            for i, name in enumerate(states)
        ),
        family="recurrent_cell",
        dtypes=FLOATS,
        semantics=semantics,
        tolerance=_tolerance(kind, 0),
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
)

OPERATIONS = (RNN_CELL, GRU_CELL, LSTM_CELL)
