"""Sums of products by Einstein's convention."""

from __future__ import annotations

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


def equation_text(equation: Any) -> str:
    """The equation of character codes, without spaces."""
    return "".join(map(chr, equation)).replace(" ", "")


def einsum(np: Any, *inputs: Any, equation: Any) -> Any:
    """The sum over all labels that the result lacks."""
    wide = [widen(np, item) for item in inputs if item is not None]
    total = np.einsum(equation_text(equation), *wide, optimize=False)
    return narrow(np, np.asarray(total), inputs[0].dtype)


def _absolute(np: Any, *inputs: Any, equation: Any) -> Any:
    sizes = (abs(item) for item in inputs if item is not None)
    return einsum(np, *sizes, equation=equation)


def _products(shapes: tuple[Shape | None, ...], values: Values) -> int:
    """Factors of all products: one of each input for every value of all labels."""
    given = [shape for shape in shapes if shape is not None]
    sizes: dict[str, int] = {}
    terms = equation_text(values["equation"]).split("->")[0].split(",")
    for term, shape in zip(terms, given, strict=True):
        before, _, after = term.partition("...")
        behind = len(shape) - len(after)
        middle = (f".{behind - i}" for i in range(len(before), behind))
        for name, size in zip((*before, *middle, *after), shape, strict=True):
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
