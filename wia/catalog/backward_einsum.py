"""What a sum of products by Einstein's convention gives back to one of its inputs."""

from __future__ import annotations

from typing import Any

from ._backward import SECOND
from ._cost import elements
from ._model import (
    FLOATS,
    MAX_INPUTS,
    Attribute,
    Operand,
    Operation,
    Sample,
    Shape,
    Tolerance,
    Values,
)
from ._numeric import narrow, widen
from .einsum import EINSUM, EQUATION, codes, contract, read_equation, without_broadcast


def einsum_gradient(np: Any, grad: Any, *inputs: Any, equation: Any, place: int) -> Any:
    """The product of grad and the other inputs, summed over the labels that the input lacks."""
    wide = [widen(np, item) for item in inputs if item is not None]
    names, result = read_equation(equation, [item.ndim for item in wide])
    terms = [without_broadcast(item, own) for item, own in zip(wide, names, strict=True)]
    own, labels = terms.pop(place)
    terms.insert(0, without_broadcast(widen(np, grad), result))
    target = list(dict.fromkeys(labels))
    met = {name for _, known in terms for name in known}
    product = contract(np, terms, [name for name in target if name in met])
    total = np.zeros(own.shape)
    # Where a label is there twice, only its diagonal was read: einsum gives a view of that.
    codes = {name: i for i, name in enumerate(target)}
    diagonal = total
    if labels:
        diagonal = np.einsum(total, [codes[name] for name in labels], list(codes.values()))
    lone = [size if name in met else 1 for name, size in zip(target, diagonal.shape, strict=True)]
    diagonal[...] = product.reshape(lone)
    return narrow(np, total.reshape(wide[place].shape), grad.dtype)


def _absolute(np: Any, *inputs: Any, **values: Any) -> Any:
    sizes = (None if item is None else abs(item) for item in inputs)
    return einsum_gradient(np, *sizes, **values)


def _products(shapes: tuple[Shape | None, ...], values: Values) -> int:
    """Factors of all products of einsum itself, and grad."""
    given = tuple(shape for shape in shapes[1:] if shape is not None)
    return int(EINSUM.flops(given, (), values)) + elements(shapes[0])


def _sample(text: str, place: int, *shapes: Shape) -> Sample:
    return Sample(shapes=shapes, values={**codes(text), "place": place})


EINSUM_GRADIENT = Operation(
    number=447,
    name="einsum_gradient",
    summary="Gradient of einsum by one of its inputs.",
    formula="output[labels of the input] = sum over all other labels of the product of grad and "
    "the other inputs",
    inputs=(Operand(name="inputs", summary="The gradient of the output, then those of einsum."),),
    variadic=True,
    outputs=(Operand(name="output", summary="The shape of the input that place says."),),
    family="einsum_gradient",
    dtypes=FLOATS,
    semantics=einsum_gradient,
    notes=(
        "Of a label that is twice in the term of the input, the gradient is 0 beside the diagonal. "
        f"At most {MAX_INPUTS - 1} inputs of einsum.",
    ),
    attributes=(
        EQUATION,
        Attribute(
            name="place",
            summary="The number of the input, from 0.",
            default=0,
            maximum=MAX_INPUTS - 2,
        ),
    ),
    config="wia_einsum_gradient_config_t",
    tolerance=Tolerance(
        ulps=1.0,
        length=_products,
        magnitude=_absolute,
        reason="Any order of summation: one rounding in the accumulator per factor of each "
        "product, relative to the sum of absolute products, and one of the result.",
    ),
    flops=lambda shapes, out, values: float(_products(shapes, values)),
    samples=(
        _sample("ij,jk->ik", 0, (3, 5), (3, 4), (4, 5)),
        _sample("ij,jk->ik", 1, (3, 5), (3, 4), (4, 5)),
        _sample("...ij, ...jk", 0, (5, 3, 2), (1, 3, 33), (5, 33, 2)),
        _sample("iij->j", 0, (3,), (4, 4, 3)),
        _sample("c,a,b", 1, (4, 5, 3), (3,), (4,), (5,)),
        _sample("i,i", 0, (), (9,), (9,)),
        _sample("ij->", 0, (), (2, 3)),
        _sample("ij,jk", 0, (2, 3), (2, 0), (0, 3)),
    ),
    source="finite differences; torch.einsum",
    no_gradient=SECOND,
)

OPERATIONS = (EINSUM_GRADIENT,)
