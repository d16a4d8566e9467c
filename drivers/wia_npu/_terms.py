"""What the words of a program are when shapes aren't known yet: where in the operands to look.

A term is a number or a place: the size or stride of a dimension of an operand. A program made of
terms is encoded as a *recipe*, int64 words from which wia_npu.kernels.recipe makes those of the
program at each launch. The low KIND_BITS bits of a word of a recipe say what it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from wia.driver import Layout

__all__ = [
    "CONSTANT",
    "DIMENSION_BITS",
    "END",
    "KIND_BITS",
    "PRODUCT",
    "SIZE",
    "SPACE",
    "STEP",
    "STRIDE",
    "Place",
    "Product",
    "Space",
    "Term",
    "encode",
    "look_up",
    "sizes",
    "steps",
    "strides",
]

CONSTANT, SIZE, STRIDE, STEP, PRODUCT, SPACE, END = range(7)
"""A number; places of an operand: a size, a stride, and a stride that is 0 where the size is 1, for
operands that are repeated; then how many terms follow, whose product is the word; how many
dimensions and operands a space has that follows; no more words."""
KIND_BITS, DIMENSION_BITS = 3, 8


class Place(NamedTuple):
    """Where a number is found: SIZE, STRIDE or STEP of a dimension of an operand."""

    kind: int
    operand: int
    dimension: int


Term = int | Place


class Product(NamedTuple):
    """A word that is the product of terms."""

    factors: tuple[Term, ...]


class Space(NamedTuple):
    """The words of a loop nest: its sizes, and the strides of each operand."""

    sizes: tuple[Term, ...]
    strides: tuple[tuple[Term, ...], ...]


def sizes(operand: int, dimensions: Iterable[int]) -> tuple[Term, ...]:
    """The sizes of dimensions of an operand."""
    return tuple(Place(SIZE, operand, i) for i in dimensions)


def strides(operand: int, dimensions: Iterable[int]) -> tuple[Term, ...]:
    """Their strides."""
    return tuple(Place(STRIDE, operand, i) for i in dimensions)


def steps(operand: int, rank: int, wanted: int) -> tuple[Term, ...]:
    """Strides of an operand of a rank that is repeated to a wanted one, by numpy's rules."""
    return (*(0,) * (wanted - rank), *(Place(STEP, operand, i) for i in range(rank)))


def look_up(terms: Iterable[Term], layouts: Sequence[Layout | None]) -> tuple[int, ...]:
    """Their values for operands of these layouts."""
    return tuple(_value(term, layouts) for term in terms)


def _value(term: Term, layouts: Sequence[Layout | None]) -> int:
    if isinstance(term, int):
        return int(term)
    layout = layouts[term.operand]
    assert layout is not None
    size, stride = layout.shape[term.dimension], layout.strides[term.dimension]
    return {SIZE: size, STRIDE: stride, STEP: 0 if size == 1 else stride}[term.kind]


def encode(items: Iterable[Term | Product | Space]) -> list[int]:
    """The words of a recipe that make these, without END."""
    words = []
    for item in items:
        if isinstance(item, Product):
            words += [_head(PRODUCT, len(item.factors)), *map(_code, item.factors)]
        elif isinstance(item, Space):
            words.append(_head(SPACE, len(item.sizes), len(item.strides)))
            for i, size in enumerate(item.sizes):
                words += [_code(size), *(_code(own[i]) for own in item.strides)]
        else:
            words.append(_code(item))
    return words


def _head(kind: int, low: int, high: int = 0) -> int:
    return kind | (low | high << DIMENSION_BITS) << KIND_BITS


def _code(term: Term) -> int:
    if isinstance(term, int):
        return CONSTANT | int(term) << KIND_BITS
    return _head(term.kind, term.dimension, term.operand)
