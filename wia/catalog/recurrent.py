"""Recurrent layers: RNN, GRU and LSTM over sequences, in one or both directions."""

from __future__ import annotations

from typing import Any

from ._cost import elements
from ._forms import flag
from ._model import (
    FLOATS,
    Attribute,
    Choice,
    Operand,
    Operation,
    Sample,
    Scalar,
    Shape,
    Standard,
    Values,
)
from ._recurrent_layer import layer, tolerance


def rnn(
    np: Any,
    x: Any,
    w: Any,
    r: Any,
    bias: Any = None,
    lengths: Any = None,
    initial: Any = None,
    **values: Any,
) -> tuple[Any, ...]:
    """h = act(x w^T + h r^T + b), step by step."""
    return layer(np, "rnn", x, w, r, bias, lengths, [initial], None, values)


def gru(
    np: Any,
    x: Any,
    w: Any,
    r: Any,
    bias: Any = None,
    lengths: Any = None,
    initial: Any = None,
    **values: Any,
) -> tuple[Any, ...]:
    """Gated recurrent units, step by step."""
    return layer(np, "gru", x, w, r, bias, lengths, [initial], None, values)


def lstm(
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
) -> tuple[Any, ...]:
    """Long short-term memory, step by step."""
    states = [initial, initial_cell]
    return layer(np, "lstm", x, w, r, bias, lengths, states, peepholes, values)


def _flops(shapes: tuple[Shape | None, ...], out: Shape, values: Values) -> float:
    x = shapes[0] or (0, 0, 0)
    return 2.0 * x[0] * x[1] * (elements(shapes[1]) + elements(shapes[2]))


_FUNCTIONS = (
    "0: the default; 1 sigmoid, 2 tanh, 3 relu, 4 affine, 5 leaky relu, 6 thresholded relu, 7 "
    "scaled tanh, 8 hard sigmoid, 9 elu, 10 softsign, 11 softplus."
)


def _attributes(count: int) -> tuple[Attribute, ...]:
    factors = [
        Attribute(
            name=name,
            summary=f"{what} of each activation; none: those of ONNX.",
            default=(),
            kind="float",
            length=2 * count,
            variable=True,
            length_field=f"{name}_count",
            field="double",
        )
        for name, what in (("alpha", "First number"), ("beta", "Second number"))
    ]
    return (
        Attribute(
            name="direction",
            summary="In which order steps are taken.",
            default=0,
            maximum=2,
            enum="wia_direction_t",
            choices=(
                Choice(name="FORWARD", value=0, summary="From the first."),
                Choice(name="REVERSE", value=1, summary="From the last."),
                Choice(name="BOTH", value=2, summary="Both, each with weights of its own."),
            ),
        ),
        Attribute(
            name="layout",
            summary="The order of dimensions.",
            default=0,
            maximum=1,
            enum="wia_sequence_layout_t",
            choices=(
                Choice(name="SEQUENCE_FIRST", value=0, summary="[s, b, ...]."),
                Choice(name="BATCH_FIRST", value=1, summary="[b, s, ...]."),
            ),
        ),
        Attribute(
            name="activations",
            summary=f"{count} for each direction; {_FUNCTIONS}",
            default=(),
            length=2 * count,
            variable=True,
            length_field="activation_count",
            maximum=11,
        ),
        *factors,
    )


_CLIP = Scalar(name="clip", summary="Bound of the inputs of activations; 0: none.", default=0.0)
_NOTES = (
    "directions is 2 for both, else 1. With layout batch_first x is [b, s, in], output [b, s, "
    "directions, h], and states [b, directions, h].",
    "Behind its length a sequence gives 0 and its states stay; reverse begins at the length. "
    "States stay in the accumulator from step to step.",
)


def _inputs(gates: int, *more: Operand) -> tuple[Operand, ...]:
    return (
        Operand(name="x", summary="[s, b, in]."),
        Operand(name="w", summary=f"[directions, {gates} h, in]."),
        Operand(name="r", summary=f"[directions, {gates} h, h]."),
        Operand(
            name="bias",
            summary=f"[directions, {2 * gates} h]: for the products with w, then with r; 0 when "
            "left out.",
            optional=True,
        ),
        Operand(
            name="lengths",
            summary="[b]: steps of each sequence; all when left out.",
            optional=True,
            dtypes=("int32", "int64"),
        ),
        Operand(name="initial", summary="[directions, b, h]; 0 when left out.", optional=True),
        *more,
    )


def _outputs(kind: str) -> tuple[Operand, ...]:
    made = [
        Operand(name="output", summary="[s, directions, b, h]: all hidden states."),
        Operand(
            name="last",
            summary="[directions, b, h]: the last hidden state.",
            optional=True,
            tolerance=tolerance(kind, 1),
        ),
    ]
    if kind == "lstm":
        made.append(
            Operand(
                name="last_cell",
                summary="[directions, b, h]: the last cell.",
                optional=True,
                tolerance=tolerance(kind, 2),
            )
        )
    return tuple(made)


