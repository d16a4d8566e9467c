"""What recurrent layers give back, where gradients are made of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ._backward import GRAD, SECOND
from ._cost import elements
from ._model import FLOATS, Operand, Operation, Sample, Shape, Tolerance, Values
from ._numeric import ScalarError, narrow, widen
from ._recurrent_back import BackActivations, SteepActivations, layer_back
from ._recurrent_layer import BATCH_FIRST
from .recurrent import GRU, LSTM, RNN

# -- semantics -------------------------------------------------------------------------------------


def _wide_back(
    np: Any, kind: str, act: Any, grad: Any, operands: tuple[Any, ...], values: Values
) -> tuple[Any, ...]:
    """The outputs of the entry of a kind, wide, from wide operands."""
    count = 2 if kind == "lstm" else 1
    x, w, r, bias, lengths, *more = operands
    initial, last = more[:count], more[-count:]
    peepholes = more[count] if kind == "lstm" else None
    first = values["layout"] == BATCH_FIRST
    x, grad = (x.swapaxes(0, 1), grad.transpose(1, 2, 0, 3)) if first else (x, grad)
    none = np.zeros((w.shape[0], x.shape[1], r.shape[-1]))
    states, ends = (
        [none if i is None else i.swapaxes(0, 1) if first else i for i in items]
        for items in (initial, last)
    )
    inner, begin = layer_back(
        np, kind, act, (grad, *ends), x, w, r, bias, lengths, states, peepholes, values
    )
    of_x, of_w, of_r, of_bias, of_seen = inner
    if first:
        of_x, begin = of_x.swapaxes(0, 1), [item.swapaxes(0, 1) for item in begin]
    return (of_x, of_w, of_r, of_bias, *begin, *((of_seen,) if kind == "lstm" else ()))


def recurrent_gradient(
    np: Any, grad: Any, *operands: Any, kind: str, **values: Any
) -> tuple[Any, ...]:
    """Backpropagation through time: the steps again, then back through them."""
    if not values["clip"] >= 0:
        raise ScalarError(f"clip is {values['clip']}; expected 0 or more")
    wide = tuple(
        item if item is None or i == _LENGTHS else widen(np, item)
        for i, item in enumerate(operands)
    )
    act = BackActivations(np, kind, values)
    made = _wide_back(np, kind, act, widen(np, grad), wide, values)
    return tuple(narrow(np, np.ascontiguousarray(item), grad.dtype) for item in made)


_LENGTHS = 4


def _magnitude(kind: str, output: int) -> Callable[..., Any]:
    def magnitude(np: Any, grad: Any, *operands: Any, **values: Any) -> Any:
        sizes = tuple(
            item if item is None or i == _LENGTHS else abs(item) for i, item in enumerate(operands)
        )
        x, w, r = sizes[:3]
        act = SteepActivations(np, kind, values)
        # Sums of gates are rounded, relative to these.
        reach = 1.0 + abs(w).sum(axis=-1).max(initial=0.0) * x.max(initial=0.0)
        reach += abs(r).sum(axis=-1).max(initial=0.0)
        return _wide_back(np, kind, act, abs(grad), sizes, values)[output] * reach

    return magnitude


def _tolerance(kind: str, output: int) -> Tolerance:
    return Tolerance(
        ulps=1.0,
        length=lambda shapes, values: 8 + sum(elements(shape) for shape in shapes[:2]),
        magnitude=_magnitude(kind, output),
        reason="Any order of summation: one rounding in the accumulator for each element of grad "
        "and x, relative to the sum of absolute values with the largest slopes of the activations, "
        "times the largest sum of a gate; and one of the result.",
    )


# -- entries ---------------------------------------------------------------------------------------


def _flops(shapes: tuple[Shape | None, ...], out: Shape, values: Values) -> float:
    x = shapes[1] or (0, 0, 0)
    return 6.0 * x[0] * x[1] * (elements(shapes[2]) + elements(shapes[3]))


def _sample(of: Operation, sample: Sample) -> Sample:
    """A call of the layer, the other way round."""
    values = {**of.defaults(), **sample.values}
    x, w, r = (shape or () for shape in sample.shapes[:3])
    first = values["layout"] == BATCH_FIRST
    batch, steps = (x[0], x[1]) if first else (x[1], x[0])
    states = (batch, len(w) and w[0]) if first else (w[0], batch)
    output = (batch, steps, w[0], r[-1]) if first else (steps, w[0], batch, r[-1])
    operands = (*sample.shapes, *((None,) * (len(of.inputs) - len(sample.shapes))))
    given = sample.shapes[0] != (0, 2, 3)
    last: list[Shape | None] = [(*states, r[-1]) if given else None] * (len(of.outputs) - 1)
    fills = ("normal", *sample.fills) if sample.fills else ()
    return Sample(shapes=(output, *operands, *last), values=sample.values, fills=fills)


def _entry(number: int, of: Operation) -> Operation:
    kind = of.name
    names = ["x", "w", "r", "bias", "initial"]
    names += ["initial_cell", "peepholes"] if kind == "lstm" else []
    return Operation(
        number=number,
        name=f"{kind}_gradient",
        summary=f"Gradients of {kind} by all that are floats.",
        formula="by_x, by_w, ... = backpropagation through time, from the last step",
        inputs=(
            GRAD,
            *of.inputs,
            *(
                Operand(
                    name=f"grad_{output.name}",
                    summary=f"The gradient of {output.name}; 0 when left out.",
                    optional=True,
                )
                for output in of.outputs[1:]
            ),
        ),
        outputs=tuple(
            Operand(
                name=f"by_{name}",
                summary=f"The shape of {name}, also where that is left out.",
                optional=i > 2,
                tolerance=_tolerance(kind, i),
            )
            for i, name in enumerate(names)
        ),
        family="recurrent_gradient",
        dtypes=FLOATS,
        semantics=partial(recurrent_gradient, kind=kind),
        notes=(
            "The steps are taken again, in the accumulator. The slope of an activation is that of "
            "its formula, at a bend that from above for leaky and thresholded relu and elu, 0 for "
            "relu and hard sigmoid; behind the bound of clip it is 0.",
            *of.notes,
        ),
        attributes=of.attributes,
        scalars=of.scalars,
        config=of.config,
        tolerance=_tolerance(kind, 0),
        flops=_flops,
        samples=tuple(_sample(of, sample) for sample in of.samples),
        source="finite differences; torch.nn.RNN, GRU and LSTM",
        no_gradient=SECOND,
    )


RNN_GRADIENT = _entry(444, RNN)
GRU_GRADIENT = _entry(445, GRU)
LSTM_GRADIENT = _entry(446, LSTM)

OPERATIONS = (RNN_GRADIENT, GRU_GRADIENT, LSTM_GRADIENT)
