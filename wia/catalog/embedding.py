"""Rows of a table: one for each index, or many reduced to one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ._cost import elements, moves_only
from ._model import (
    FLOATS,
    INTEGERS,
    Attribute,
    Choice,
    Operand,
    Operation,
    Sample,
    Shape,
    Tolerance,
    Values,
)
from ._numeric import OperandError, narrow, widen

_INDICES = ("int64", "int32")
_SUM, _MEAN, _MAX = range(3)


def _check(np: Any, name: str, what: str, array: Any, limit: int) -> None:
    wrong = (array < 0) | (array > limit)
    if wrong.any():
        raise OperandError(f"{name}: {what} is {array[wrong].flat[0]}; expected 0 to {limit}")


def embedding(np: Any, weight: Any, indices: Any) -> Any:
    """The row of each index."""
    _check(np, "embedding", "an index", indices, weight.shape[0] - 1)
    return weight[indices]


def embedding_bag(
    np: Any, weight: Any, indices: Any, offsets: Any, factors: Any = None, *, mode: int
) -> Any:
    """The sum, mean or largest element of the rows of each bag; 0 for an empty one."""
    _check(np, "embedding_bag", "an index", indices, weight.shape[0] - 1)
    _check(np, "embedding_bag", "an offset", offsets, indices.size)
    if offsets.size and (offsets[0] != 0 or (np.diff(offsets) < 0).any()):
        raise OperandError("embedding_bag: offsets don't begin at 0 or fall; expected 0, then more")
    rows = widen(np, weight)[indices]
    if factors is not None:
        rows = rows * widen(np, factors)[:, None]
    total = np.zeros((offsets.size, weight.shape[1]), rows.dtype)
    places = [*offsets.tolist(), indices.size]
    for i, (start, end) in enumerate(pairwise(places)):
        if start == end:
            continue
        bag = rows[start:end]
        total[i] = bag.max(axis=0) if mode == _MAX else np.add.accumulate(bag, axis=0)[-1]
        if mode == _MEAN:
            total[i] /= end - start
    return narrow(np, total, weight.dtype)


def _absolute_bags(
    np: Any, weight: Any, indices: Any, offsets: Any, factors: Any = None, *, mode: int
) -> Any:
    size = None if factors is None else abs(factors)
    return embedding_bag(np, abs(weight), indices, offsets, size, mode=mode)


def _bag_length(shapes: tuple[Shape | None, ...], values: Values) -> int:
    return (shapes[1] or (0,))[0] + 2


EMBEDDING = Operation(
    number=374,
    name="embedding",
    summary="The row of a table for each index.",
    formula="output[..., :] = weight[indices[...], :]",
    inputs=(
        Operand(name="weight", summary="[rows, width]."),
        Operand(name="indices", summary="Any shape up to rank 7.", dtypes=_INDICES),
    ),
    outputs=(Operand(name="output", summary="[..., width]."),),
    family="embedding",
    dtypes=(*FLOATS, *INTEGERS),
    semantics=embedding,
    notes=(
        "An index below 0 or beyond the table is INVALID_ARGUMENT; wia_gather() counts those below "
        "0 from the end.",
    ),
    tolerance=Tolerance(),
    flops=moves_only,
    samples=(
        Sample(shapes=((5, 3), (4,)), fills=("normal", "0..5")),
        Sample(shapes=((9, 33), (2, 3)), fills=("special", "0..9")),
        Sample(shapes=((2, 4), ()), fills=("normal", "0..2")),
        Sample(shapes=((5, 3), (0, 2))),
    ),
    source="numpy.take along axis 0",
)

EMBEDDING_BAG = Operation(
    number=375,
    name="embedding_bag",
    summary="The sum, mean or largest element of the rows of a table in each bag of indices.",
    formula="output[i, :] = sum, mean or max of factors[j] * weight[indices[j], :] over j from "
    "offsets[i] up to offsets[i + 1], or to the end",
    inputs=(
        Operand(name="weight", summary="[rows, width]."),
        Operand(name="indices", summary="[n].", dtypes=_INDICES),
        Operand(name="offsets", summary="[bags]: where each one begins; 0 first.", dtypes=_INDICES),
        Operand(name="factors", summary="[n]; 1 when left out; for sums only.", optional=True),
    ),
    outputs=(Operand(name="output", summary="[bags, width]."),),
    family="embedding_bag",
    dtypes=FLOATS,
    semantics=embedding_bag,
    notes=(
        "An empty bag gives 0. Indices beyond the table, and offsets that fall, are "
        "INVALID_ARGUMENT. NaN wins in max.",
    ),
    attributes=(
        Attribute(
            name="mode",
            summary="What becomes of the rows.",
            default=0,
            maximum=2,
            enum="wia_bag_mode_t",
            choices=(
                Choice(name="SUM", value=0, summary="Their sum."),
                Choice(name="MEAN", value=1, summary="Their mean."),
                Choice(name="MAX", value=2, summary="The largest of each column."),
            ),
        ),
    ),
    config="wia_embedding_bag_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=_bag_length,
        magnitude=_absolute_bags,
        reason="Any order of summation: one rounding in the accumulator per row and two more, "
        "relative to the sum of absolute values, and one of the result.",
    ),
    flops=lambda shapes, out, values: float(elements(shapes[1]) * (shapes[0] or (0, 0))[1]),
    samples=(
        Sample(shapes=((5, 3), (7,), (1,), (7,)), fills=("normal", "0..5", "0..1", "normal")),
        Sample(
            shapes=((9, 33), (4,), (3,), None),
            values={"mode": 1},
            fills=("normal", "0..9", "rising4"),
        ),
        Sample(
            shapes=((9, 5), (8,), (4,), None),
            values={"mode": 2},
            fills=("special", "0..9", "rising8"),
        ),
        Sample(shapes=((9, 5), (33,), (9,), (33,)), fills=("normal", "0..9", "rising33", "normal")),
        Sample(shapes=((5, 3), (0,), (2,), None), fills=("normal", "0..5", "rising0")),
        Sample(shapes=((5, 3), (0,), (0,), None), fills=("normal", "0..5", "rising0")),
    ),
    source="the definition of torch.nn.EmbeddingBag, worked by hand with numpy.add.reduceat",
)

OPERATIONS = (EMBEDDING, EMBEDDING_BAG)