def _samples(gates: int, more: int) -> tuple[Sample, ...]:
    none: tuple[None, ...] = (None,) * more

    def shapes(d: int, b: int, size: int, inputs: int) -> tuple[Shape, ...]:
        return (d, gates * size, inputs), (d, gates * size, size)

    states: tuple[Shape, ...] = ((2, 3, 4),)
    if more:
        states = ((2, 3, 4), (2, 3, 4), (2, 12))
    return (
        Sample(shapes=((3, 2, 5), *shapes(1, 2, 4, 5), None, None, None, *none)),
        Sample(
            shapes=((2, 3, 2), *shapes(2, 3, 4, 2), (2, 2 * gates * 4), None, *states),
            values={"direction": 2, "clip": 1.5},
        ),
        Sample(
            shapes=((3, 4, 2), *shapes(1, 3, 3, 2), (1, 2 * gates * 3), (3,), None, *none),
            values={"direction": 1, "layout": 1},
            fills=("normal",) * 4 + ("0..5",),
        ),
        Sample(shapes=((0, 2, 3), *shapes(1, 2, 2, 3), None, None, None, *none)),
        Sample(shapes=((2, 0, 3), *shapes(1, 0, 2, 3), None, None, None, *none)),
    )


RNN = Operation(
    number=380,
    name="rnn",
    summary="Simple recurrent layer.",
    formula="h_t = act(x_t w^T + h_(t-1) r^T + bias); act is tanh",
    inputs=_inputs(1),
    outputs=_outputs("rnn"),
    family="recurrent",
    dtypes=FLOATS,
    semantics=rnn,
    notes=_NOTES,
    standard=Standard(name="RNN", opset=22, note="hidden_size is that of r"),
    attributes=_attributes(1),
    scalars=(_CLIP,),
    config="wia_rnn_config_t",
    tolerance=tolerance("rnn", 0),
    flops=_flops,
    samples=_samples(1, 0),
    source="ONNX node tests simple_rnn_* and rnn_seq_length; lengths by hand",
)

GRU = Operation(
    number=381,
    name="gru",
    summary="Layer of gated recurrent units.",
    formula="z = act_0(x w_z^T + h r_z^T + b_z); r = act_0(x w_r^T + h r_r^T + b_r); n = act_1(x "
    "w_n^T + (r h) r_n^T + b_n); h = (1 - z) n + z h",
    inputs=_inputs(3),
    outputs=_outputs("gru"),
    family="recurrent",
    dtypes=FLOATS,
    semantics=gru,
    notes=("Gates in w, r and bias: z, r, n. act_0 is sigmoid, act_1 tanh.", *_NOTES),
    standard=Standard(name="GRU", opset=22, note="hidden_size is that of r"),
    attributes=(
        *_attributes(2),
        flag("linear_before_reset", "1: n = act_1(x w_n^T + b + r (h r_n^T + b'))."),
    ),
    scalars=(_CLIP,),
    config="wia_gru_config_t",
    tolerance=tolerance("gru", 0),
    flops=_flops,
    samples=(
        *_samples(3, 0),
        Sample(
            shapes=((3, 2, 3), (1, 6, 3), (1, 6, 2), (1, 12), None, (1, 2, 2)),
            values={"linear_before_reset": 1},
        ),
    ),
    source="ONNX node tests gru_*; linear_before_reset by hand",
)

LSTM = Operation(
    number=382,
    name="lstm",
    summary="Layer of long short-term memory.",
    formula="i, o, f = act_0(x w^T + h r^T + b + p c); c = f c + i act_1(x w_c^T + h r_c^T + b_c); "
    "h = o act_2(c)",
    inputs=_inputs(
        4,
        Operand(name="initial_cell", summary="[directions, b, h]; 0 when left out.", optional=True),
        Operand(
            name="peepholes",
            summary="[directions, 3 h], of i, o and f; 0 when left out.",
            optional=True,
        ),
    ),
    outputs=_outputs("lstm"),
    family="recurrent",
    dtypes=FLOATS,
    semantics=lstm,
    notes=(
        "Gates in w, r and bias: i, o, f, c. o sees the new cell. act_0 is sigmoid, act_1 and "
        "act_2 tanh.",
        *_NOTES,
    ),
    standard=Standard(name="LSTM", opset=22, note="hidden_size is that of r"),
    attributes=(*_attributes(3), flag("input_forget", "1: f is 1 - i.")),
    scalars=(_CLIP,),
    config="wia_lstm_config_t",
    tolerance=tolerance("lstm", 0),
    flops=_flops,
    samples=(
        *_samples(4, 2),
        Sample(
            shapes=((2, 2, 3), (1, 8, 3), (1, 8, 2), None, None, None, (1, 2, 2), None),
            values={"input_forget": 1, "activations": (8, 10, 3)},
        ),
    ),
    source="ONNX node tests lstm_*; coupled gates by hand",
)

OPERATIONS = (RNN, GRU, LSTM)
