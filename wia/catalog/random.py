"""Random numbers: the same on every device, for a seed and an offset of the launch."""

from __future__ import annotations

import math
from typing import Any

from ._cost import elements, per_output
from ._forms import SAME, onnx, target_dtype, target_shape
from ._model import (
    FLOATS,
    INT32_MAX,
    INTEGERS,
    Attribute,
    Operand,
    Operation,
    Sample,
    Scalar,
    Tolerance,
)
from ._numeric import ScalarError, element, narrow, widen
from ._random import random_words, uniform


def _expect_finite(**numbers: float) -> None:
    for name, value in numbers.items():
        if not math.isfinite(value):
            raise ScalarError(f"{name} is {value}; expected a finite number")


def random_uniform(
    np: Any, *, shape: Any, dtype: Any, low: float, high: float, seed: float, offset: float
) -> Any:
    """Evenly spread between two bounds."""
    _expect_finite(low=low, high=high)
    parts = uniform(np, random_words(np, elements(tuple(shape)), seed, offset))
    return narrow(np, low + (high - low) * parts, dtype).reshape(tuple(shape))


def _polar(np: Any, count: int, seed: float, offset: float) -> tuple[Any, Any]:
    """Radius and angle of each pair of a normal distribution in the plane, in turns."""
    even = count + count % 2
    words = random_words(np, even, seed, offset).reshape(-1, 2)
    first = (uniform(np, words[:, 0]) * 2.0**24 + 1.0) * 2.0**-24
    return np.sqrt(-2.0 * np.log(first)), uniform(np, words[:, 1])


def random_normal(
    np: Any, *, shape: Any, dtype: Any, mean: float, deviation: float, seed: float, offset: float
) -> Any:
    """Normally distributed, by the method of Box and Muller."""
    _expect_finite(mean=mean, deviation=deviation)
    count = elements(tuple(shape))
    radius, turn = _polar(np, count, seed, offset)
    angle = 2.0 * np.pi * turn
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return narrow(np, mean + deviation * pairs.reshape(-1)[:count], dtype).reshape(tuple(shape))


def _normal_size(
    np: Any, *, shape: Any, dtype: Any, mean: float, deviation: float, seed: float, offset: float
) -> Any:
    count = elements(tuple(shape))
    radius, _ = _polar(np, count, seed, offset)
    # The logarithm of a number near 1 is small, and its error relative to that number.
    size = abs(mean) + abs(deviation) * (8.0 * radius + 1.0)
    return np.repeat(size, 2)[:count].reshape(tuple(shape))


def random_integers(
    np: Any, *, shape: Any, dtype: Any, low: float, high: float, seed: float, offset: float
) -> Any:
    """Whole numbers from the lower bound up to and without the higher one."""
    wide = np.dtype(np.int64)
    least, end = int(element(np, low, wide, "low")), int(element(np, high, wide, "high"))
    if not 0 < end - least <= 2**32:
        raise ScalarError(f"low is {low} and high {high}; expected high above low by 2**32 at most")
    element(np, low, dtype, "low")
    element(np, high - 1, dtype, "high - 1")
    words = random_words(np, elements(tuple(shape)), seed, offset).astype(np.uint64)
    steps = (words * np.uint64(end - least)) >> np.uint64(32)
    return (steps.astype(np.int64) + least).astype(dtype).reshape(tuple(shape))


def bernoulli(np: Any, x: Any, *, dtype: Any, seed: float, offset: float) -> Any:
    """1 with the probability that the element is."""
    parts = uniform(np, random_words(np, x.size, seed, offset)).reshape(x.shape)
    return (parts < widen(np, x)).astype(dtype)


def multinomial(np: Any, x: Any, *, count: int, seed: float, offset: float) -> Any:
    """So many draws from each row, with the probabilities that its weights are."""
    weights = widen(np, x)
    rows, classes = x.shape
    ends = np.cumsum(np.where(weights > 0.0, weights, 0.0), axis=1)
    parts = uniform(np, random_words(np, rows * count, seed, offset)).reshape(rows, count)
    places = parts[:, :, None] * ends[:, None, -1:] >= ends[:, None, :]
    return np.minimum(places.sum(axis=2), classes - 1).astype(np.int64)


