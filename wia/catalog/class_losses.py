"""Losses against the index of the right class."""

from __future__ import annotations

from typing import Any

from ._cost import elements
from ._forms import onnx
from ._model import FLOATS, INT32_MAX, Attribute, Operand, Operation, Sample, Tolerance
from ._numeric import OperandError, narrow, widen
from .losses import NONE, REDUCTION, SUM, loss_length


def _picked(
    np: Any, name: str, logs: Any, target: Any, weight: Any, ignore: int, reduction: int
) -> Any:
    """Negative logarithms of the right classes, weighted and reduced, from wide ones."""
    places = target.astype(np.int64)
    used = places != ignore
    wrong = used & ((places < 0) | (places >= logs.shape[1]))
    if wrong.any():
        raise OperandError(
            f"{name}: a target is {places[wrong].flat[0]}; expected 0 to {logs.shape[1] - 1}, or "
            f"{ignore}, which is ignored"
        )
    if logs.shape[1] == 0:
        losses, share = np.zeros(places.shape), np.zeros(places.shape)
    else:
        safe = np.where(used, places, 0)
        losses = -np.take_along_axis(logs, safe[:, None], axis=1)[:, 0]
        share = np.ones(places.shape) if weight is None else widen(np, weight)[safe]
        losses = np.where(used, losses * share, 0.0)
        share = np.where(used, share, 0.0)
    if reduction == NONE:
        return losses
    total = np.ascontiguousarray(losses).sum()
    return total if reduction == SUM else np.divide(total, np.ascontiguousarray(share).sum())


def nll_loss(
    np: Any, x: Any, target: Any, weight: Any = None, *, reduction: int, ignore_index: int
) -> Any:
    """Negative logarithms of the probabilities of the right classes."""
    wide = widen(np, x)
    loss = _picked(np, "nll_loss", wide, target, weight, ignore_index, reduction)
    return narrow(np, loss, x.dtype)


def _log_softmax(np: Any, wide: Any) -> Any:
    if wide.size == 0:
        return wide
    shifted = wide - wide.max(axis=1, keepdims=True)
    powers = np.ascontiguousarray(np.moveaxis(np.exp(shifted), 1, -1))
    return shifted - np.log(powers.sum(axis=-1))[:, None]


def softmax_cross_entropy(
    np: Any, x: Any, target: Any, weight: Any = None, *, reduction: int, ignore_index: int
) -> tuple[Any, Any]:
    """The same of logits, and the logarithms of all probabilities."""
    logs = _log_softmax(np, widen(np, x))
    loss = _picked(np, "softmax_cross_entropy", logs, target, weight, ignore_index, reduction)
    return narrow(np, loss, x.dtype), narrow(np, logs, x.dtype)


def _nll_size(np: Any, x: Any, target: Any, weight: Any = None, **values: Any) -> Any:
    share = None if weight is None else abs(weight)
    return abs(nll_loss(np, -abs(x), target, share, **values))


def _entropy_size(
    np: Any, x: Any, target: Any, weight: Any = None, *, reduction: int, ignore_index: int
) -> Any:
    logs = -(abs(x) + abs(_log_softmax(np, x)) + 1.0)
    share = None if weight is None else abs(weight)
    return _picked(np, "", logs, target, share, ignore_index, reduction)


def _log_size(np: Any, x: Any, *others: Any, **values: Any) -> Any:
    return abs(x) + abs(x).max(axis=1, keepdims=True, initial=0.0) + abs(_log_softmax(np, x)) + 1.0


_INPUTS = (
    Operand(name="target", summary="[n, ...]: the right classes.", dtypes=("int64", "int32")),
    Operand(name="weight", summary="[classes]: how much each class counts.", optional=True),
)
_IGNORE = Attribute(
    name="ignore_index",
    summary="A target that doesn't count.",
    default=-100,
    minimum=-INT32_MAX,
    maximum=INT32_MAX,
    field="int64_t",
)
_LOSS = Operand(name="output", summary="Rank 0; with reduction none [n, ...].")
_NOTES = (
    "The mean is the sum divided by the sum of the weights of the targets that count; of none it "
    "is NaN. Another target that is no class fails the call, or the stream, with INVALID_ARGUMENT "
    "when the kernel meets it.",
)
_SAMPLES = (
    Sample(shapes=((5, 3), (5,), None), fills=("normal", "0..3")),
    Sample(
        shapes=((4, 33), (4,), (33,)),
        values={"reduction": SUM},
        fills=("normal", "0..33", "positive"),
    ),
    Sample(
        shapes=((2, 3, 5, 7), (2, 5, 7), (3,)),
        values={"reduction": NONE, "ignore_index": 1},
        fills=("normal", "0..3", "positive"),
    ),
    Sample(
        shapes=((6, 3), (6,), (3,)),
        values={"ignore_index": 1},
        fills=("normal", "0..3", "positive"),
    ),
    Sample(shapes=((0, 3), (0,), None), values={"reduction": SUM}),
)
_REASON = (
    "Some operations for each element, the sum over classes and that of losses, relative to the "
    "absolute parts."
)


def _length(shapes: Any, values: Any) -> int:
    return loss_length(shapes, values) + (shapes[0] or (0, 0))[1]


NLL_LOSS = Operation(
    number=339,
    name="nll_loss",
    summary="The negative logarithm of the probability of the right class.",
    formula="loss = -weight[target] input[n, target, ...]; then the mean, the sum, or all of them",
    inputs=(
        Operand(name="input", summary="[n, classes, ...]: logarithms of probabilities."),
        *_INPUTS,
    ),
    outputs=(_LOSS,),
    family="class_loss",
    dtypes=FLOATS,
    semantics=nll_loss,
    notes=_NOTES,
    standard=onnx("NegativeLogLikelihoodLoss", 22),
    attributes=(REDUCTION, _IGNORE),
    config="wia_nll_loss_config_t",
    tolerance=Tolerance(ulps=2.0, length=_length, magnitude=_nll_size, reason=_REASON),
    flops=lambda shapes, out, values: 2.0 * elements(shapes[1]),
    samples=_SAMPLES,
    source="ONNX node tests nllloss_*",
)
SOFTMAX_CROSS_ENTROPY = Operation(
    number=340,
    name="softmax_cross_entropy",
    summary="The cross entropy of logits and the right class.",
    formula="log_prob = log_softmax(input) over classes; loss = -weight[target] "
    "log_prob[n, target, ...]; then the mean, the sum, or all of them",
    inputs=(Operand(name="input", summary="[n, classes, ...]: logits."), *_INPUTS),
    outputs=(
        _LOSS,
        Operand(
            name="log_prob",
            summary="The shape of input: logarithms of the probabilities.",
            optional=True,
            tolerance=Tolerance(ulps=2.0, length=_length, magnitude=_log_size, reason=_REASON),
        ),
    ),
    family="class_loss",
    dtypes=FLOATS,
    semantics=softmax_cross_entropy,
    notes=_NOTES,
    standard=onnx("SoftmaxCrossEntropyLoss", 13),
    attributes=(REDUCTION, _IGNORE),
    config="wia_softmax_cross_entropy_config_t",
    tolerance=Tolerance(ulps=2.0, length=_length, magnitude=_entropy_size, reason=_REASON),
    flops=lambda shapes, out, values: 5.0 * elements(shapes[0]),
    samples=_SAMPLES,
    source="ONNX node tests sce_*",
)

OPERATIONS = (NLL_LOSS, SOFTMAX_CROSS_ENTROPY)
