"""Losses of predictions against targets, element by element or as one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._cost import elements
from ._forms import one_axis
from ._model import FLOATS, Operand, Operation, Sample, Scalar, Shape, Tolerance, Values
from ._moving import choice
from ._numeric import narrow, widen

REDUCTION = choice(
    "reduction",
    "What becomes of the losses.",
    "wia_reduction_t",
    mean="Their mean.",
    sum="Their sum.",
    none="They stay, one each.",
)
MEAN, SUM, NONE = range(3)


def reduced(np: Any, losses: Any, reduction: int) -> Any:
    """Wide losses as the attribute asks; the mean of none is NaN."""
    if reduction == NONE:
        return losses
    total = np.ascontiguousarray(losses).sum()
    return total if reduction == SUM else np.divide(total, np.float64(losses.size))


def _mse(np: Any, x: Any, y: Any) -> Any:
    return (x - y) * (x - y)


def _l1(np: Any, x: Any, y: Any) -> Any:
    return abs(x - y)


def _huber(np: Any, x: Any, y: Any, *, delta: float) -> Any:
    distance = abs(x - y)
    inner = 0.5 * distance * distance
    return np.where(distance <= delta, inner, delta * (distance - 0.5 * delta))


def _smooth_l1(np: Any, x: Any, y: Any, *, beta: float) -> Any:
    distance = abs(x - y)
    inner = 0.5 * distance * distance / beta if beta else distance
    return np.where(distance < beta, inner, distance - 0.5 * beta)


def _bce(np: Any, x: Any, y: Any) -> Any:
    # Logarithms stop at -100, so that a sure and wrong prediction has a finite loss.
    yes, no = np.maximum(np.log(x), -100.0), np.maximum(np.log1p(-x), -100.0)
    return -(y * yes + (1.0 - y) * no)


def _bce_with_logits(np: Any, x: Any, y: Any) -> Any:
    return np.maximum(x, 0.0) - x * y + np.log1p(np.exp(-abs(x)))


def _kl_div(np: Any, x: Any, y: Any) -> Any:
    return np.where(y > 0.0, y * (np.log(np.where(y > 0.0, y, 1.0)) - x), 0.0 * x)


def _hinge(np: Any, x: Any, y: Any, *, margin: float) -> Any:
    return np.maximum(margin - x * y, 0.0)


def _loss(function: Callable[..., Any]) -> Any:
    def semantics(np: Any, x: Any, y: Any, *, reduction: int, **values: Any) -> Any:
        losses = function(np, widen(np, x), widen(np, y), **values)
        return narrow(np, reduced(np, losses, reduction), x.dtype)

    return semantics


def loss_length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    """Roundings of a loss: some of each element, and those of the sum."""
    return 16 + (0 if values["reduction"] == NONE else elements(shapes[0]))


def _size(size: Callable[..., Any]) -> Any:
    def magnitude(np: Any, x: Any, y: Any, *, reduction: int, **values: Any) -> Any:
        return reduced(np, size(np, x, y, **values), reduction)

    return magnitude


def _squares(np: Any, x: Any, y: Any, **values: float) -> Any:
    """Of losses that are about squares of a difference, which cancels."""
    return (abs(x) + abs(y) + 1.0) * (abs(x) + abs(y) + abs(sum(values.values())) + 1.0)


def _differences(np: Any, x: Any, y: Any, **values: float) -> Any:
    return abs(x) + abs(y) + abs(sum(values.values()))


def _logarithms(np: Any, x: Any, y: Any) -> Any:
    return abs(y) * (abs(np.log(x)).clip(0.0, 100.0) + 1.0) + abs(1.0 - y) * (
        abs(np.log1p(-x)).clip(0.0, 100.0) + 1.0
    )


def _products(np: Any, x: Any, y: Any, **values: float) -> Any:
    return abs(x * y) + abs(x) + 1.0 + abs(sum(values.values()))


def _divergences(np: Any, x: Any, y: Any) -> Any:
    return abs(y) * (abs(np.log(np.where(y > 0.0, y, 1.0))) + abs(x) + 1.0)


def _entry(
    number: int,
    name: str,
    function: Callable[..., Any],
    size: Callable[..., Any],
    summary: str,
    formula: str,
    *,
    fills: tuple[str, str] = ("normal", "normal"),
    scalar: Scalar | None = None,
    **more: Any,
) -> Operation:
    given: dict[str, Any] = {"notes": (), **more}
    notes = (*given.pop("notes"), "The mean of no element is NaN.")
    return Operation(
        number=number,
        name=name,
        summary=summary,
        formula=f"{formula}; then the mean of all, their sum, or all of them",
        inputs=(
            Operand(name="input", summary="The predictions, any shape."),
            Operand(name="target", summary="The shape of input."),
        ),
        outputs=(
            Operand(name="output", summary="Rank 0; with reduction none the shape of input."),
        ),
        family="loss",
        dtypes=FLOATS,
        semantics=_loss(function),
        notes=notes,
        attributes=(REDUCTION,),
        scalars=(scalar,) if scalar else (),
        config=f"wia_{name}_config_t",
        tolerance=Tolerance(
            ulps=2.0,
            length=loss_length,
            magnitude=_size(size),
            reason="Some operations for each element and their sum, relative to the absolute "
            "parts.",
        ),
        flops=lambda shapes, out, values: 6.0 * elements(shapes[0]),
        samples=(
            Sample(shapes=((8,), (8,)), fills=fills),
            Sample(shapes=((3, 33), (3, 33)), values={"reduction": NONE}, fills=fills),
            Sample(shapes=((2, 5, 7),) * 2, values={"reduction": SUM}, fills=fills),
            Sample(shapes=((), ()), fills=fills),
            Sample(shapes=((0, 3), (0, 3)), values={"reduction": SUM}),
            Sample(shapes=((0, 3), (0, 3))),
        ),
        **given,
    )


_PARTS = ("0.05..0.95", "0.05..0.95")

MSE_LOSS = _entry(
    330,
    "mse_loss",
    _mse,
    _squares,
    "The squared error.",
    "(input - target)^2",
    source="values worked by hand",
)
L1_LOSS = _entry(
    331,
    "l1_loss",
    _l1,
    _differences,
    "The absolute error.",
    "|input - target|",
    source="values worked by hand",
)
HUBER_LOSS = _entry(
    332,
    "huber_loss",
    _huber,
    _squares,
    "The squared error near 0, the absolute one beyond.",
    "d = |input - target|; d^2 / 2 where d <= delta, else delta (d - delta / 2)",
    scalar=Scalar(name="delta", summary="Where the one becomes the other; above 0.", default=1.0),
    source="scipy.special.huber",
)
SMOOTH_L1_LOSS = _entry(
    333,
    "smooth_l1_loss",
    _smooth_l1,
    _squares,
    "The absolute error, round at 0.",
    "d = |input - target|; d^2 / (2 beta) where d < beta, else d - beta / 2",
    scalar=Scalar(name="beta", summary="Where the one becomes the other; 0 or more.", default=1.0),
    source="scipy.special.huber, divided by beta",
)
BCE_LOSS = _entry(
    334,
    "bce_loss",
    _bce,
    _logarithms,
    "The cross entropy of probabilities of two classes.",
    "-(target log(input) + (1 - target) log(1 - input)), each logarithm -100 at least",
    fills=_PARTS,
    notes=("input and target are from 0 to 1; an input elsewhere gives NaN, and so does NaN.",),
    source="values worked by hand",
)
BCE_WITH_LOGITS_LOSS = _entry(
    335,
    "bce_with_logits_loss",
    _bce_with_logits,
    _products,
    "The cross entropy of two classes, of the logarithm of their odds.",
    "max(input, 0) - input target + log(1 + exp(-|input|))",
    fills=("normal", "0.05..0.95"),
    source="scipy.special.log_expit",
)
KL_DIV_LOSS = _entry(
    336,
    "kl_div_loss",
    _kl_div,
    _divergences,
    "The divergence of Kullback and Leibler, of logarithms of probabilities.",
    "target (log(target) - input), 0 where target is 0",
    fills=("normal", "0.05..0.95"),
    source="scipy.special.rel_entr",
)
HINGE_LOSS = _entry(
    337,
    "hinge_loss",
    _hinge,
    _products,
    "How far a prediction is from the right side of a margin.",
    "max(margin - input target, 0)",
    scalar=Scalar(name="margin", summary="The margin.", default=1.0),
    notes=("target is 1 or -1.",),
    source="values worked by hand",
)


def cosine_similarity(np: Any, a: Any, b: Any, *, axis: int, epsilon: float) -> Any:
    """The cosine of the angle between vectors along the axis."""
    wide = [np.ascontiguousarray(np.moveaxis(widen(np, item), axis, -1)) for item in (a, b)]
    product = (wide[0] * wide[1]).sum(axis=-1)
    norms = [np.sqrt((item * item).sum(axis=-1)) for item in wide]
    return narrow(np, product / np.maximum(norms[0] * norms[1], epsilon), a.dtype)


def _cosine_size(np: Any, a: Any, b: Any, **values: Any) -> Any:
    return cosine_similarity(np, abs(a), abs(b), **values) + 1.0


COSINE_SIMILARITY = Operation(
    number=338,
    name="cosine_similarity",
    summary="The cosine of the angle between vectors.",
    formula="output = sum(a b) / max(sqrt(sum(a^2)) sqrt(sum(b^2)), epsilon)",
    inputs=(
        Operand(name="a", summary="Rank 1 or more."),
        Operand(name="b", summary="The shape of a."),
    ),
    outputs=(Operand(name="output", summary="The shape of a without the axis."),),
    family="cosine_similarity",
    dtypes=FLOATS,
    semantics=cosine_similarity,
    attributes=(one_axis("The dimension of the vectors; below 0 from the last.", 1),),
    scalars=(Scalar(name="epsilon", summary="The least divisor.", default=1e-8),),
    config="wia_cosine_similarity_config_t",
    tolerance=Tolerance(
        ulps=2.0,
        length=lambda shapes, values: 16 + 3 * (shapes[0] or (1,))[values["axis"]],
        magnitude=_cosine_size,
        reason="Three sums and some operations, relative to the cosine of absolute values and 1.",
    ),
    flops=lambda shapes, out, values: 6.0 * elements(shapes[0]),
    samples=(
        Sample(shapes=((3, 8), (3, 8))),
        Sample(shapes=((2, 5, 33), (2, 5, 33)), values={"axis": -1}),
        Sample(shapes=((9,), (9,)), values={"axis": 0, "epsilon": 0.5}),
        Sample(shapes=((2, 0), (2, 0))),
        Sample(shapes=((0, 2), (0, 2))),
    ),
    source="1 - scipy.spatial.distance.cosine",
)

OPERATIONS = (
    MSE_LOSS,
    L1_LOSS,
    HUBER_LOSS,
    SMOOTH_L1_LOSS,
    BCE_LOSS,
    BCE_WITH_LOGITS_LOSS,
    KL_DIV_LOSS,
    HINGE_LOSS,
    COSINE_SIMILARITY,
)