def random_permutation(np: Any, *, shape: Any, dtype: Any, seed: float, offset: float) -> Any:
    """The numbers from 0 on in a random order."""
    words = random_words(np, shape[0], seed, offset)
    element(np, max(shape[0] - 1, 0), dtype, "the last number")
    return np.argsort(words, kind="stable").astype(dtype)


_PHILOX = (
    "Element i, in row-major order, comes of word i % 4 of the block of Philox4x32-10 with the key "
    "seed and the counter i / 4 + offset; seed and offset are whole numbers from 0 to 2**53. u is "
    "its upper 24 bits times 2**-24."
)
_FINITE = "NaN or an infinity as {} is INVALID_ARGUMENT."
_SHAPE = target_shape("The shape of the result")
_DTYPE = target_dtype("The dtype of the result")
_MADE = Operand(name="output", summary="The shape and dtype that were asked for.")
_SEEDS = (
    Scalar(name="seed", summary="Which random numbers.", default=0.0),
    Scalar(name="offset", summary="Blocks of four of them to leave out.", default=0.0),
)
_SOURCE = "the known answers of Random123 for philox4x32 with 10 rounds"


def _made(
    number: int, name: str, semantics: Any, summary: str, formula: str, **more: Any
) -> Operation:
    given: dict[str, Any] = {
        "family": "make",
        "attributes": (_SHAPE, _DTYPE),
        "notes": (_PHILOX,),
        **more,
    }
    return Operation(
        number=number,
        name=name,
        summary=summary,
        formula=formula,
        inputs=(),
        outputs=(_MADE,),
        semantics=semantics,
        config=f"wia_{name}_config_t",
        flops=per_output(40.0),
        **given,
    )


def _samples(*values: dict[str, Any]) -> tuple[Sample, ...]:
    shapes = ((8,), (3, 33), (), (2, 0), (5,))
    return tuple(
        Sample(shapes=(), values={"shape": shape, **(values[i] if i < len(values) else {})})
        for i, shape in enumerate(shapes)
    )


