"""Sums of products by Einstein's convention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._cost import elements
from ._model import (
    FLOATS,
    Attribute,
    Operand,
    Operation,
    Sample,
    Shape,
    Standard,
    Tolerance,
    Values,
)
from ._numeric import narrow, widen

_LONGEST = 39

Term = tuple[Any, list[str]]
"""An array and the labels of its dimensions."""


def equation_text(equation: Any) -> str:
    """The equation of character codes, without spaces."""
    return "".join(map(chr, equation)).replace(" ", "")


def read_equation(equation: Any, ranks: Sequence[int]) -> tuple[list[list[str]], list[str]]:
    """The labels of each input and of the result, one for each dimension.

    Those that ... stands for are numbers, from the last one.
    """
    left, arrow, right = equation_text(equation).partition("->")
    terms = left.split(",")
    names = [_labels(term, rank) for term, rank in zip(terms, ranks, strict=True)]
    if not arrow:
        letters = "".join(terms).replace(".", "")
        right = "..." + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    most = max(sum(name.isdigit() for name in labels) for labels in names)
    return names, _labels(right, len(right.replace("...", "")) + most * ("..." in right))


def _labels(term: str, rank: int) -> list[str]:
    before, _, after = term.partition("...")
    middle = range(rank - len(before) - len(after), 0, -1)
    return [*before, *map(str, middle), *after]


def without_broadcast(item: Any, labels: list[str]) -> Term:
    """An input without dimensions that broadcast, and the labels of the others."""
    kept = [i for i, name in enumerate(labels) if item.shape[i] != 1 or not name.isdigit()]
    return item.reshape([item.shape[i] for i in kept]), [labels[i] for i in kept]


def contract(np: Any, terms: Sequence[Term], target: Sequence[str]) -> Any:
    """The sum over all labels that the target lacks, one term after the other.

    A label is summed over as soon as no later term has it.
    """
    every = sorted({name for _, names in terms for name in names})
    numbers = {name: i for i, name in enumerate(every)}
    codes = [[numbers[name] for name in names] for _, names in terms]
    wanted = [numbers[name] for name in target]
    total, have = terms[0][0], codes[0]
    for i, (item, _) in enumerate(terms[1:], 1):
        later = {*wanted, *(code for names in codes[i + 1 :] for code in names)}
        kept = [code for code in dict.fromkeys((*have, *codes[i])) if code in later]
        total = np.einsum(total, have, item, codes[i], kept, optimize=False)
        have = kept
    return np.asarray(np.einsum(total, have, wanted))


def einsum(np: Any, *inputs: Any, equation: Any) -> Any:
    """The sum over all labels that the result lacks."""
    wide = [widen(np, item) for item in inputs if item is not None]
    names, target = read_equation(equation, [item.ndim for item in wide])
    terms = [without_broadcast(item, own) for item, own in zip(wide, names, strict=True)]
    sizes = {name: size for item, own in terms for name, size in zip(own, item.shape, strict=True)}
    total = contract(np, terms, [name for name in target if name in sizes])
    shape = [sizes.get(name, 1) for name in target]
    return narrow(np, total.reshape(shape), inputs[0].dtype)


def _absolute(np: Any, *inputs: Any, equation: Any) -> Any:
    sizes = (abs(item) for item in inputs if item is not None)
    return einsum(np, *sizes, equation=equation)


def _products(shapes: tuple[Shape | None, ...], values: Values) -> int:
    """Factors of all products: one of each input for every value of all labels."""
    given = [shape for shape in shapes if shape is not None]
    names, _ = read_equation(values["equation"], [len(shape) for shape in given])
    sizes: dict[str, int] = {}
    for own, shape in zip(names, given, strict=True):
        for name, size in zip(own, shape, strict=True):
            sizes[name] = max(size, sizes.get(name, 1)) if size else 0
    return elements(tuple(sizes.values())) * len(given)


def codes(text: str) -> dict[str, Any]:
    """The attribute of an equation that is given as text."""
    return {"equation": tuple(text.encode("ascii"))}


EQUATION = Attribute(
    name="equation",
    summary="ASCII codes of the characters; has to be given.",
    default=(),
    length=_LONGEST,
    variable=True,
    length_field="equation_length",
    maximum=127,
    text=True,
)

EINSUM = Operation(
    number=161,
    name="einsum",
    summary="Sum of products of tensors whose dimensions have labels.",
    formula="output[labels behind ->] = sum over all other labels of the product of the inputs",
    inputs=(Operand(name="inputs", summary="A dimension for each label of their term."),),
    variadic=True,
    outputs=(Operand(name="output", summary="A dimension for each label behind ->."),),
    family="einsum",
    dtypes=(*FLOATS, "int64", "int32"),
    semantics=einsum,
    notes=(
        'The equation has a term for each input: "ij,jk->ik" is the matrix product. A label is a '
        "letter; equal ones have equal sizes, and twice in a term they are its diagonal. ... "
        "stands for any number of dimensions, which broadcast. Without -> the result has ..., then "
        "the labels that come once, in the order of ASCII. Spaces don't count.",
        "1 to 31 inputs. Integers wrap.",
    ),
    standard=Standard(name="Einsum", opset=12, note="labels don't broadcast"),
    attributes=(EQUATION,),
    config="wia_einsum_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=_products,
        magnitude=_absolute,
        reason="Any order of summation: one rounding in the accumulator per factor of each "
        "product, relative to the sum of absolute products, and one of the result.",
    ),
    flops=lambda shapes, out, values: float(_products(shapes, values)),
    samples=(
        Sample(shapes=((3, 4), (4, 5)), values=codes("ij,jk->ik")),
        Sample(shapes=((2, 1, 3, 33), (5, 33, 2)), values=codes("...ij, ...jk")),
        Sample(shapes=((4, 4, 3),), values=codes("iij->j")),
        Sample(shapes=((3,), (4,), (5,)), values=codes("c,a,b")),
        Sample(shapes=((9,), (9,)), values=codes("i,i"), fills=("wide", "positive")),
        Sample(shapes=((), (2,)), values=codes(",i->i")),
        Sample(shapes=((2, 0), (0, 3)), values=codes("ij,jk")),
    ),
    source="ONNX node tests einsum_*",
)

OPERATIONS = (EINSUM,)
