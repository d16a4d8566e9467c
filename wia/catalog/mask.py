"""Scaling, masks and dropout: the small steps between the products of attention."""

from __future__ import annotations

from typing import Any

from ._cost import elements, per_output
from ._model import (
    ANY,
    FLOATS,
    Operand,
    Operation,
    Sample,
    Scalar,
    Standard,
    Tolerance,
)
from ._numeric import ScalarError, is_integer, limits, narrow, scale, widen
from ._random import random_words, uniform

_BOOL = ("bool",)
_FILLED = tuple(name for name in ANY if not name.startswith(("float8", "complex")))


def scale_by(np: Any, x: Any, *, factor: float) -> Any:
    """Each element times a scalar."""
    return narrow(np, scale(np, factor, widen(np, x), "factor"), x.dtype)


def masked_add(np: Any, x: Any, other: Any, mask: Any) -> Any:
    """The sum where the mask is true, else the first operand."""
    total = narrow(np, widen(np, x) + widen(np, other), x.dtype)
    return np.where(mask, total, x)


def masked_fill(np: Any, x: Any, mask: Any, *, value: float) -> Any:
    """A scalar where the mask is true, else the element."""
    return np.where(mask, _as_element(np, value, x.dtype), x)


def _as_element(np: Any, value: float, dtype: Any) -> Any:
    if not is_integer(dtype):
        return narrow(np, np.float64(value), dtype)
    low, high = limits(np, dtype)
    if not (float(value).is_integer() and low <= value <= high):
        raise ScalarError(f"value is {value}; expected a whole number from {low} to {high}")
    return np.array(int(value), dtype)


def dropout(np: Any, x: Any, *, ratio: float, seed: float, offset: float) -> tuple[Any, Any]:
    """Zeros at random, the rest scaled so that the mean stays; and what was kept."""
    if not 0.0 <= ratio < 1.0:
        raise ScalarError(f"ratio is {ratio}; expected 0 or more and below 1")
    words = random_words(np, elements(x.shape), seed, offset)
    kept = (uniform(np, words) >= ratio).reshape(x.shape)
    scaled = narrow(np, widen(np, x) / (1.0 - ratio), x.dtype)
    return np.where(kept, scaled, np.zeros((), x.dtype)), kept


_ROUNDED = Tolerance(ulps=1.0, reason="Faithfully rounded: one operation per element.")

SCALE = Operation(
    number=204,
    name="scale",
    summary="Each element times a scalar.",
    formula="output = factor * input",
    inputs=(Operand(name="input", summary="Any shape."),),
    outputs=(Operand(name="output", summary="The shape of input."),),
    family="same",
    dtypes=(*FLOATS, "int64", "int32", "int16", "int8"),
    semantics=scale_by,
    notes=("Integers wrap; factor must be a whole number then.",),
    scalars=(Scalar(name="factor", summary="What to multiply by.", default=1.0),),
    config="wia_scale_config_t",
    tolerance=Tolerance(
        ulps=2.0,
        reason="One product; factor may be rounded to float32 before, for float32 and narrower.",
    ),
    flops=per_output(),
    samples=(
        Sample(shapes=((8,),), values={"factor": -3.0}),
        Sample(shapes=((3, 33),), values={"factor": 2.0}, fills=("special",)),
        Sample(shapes=((),), values={"factor": 0.0}),
        Sample(shapes=((2, 0),)),
    ),
    source="values worked by hand",
)