RANDOM_UNIFORM = _made(
    320,
    "random_uniform",
    random_uniform,
    "Random numbers, evenly spread between two bounds.",
    "output[i] = low + (high - low) u_i",
    dtypes=FLOATS,
    notes=(_PHILOX, _FINITE.format("low or high")),
    standard=onnx("RandomUniform", 22, "other random numbers"),
    scalars=(
        Scalar(name="low", summary="The lower bound.", default=0.0),
        Scalar(
            name="high", summary="The higher bound; it comes out only by rounding.", default=1.0
        ),
        *_SEEDS,
    ),
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: 4,
        magnitude=lambda np, *, low, high, **values: np.asarray(abs(low) + abs(high)),
        reason="A difference, a product and a sum, and bounds that may be rounded before, relative "
        "to the bounds.",
    ),
    samples=_samples({}, {"low": -3.0, "high": 5.0, "seed": 7.0, "offset": 2.0}),
    source=_SOURCE,
)
RANDOM_NORMAL = _made(
    321,
    "random_normal",
    random_normal,
    "Random numbers, normally distributed.",
    "output[2 j] = mean + deviation r_j cos(2 pi u_(2 j + 1)), output[2 j + 1] likewise with sin, "
    "r_j = sqrt(-2 log(u_(2 j) + 2**-24))",
    dtypes=FLOATS,
    notes=(_PHILOX, _FINITE.format("mean or deviation")),
    standard=onnx("RandomNormal", 22, "other random numbers"),
    scalars=(
        Scalar(name="mean", summary="The mean.", default=0.0),
        Scalar(name="deviation", summary="The standard deviation.", default=1.0),
        *_SEEDS,
    ),
    tolerance=Tolerance(
        ulps=1.0,
        length=lambda shapes, values: 16,
        magnitude=_normal_size,
        reason="A logarithm, a root, a cosine and four more operations, relative to the radius.",
    ),
    samples=_samples({}, {"mean": -3.0, "deviation": 0.5, "seed": 7.0, "offset": 2.0}),
    source=f"{_SOURCE}; moments of the normal distribution",
)
RANDOM_INTEGERS = _made(
    322,
    "random_integers",
    random_integers,
    "Random whole numbers between two bounds.",
    "output[i] = low + floor(word_i (high - low) / 2**32)",
    dtypes=INTEGERS,
    scalars=(
        Scalar(name="low", summary="The least number.", default=0.0),
        Scalar(name="high", summary="The largest number and 1; above low.", default=2.0),
        *_SEEDS,
    ),
    tolerance=Tolerance(),
    samples=_samples({}, {"low": 3.0, "high": 120.0, "seed": 2.0**53, "offset": 2.0**32}),
    source=_SOURCE,
)
RANDOM_PERMUTATION = _made(
    325,
    "random_permutation",
    random_permutation,
    "The whole numbers from 0 on in a random order.",
    "output = the order in which words 0, 1, ... ascend; equal ones stay in order",
    family="window",
    notes=("The result has rank 1.", _PHILOX),
    dtypes=("int64", "int32"),
    scalars=_SEEDS,
    tolerance=Tolerance(),
    samples=(
        Sample(shapes=(), values={"shape": (8,)}),
        Sample(shapes=(), values={"shape": (33,), "seed": 9.0, "offset": 1.0}),
        Sample(shapes=(), values={"shape": (0,)}),
    ),
    source=f"{_SOURCE}, put in order",
)
BERNOULLI = Operation(
    number=323,
    name="bernoulli",
    summary="Ones and zeros at random, each with a probability of its own.",
    formula="output[i] = 1 where u_i < input[i], else 0",
    inputs=(Operand(name="input", summary="Probabilities, any shape."),),
    outputs=(SAME,),
    family="cast",
    dtypes=FLOATS,
    semantics=bernoulli,
    notes=(_PHILOX, "A probability of NaN gives 0, one of 1 or more always 1."),
    standard=onnx("Bernoulli", 22, "other random numbers"),
    attributes=(target_dtype("The dtype of the result"),),
    scalars=_SEEDS,
    config="wia_bernoulli_config_t",
    tolerance=Tolerance(),
    flops=per_output(40.0),
    samples=(
        Sample(shapes=((8,),), values={"dtype": "bool"}, fills=("positive",)),
        Sample(shapes=((3, 33),), values={"dtype": "float32", "seed": 7.0}, fills=("special",)),
        Sample(shapes=((),), values={"dtype": "int64"}),
        Sample(shapes=((2, 0),), values={"dtype": "int8"}),
    ),
    source=_SOURCE,
    no_gradient="it draws at random, and the output is constant between steps",
)
MULTINOMIAL = Operation(
    number=324,
    name="multinomial",
    summary="Draws classes at random, with replacement.",
    formula="output[b, j] = the first class at which the running sum of input[b] is above u times "
    "the sum of all",
    inputs=(Operand(name="input", summary="[b, classes]: weights; those below 0 count as 0."),),
    outputs=(Operand(name="output", summary="int64 [b, count]."),),
    family="multinomial",
    dtypes=("float64", "float32"),
    semantics=multinomial,
    notes=(_PHILOX, "Sums are in float64, in the order of classes."),
    standard=onnx("Multinomial", 22, "weights, not their logarithms; other random numbers"),
    attributes=(
        Attribute(
            name="count", summary="Draws from each row.", default=1, minimum=1, maximum=INT32_MAX
        ),
    ),
    scalars=_SEEDS,
    config="wia_multinomial_config_t",
    tolerance=Tolerance(),
    flops=per_output(40.0),
    samples=(
        Sample(shapes=((3, 5),), values={"count": 33}, fills=("positive",)),
        Sample(shapes=((1, 31),), values={"count": 8, "seed": 5.0}),
        Sample(shapes=((0, 4),)),
    ),
    source=f"{_SOURCE}; frequencies of many draws",
    no_gradient="it draws at random, and the output is constant between steps",
)

OPERATIONS = (
    RANDOM_UNIFORM,
    RANDOM_NORMAL,
    RANDOM_INTEGERS,
    BERNOULLI,
    MULTINOMIAL,
    RANDOM_PERMUTATION,
)
