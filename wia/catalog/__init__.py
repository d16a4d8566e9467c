"""The catalog of operations: one entry each, from which all else is made at build time.

It imports nothing heavy: semantics take numpy as their first argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from ._cost import cost
from ._evaluate import evaluate
from ._model import (
    Attribute,
    Choice,
    Operand,
    Operation,
    Option,
    Sample,
    Scalar,
    Shape,
    Standard,
    Tolerance,
    Values,
)
from ._numeric import OperandError, ScalarError
from ._samples import input_dtypes, make_inputs, sample_values
from ._tolerance import allowed_error

_MODULES = (
    "activations",
    "arg",
    "arithmetic",
    "arrange",
    "attention",
    "backward",
    "backward_deform",
    "backward_einsum",
    "backward_recurrent",
    "backward_regions",
    "backward_windows",
    "bits",
    "bounds",
    "class_losses",
    "classes",
    "compare",
    "conv",
    "conv_deform",
    "conv_integer",
    "decompose",
    "diagonal",
    "division",
    "einsum",
    "elementwise",
    "embedding",
    "functions",
    "gated",
    "gather",
    "gemm",
    "grid",
    "kinds",
    "linear",
    "logic",
    "losses",
    "make",
    "mask",
    "move",
    "norm",
    "norm_groups",
    "norm_local",
    "norm_train",
    "norms",
    "order",
    "pad",
    "pick",
    "pool",
    "pool_more",
    "pool_nd",
    "positions",
    "powers",
    "quantize",
    "random",
    "recurrent",
    "recurrent_cells",
    "reduce",
    "regions",
    "resize",
    "rounding",
    "scan",
    "scatter",
    "sequence",
    "shape",
    "signal",
    "softmax",
    "special",
    "steps",
    "suppression",
    "trigonometry",
    "unfold",
    "windows",
)
"""The modules with entries; each has them in its OPERATIONS."""


def _collect() -> Iterator[Operation]:
    for name in _MODULES:
        yield from import_module(f".{name}", __name__).OPERATIONS


OPERATIONS: tuple[Operation, ...] = tuple(
    sorted(_collect(), key=lambda operation: operation.number)
)
"""All operations in the order of their numbers."""

BY_NAME: dict[str, Operation] = {operation.name: operation for operation in OPERATIONS}

REGISTERED: dict[str, Operation] = {}
"""Those that the program has registered, by name: see wia.op."""


def find_entry(name: str) -> Operation | None:
    """The entry of an operation of the catalog, or of one that is registered."""
    return BY_NAME.get(name) or REGISTERED.get(name)


__all__ = [
    "BY_NAME",
    "OPERATIONS",
    "REGISTERED",
    "Attribute",
    "Choice",
    "Operand",
    "OperandError",
    "Operation",
    "Option",
    "Sample",
    "Scalar",
    "ScalarError",
    "Shape",
    "Standard",
    "Tolerance",
    "Values",
    "allowed_error",
    "cost",
    "evaluate",
    "find_entry",
    "input_dtypes",
    "make_inputs",
    "sample_values",
]