MASKED_ADD = Operation(
    number=205,
    name="masked_add",
    summary="Adds where a mask is true.",
    formula="output = input + other where mask, else input",
    inputs=(
        Operand(name="input", summary="Any shape."),
        Operand(name="other", summary="Broadcasts to input."),
        Operand(name="mask", summary="Broadcasts to input.", dtypes=_BOOL),
    ),
    outputs=(Operand(name="output", summary="The shape of input."),),
    family="masked",
    dtypes=(*FLOATS, "int64", "int32", "int16", "int8"),
    semantics=masked_add,
    notes=("Integers wrap. Where the mask is false, other is not looked at.",),
    tolerance=_ROUNDED,
    flops=per_output(),
    samples=(
        Sample(shapes=((8,), (8,), (8,))),
        Sample(shapes=((3, 33), (33,), (3, 1)), fills=("special", "special")),
        Sample(shapes=((2, 3, 4), (), (3, 4))),
        Sample(shapes=((2, 0), (1,), ())),
    ),
    source="numpy.add with where=mask",
)

MASKED_FILL = Operation(
    number=206,
    name="masked_fill",
    summary="A value where a mask is true, the elements elsewhere.",
    formula="output = value where mask, else input",
    inputs=(
        Operand(name="input", summary="Any shape."),
        Operand(name="mask", summary="Broadcasts to input.", dtypes=_BOOL),
    ),
    outputs=(Operand(name="output", summary="The shape of input."),),
    family="masked",
    dtypes=_FILLED,
    semantics=masked_fill,
    notes=("Integers need a whole value that they can hold; floats round it.",),
    scalars=(Scalar(name="value", summary="What to write.", default=0.0),),
    config="wia_masked_fill_config_t",
    tolerance=Tolerance(),
    flops=per_output(0.0),
    samples=(
        Sample(shapes=((8,), (8,)), values={"value": 1.0}),
        Sample(shapes=((3, 33), (3, 1)), fills=("special",)),
        Sample(shapes=((2, 3, 4), (3, 4)), values={"value": 1.0}),
        Sample(
            shapes=((33,), (33,)),
            values={"value": float("-inf")},
            dtypes=FLOATS,
        ),
        Sample(shapes=((2, 0), ())),
    ),
    source="numpy.putmask",
)

DROPOUT = Operation(
    number=207,
    name="dropout",
    summary="Zeros at random, and the rest scaled so that the mean stays (training).",
    formula="output[i] = input[i] / (1 - ratio) where uniform(seed, offset, i) >= ratio, else 0",
    inputs=(Operand(name="input", summary="Any shape."),),
    outputs=(
        Operand(name="output", summary="The shape of input."),
        Operand(name="mask", summary="bool, the shape of input: what was kept.", optional=True),
    ),
    family="dropout",
    dtypes=FLOATS,
    semantics=dropout,
    notes=(
        "uniform is the upper 24 bits of a word of Philox4x32-10, times 2**-24. The key is seed; "
        "element i, in row-major order, takes word i % 4 of the block with the counter i / 4 + "
        "offset. seed and offset are whole numbers from 0 to 2**53.",
        "Inference needs no operation: its output is the input.",
    ),
    standard=Standard(name="Dropout", opset=22, note="training_mode 1; other random numbers"),
    scalars=(
        Scalar(
            name="ratio", summary="The part that becomes 0, below 1.", default=0.5, another=0.25
        ),
        Scalar(name="seed", summary="Which random numbers.", default=0.0),
        Scalar(name="offset", summary="Blocks of them to leave out.", default=0.0),
    ),
    config="wia_dropout_config_t",
    tolerance=Tolerance(
        ulps=2.0,
        reason="One quotient, or a product with 1 / (1 - ratio), which is rounded before.",
    ),
    flops=per_output(2.0),
    samples=(
        Sample(shapes=((8,),)),
        Sample(shapes=((3, 33),), values={"ratio": 0.25, "seed": 7.0, "offset": 3.0}),
        Sample(shapes=((),), values={"ratio": 0.0}),
        Sample(shapes=((4, 31),), values={"seed": 2.0**53, "offset": 2.0**32}, fills=("special",)),
        Sample(shapes=((2, 0),)),
    ),
    source="the known answers of Random123 for philox4x32 with 10 rounds",
)

OPERATIONS = (SCALE, MASKED_ADD, MASKED_FILL, DROPOUT)
