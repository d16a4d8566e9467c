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


def _text(equation: Any) -> str:
    return "".join(map(chr, equation)).replace(" ", "")


def einsum(np: Any, *inputs: Any, equation: Any) -> Any:
    """The sum over all labels that the result lacks."""
    wide = [widen(np, item) for item in inputs if item is not None]
    total = np.einsum(_text(equation), *wide, optimize=False)
    return narrow(np, np.asarray(total), inputs[0].dtype)


def _absolute(np: Any, *inputs: Any, equation: Any) -> Any:
    sizes = (abs(item) for item in inputs if item is not None)
    return einsum(np, *sizes, equation=equation)


def _products(shapes: tuple[Shape | None, ...], values: Values) -> int:
    """Factors of all products: one of each input for every value of all labels."""
    given = [shape for shape in shapes if shape is not None]
    sizes: dict[str, int] = {}
    terms = _text(values["equation"]).split("->")[0].split(",")
    for term, shape in zip(terms, given, strict=True):
        before, _, after = term.partition("...")
        behind = len(shape) - len(after)
        middle = (f".{behind - i}" for i in range(len(before), behind))
        for name, size in zip((*before, *middle, *after), shape, strict=True):
            sizes[name] = max(size, sizes.get(name, 1)) if size else 0
    return elements(tuple(sizes.values())) * len(given)


def _codes(text: str) -> dict[str, Any]:
    return {"equation": tuple(text.encode("ascii"))}


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
    attributes=(
        Attribute(
            name="equation",
            summary="ASCII codes of the characters; has to be given.",
            default=(),
            length=_LONGEST,
            variable=True,
            length_field="equation_length",
            maximum=127,
            text=True,
        ),
    ),
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
        Sample(shapes=((3, 4), (4, 5)), values=_codes("ij,jk->ik")),
        Sample(shapes=((2, 1, 3, 33), (5, 33, 2)), values=_codes("...ij, ...jk")),
        Sample(shapes=((4, 4, 3),), values=_codes("iij->j")),
        Sample(shapes=((3,), (4,), (5,)), values=_codes("c,a,b")),
        Sample(shapes=((9,), (9,)), values=_codes("i,i"), fills=("wide", "positive")),
        Sample(shapes=((), (2,)), values=_codes(",i->i")),
        Sample(shapes=((2, 0), (0, 3)), values=_codes("ij,jk")),
    ),
    source="ONNX node tests einsum_*",
    no_gradient="this version has none; matmul, transpose and reduce_sum have one",
)

OPERATIONS = (EINSUM,)
