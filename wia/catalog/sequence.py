"""Sequences of different lengths in one tensor."""

from __future__ import annotations

from typing import Any

from ._forms import SAME
from ._model import Attribute, Operand, Sample, Standard
from ._moving import moving
from ._numeric import OperandError


def reverse_sequence(np: Any, x: Any, lengths: Any, *, time_axis: int, batch_axis: int) -> Any:
    """The first elements of each sequence from the last to the first; the rest stays."""
    size = x.shape[time_axis]
    wrong = (lengths < 0) | (lengths > size)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise OperandError(
            f"reverse_sequence: lengths[{i}] is {int(lengths[i])}; expected 0 to {size}"
        )
    rows = np.moveaxis(x, (batch_axis, time_axis), (0, 1))
    time, ends = np.arange(size), np.asarray(lengths, np.int64)[:, None]
    order = np.where(time < ends, ends - 1 - time, time)
    result = rows[np.arange(len(rows))[:, None], order]
    return np.moveaxis(result, (0, 1), (batch_axis, time_axis))


def _axis(name: str, summary: str, default: int) -> Attribute:
    return Attribute(name=name, summary=summary, default=default, minimum=-8, maximum=7)


REVERSE_SEQUENCE = moving(
    276,
    "reverse_sequence",
    reverse_sequence,
    summary="Reverses the begin of each sequence.",
    formula="output[..., b, ..., t, ...] = input[..., b, ..., lengths[b] - 1 - t, ...] for t below "
    "lengths[b], else input[..., b, ..., t, ...]",
    inputs=(
        Operand(name="input", summary="Of rank 2 or more."),
        Operand(
            name="lengths",
            summary="[as many as sequences]: 0 to the size of the time axis.",
            dtypes=("int64", "int32"),
        ),
    ),
    output=SAME,
    notes=(
        "A length out of range fails the call, or the stream, with INVALID_ARGUMENT when the "
        "kernel meets it.",
    ),
    standard=Standard(name="ReverseSequence", opset=10),
    attributes=(
        _axis("time_axis", "The dimension that is reversed; below 0 from the last.", 0),
        _axis("batch_axis", "The dimension of the sequences, another one.", 1),
    ),
    samples=(
        Sample(shapes=((4, 3), (3,)), fills=("normal", "0..5")),
        Sample(
            shapes=((2, 9, 3), (2,)),
            values={"time_axis": 1, "batch_axis": 0},
            fills=("special", "0..10"),
        ),
        Sample(
            shapes=((3, 2, 5), (2,)),
            values={"time_axis": -1, "batch_axis": -2},
            fills=("wide", "0..6"),
        ),
        Sample(shapes=((4, 0), (0,))),
    ),
    source="ONNX node tests reversesequence_*",
)

OPERATIONS = (REVERSE_SEQUENCE,)
