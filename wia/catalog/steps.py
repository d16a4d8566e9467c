"""Steps of optimisers: new parameters and new state from gradients.

All that changes from step to step is a scalar of the launch: the learning rate, the number of the
step. Outputs may be the inputs of the same meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._cost import per_output
from ._forms import flag, onnx
from ._model import FLOATS, Operand, Operation, Sample, Scalar, Tolerance
from ._numeric import ScalarError, narrow, widen


def _stepping(step: Callable[..., tuple[Any, ...]]) -> Any:
    """Semantics of a step on wide arrays, rounded once: step(np, *wide, **values)."""

    def semantics(np: Any, *inputs: Any, **values: Any) -> tuple[Any, ...]:
        wide = [widen(np, array) for array in inputs]
        return tuple(narrow(np, item, inputs[0].dtype) for item in step(np, *wide, **values))

    return semantics


def _sgd(np: Any, parameter: Any, gradient: Any, *, rate: float, decay: float) -> tuple[Any, ...]:
    return (parameter - rate * (gradient + decay * parameter),)


def _momentum(
    np: Any,
    parameter: Any,
    gradient: Any,
    velocity: Any,
    *,
    nesterov: int,
    rate: float,
    momentum: float,
    dampening: float,
    decay: float,
) -> tuple[Any, ...]:
    full = gradient + decay * parameter
    moved = momentum * velocity + (1.0 - dampening) * full
    return parameter - rate * (full + momentum * moved if nesterov else moved), moved


def _corrected(beta: float, step: float) -> float:
    if step < 1:
        raise ScalarError(f"step is {step}; expected 1 or more: the first step is 1")
    return float(1.0 - beta**step)


def _moments(
    np: Any, gradient: Any, mean: Any, square: Any, beta1: float, beta2: float
) -> tuple[Any, Any]:
    return (
        beta1 * mean + (1.0 - beta1) * gradient,
        beta2 * square + (1.0 - beta2) * gradient * gradient,
    )


def _adam(
    np: Any,
    parameter: Any,
    gradient: Any,
    mean: Any,
    square: Any,
    *,
    rate: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    decay: float,
    step: float,
) -> tuple[Any, ...]:
    mean, square = _moments(np, gradient + decay * parameter, mean, square, beta1, beta2)
    spread = np.sqrt(square / _corrected(beta2, step)) + epsilon
    return parameter - rate * mean / _corrected(beta1, step) / spread, mean, square


def _adamw(
    np: Any,
    parameter: Any,
    gradient: Any,
    mean: Any,
    square: Any,
    *,
    rate: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    decay: float,
    step: float,
) -> tuple[Any, ...]:
    shrunk = parameter * (1.0 - rate * decay)
    values = {"rate": rate, "beta1": beta1, "beta2": beta2, "epsilon": epsilon, "step": step}
    moved, mean, square = _adam(np, parameter, gradient, mean, square, decay=0.0, **values)
    return shrunk + (moved - parameter), mean, square


def _adagrad(
    np: Any,
    parameter: Any,
    gradient: Any,
    total: Any,
    *,
    rate: float,
    epsilon: float,
    decay: float,
) -> tuple[Any, ...]:
    full = gradient + decay * parameter
    total = total + full * full
    return parameter - rate * full / (np.sqrt(total) + epsilon), total


def _rmsprop(
    np: Any,
    parameter: Any,
    gradient: Any,
    square: Any,
    *,
    rate: float,
    alpha: float,
    epsilon: float,
    decay: float,
) -> tuple[Any, ...]:
    full = gradient + decay * parameter
    square = alpha * square + (1.0 - alpha) * full * full
    return parameter - rate * full / (np.sqrt(square) + epsilon), square


def _sizes(step: Callable[..., tuple[Any, ...]], which: int) -> Any:
    """What errors of an output are relative to: the parts that are added, as absolute values."""

    def magnitude(np: Any, *inputs: Any, **values: Any) -> Any:
        wide = [widen(np, array) for array in inputs]
        parts = {name: abs(value) for name, value in values.items()}
        if "dampening" in parts:
            parts["dampening"] = 0.0
        sizes = [abs(array) for array in wide]
        now, largest = step(np, *wide, **values)[which], step(np, *sizes, **parts)[which]
        return abs(now) + abs(largest) + (2.0 * sizes[0] if which == 0 else 0.0)

    return magnitude


def _tolerance(step: Callable[..., tuple[Any, ...]], which: int) -> Tolerance:
    return Tolerance(
        ulps=2.0,
        length=lambda shapes, values: 16,
        magnitude=_sizes(step, which),
        reason="Some ten operations, and scalars that may be rounded to float32 before, relative "
        "to the sum of the absolute parts.",
    )


_NEW = "The shape of parameter; {} itself, where the kernel allows it."


def _step(
    number: int,
    name: str,
    step: Callable[..., tuple[Any, ...]],
    summary: str,
    formula: str,
    state: dict[str, str],
    scalars: tuple[Scalar, ...],
    samples: tuple[dict[str, float], ...],
    **more: Any,
) -> Operation:
    """An entry: ``state`` are further inputs, each with a new value among the outputs."""
    count = 2 + len(state)
    fills = ("normal", "normal", *("positive" for _ in state))
    given: dict[str, Any] = {
        "notes": ("All inputs have one shape.",),
        "no_gradient": "it is a step of training, which is not trained through",
        **more,
    }
    return Operation(
        number=number,
        name=name,
        summary=summary,
        formula=formula,
        inputs=(
            Operand(name="parameter", summary="Any shape."),
            Operand(name="gradient", summary="The shape of parameter."),
            *(Operand(name=key, summary=text) for key, text in state.items()),
        ),
        outputs=tuple(
            Operand(
                name=f"new_{key}",
                summary=_NEW.format(key),
                tolerance=_tolerance(step, which),
            )
            for which, key in enumerate(("parameter", *state))
        ),
        family="step",
        dtypes=FLOATS,
        semantics=_stepping(step),
        scalars=scalars,
        config=f"wia_{name}_config_t",
        tolerance=_tolerance(step, 0),
        flops=per_output(10.0),
        samples=(
            Sample(shapes=((8,),) * count, fills=fills),
            *(Sample(shapes=((3, 33),) * count, fills=fills, values=item) for item in samples),
            Sample(shapes=((),) * count, fills=fills),
            Sample(shapes=((2, 0),) * count, fills=fills),
        ),
        **given,
    )


_RATE = Scalar(name="rate", summary="The learning rate.", default=0.001)
_DECAY = Scalar(name="decay", summary="The weight decay.", default=0.0)
_EPSILON = Scalar(name="epsilon", summary="Added to the divisor.", default=1e-8)
_BETAS = (
    Scalar(
        name="beta1", summary="How much of the mean of gradients stays.", default=0.9, another=0.5
    ),
    Scalar(
        name="beta2", summary="How much of the mean of squares stays.", default=0.999, another=0.75
    ),
)
_STEP = Scalar(name="step", summary="The number of this step, from 1.", default=1.0)
_MEAN = {
    "mean": "The running mean of gradients; 0 at the begin.",
    "square": "The running mean of squared gradients; 0 at the begin.",
}

SGD_STEP = _step(
    350,
    "sgd_step",
    _sgd,
    "A step of gradient descent.",
    "new_parameter = parameter - rate (gradient + decay parameter)",
    {},
    (Scalar(name="rate", summary="The learning rate.", default=0.01), _DECAY),
    ({"rate": 0.5, "decay": 0.25},),
    source="values worked by hand",
)
MOMENTUM_STEP = _step(
    351,
    "momentum_step",
    _momentum,
    "A step of gradient descent with momentum.",
    "g = gradient + decay parameter; new_velocity = momentum velocity + (1 - dampening) g; "
    "new_parameter = parameter - rate new_velocity, or with nesterov parameter - rate (g + "
    "momentum new_velocity)",
    {"velocity": "The running sum of gradients; 0 at the begin."},
    (
        Scalar(name="rate", summary="The learning rate.", default=0.01),
        Scalar(name="momentum", summary="How much of the velocity stays.", default=0.9),
        Scalar(name="dampening", summary="How much of the gradient is left out.", default=0.0),
        _DECAY,
    ),
    ({"decay": 0.125, "dampening": 0.5}, {"nesterov": 1, "momentum": 0.5, "rate": 0.1}),
    attributes=(flag("nesterov", "1: with the velocity after this step."),),
    standard=onnx("ai.onnx.preview.training.Momentum", 1, "beta is 1 - dampening"),
    source="ONNX node tests momentum*, nesterov_momentum",
)
ADAM_STEP = _step(
    352,
    "adam_step",
    _adam,
    "A step of Adam.",
    "g = gradient + decay parameter; new_mean = beta1 mean + (1 - beta1) g; new_square = beta2 "
    "square + (1 - beta2) g^2; new_parameter = parameter - rate new_mean / (1 - beta1^step) / "
    "(sqrt(new_square / (1 - beta2^step)) + epsilon)",
    _MEAN,
    (_RATE, *_BETAS, _EPSILON, _DECAY, _STEP),
    ({"step": 1000.0, "decay": 0.125}, {"rate": 0.5, "beta1": 0.5, "beta2": 0.75, "step": 3.0}),
    source="values worked by hand, after Kingma and Ba (2015), algorithm 1",
)
ADAMW_STEP = _step(
    353,
    "adamw_step",
    _adamw,
    "A step of Adam with a weight decay of its own.",
    "As adam_step with decay 0, of (1 - rate decay) parameter",
    _MEAN,
    (
        _RATE,
        *_BETAS,
        _EPSILON,
        Scalar(name="decay", summary="The weight decay.", default=0.01),
        _STEP,
    ),
    ({"step": 1000.0, "decay": 0.125}, {"rate": 0.5, "beta1": 0.5, "beta2": 0.75, "step": 3.0}),
    source="values worked by hand, after Loshchilov and Hutter (2019), algorithm 2",
)
ADAGRAD_STEP = _step(
    354,
    "adagrad_step",
    _adagrad,
    "A step of Adagrad.",
    "g = gradient + decay parameter; new_total = total + g^2; "
    "new_parameter = parameter - rate g / (sqrt(new_total) + epsilon)",
    {"total": "The sum of squared gradients; 0 at the begin."},
    (
        Scalar(name="rate", summary="The learning rate.", default=0.01),
        Scalar(name="epsilon", summary="Added to the divisor.", default=1e-10),
        _DECAY,
    ),
    ({"rate": 0.5, "decay": 0.125, "epsilon": 0.25},),
    standard=onnx("ai.onnx.preview.training.Adagrad", 1, "rate is R / (1 + T decay_factor)"),
    source="ONNX node tests adagrad*",
)
RMSPROP_STEP = _step(
    355,
    "rmsprop_step",
    _rmsprop,
    "A step of RMSprop.",
    "g = gradient + decay parameter; new_square = alpha square + (1 - alpha) g^2; "
    "new_parameter = parameter - rate g / (sqrt(new_square) + epsilon)",
    {"square": "The running mean of squared gradients; 0 at the begin."},
    (
        Scalar(name="rate", summary="The learning rate.", default=0.01),
        Scalar(
            name="alpha",
            summary="How much of the mean of squares stays.",
            default=0.99,
            another=0.5,
        ),
        _EPSILON,
        _DECAY,
    ),
    ({"rate": 0.5, "alpha": 0.75, "decay": 0.125, "epsilon": 0.25},),
    source="values worked by hand",
)

OPERATIONS = (SGD_STEP, MOMENTUM_STEP, ADAM_STEP, ADAMW_STEP, ADAGRAD_STEP, RMSPROP_STEP)
