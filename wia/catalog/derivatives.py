"""The gradients of operations: programs of other operations, by name.

:mod:`wia.catalog._programs` says how they are written. They stand together and not in the entries,
since they are read beside each other; an entry of elsewhere has its own in ``Operation.gradient``.
"""

from __future__ import annotations

from textwrap import dedent

from . import (
    _gradients_elements,
    _gradients_losses,
    _gradients_moves,
    _gradients_norms,
    _gradients_pairs,
    _gradients_products,
    _gradients_sequences,
    _gradients_sums,
    _gradients_windows,
)
from ._model import FLOATS, Operation
from ._programs import Program, Step, Term, read_program

__all__ = [
    "CONSTANT",
    "LACKING",
    "PROGRAMS",
    "Program",
    "Step",
    "Term",
    "gradient_of",
    "gradient_text",
    "why_not",
]

PROGRAMS: dict[str, str] = {
    **_gradients_elements.PROGRAMS,
    **_gradients_pairs.PROGRAMS,
    **_gradients_sums.PROGRAMS,
    **_gradients_norms.PROGRAMS,
    **_gradients_losses.PROGRAMS,
    **_gradients_products.PROGRAMS,
    **_gradients_windows.PROGRAMS,
    **_gradients_moves.PROGRAMS,
    **_gradients_sequences.PROGRAMS,
}

LACKING = {
    "roi_align_gradient": "in the mode max: second derivatives of that are not in the catalog",
    "polygamma": "of order 8, whose derivative is that of order 9, which polygamma does not reach",
}
"""For which attributes an operation has no gradient, and why; otherwise it has one for all."""

_CHOICE = "it chooses where grad goes, and the output is constant between choices"
CONSTANT = {
    ("copysign", "b"): "its sign alone counts, so the output is constant between steps",
    ("heaviside", "a"): "the output is constant between steps",
    ("roi_align", "rois"): "regions are given and not learned, as in torchvision",
    ("max_roi_pool", "rois"): "regions are rounded, so the output is constant between steps",
    ("relu_gradient", "output"): _CHOICE,
    ("max_pool2d_gradient", "input"): _CHOICE,
    ("roi_align_gradient", "input"): _CHOICE,
    ("roi_align_gradient", "rois"): "regions are given and not learned, as in torchvision",
}
"""Inputs that are floats and have no gradient, where others of the operation have one, and why."""


def gradient_text(operation: Operation) -> str:
    """The program of an operation's gradient as it is written; "" if there is none."""
    text = operation.gradient or PROGRAMS.get(operation.name, "")
    return dedent(text).strip()


def gradient_of(operation: Operation) -> Program | None:
    """The program of an operation's gradient; None if there is none: see why_not()."""
    text = gradient_text(operation)
    return read_program(operation, text) if text else None


def why_not(operation: Operation) -> str:
    """Why an operation has no gradient; "" if it has one."""
    if gradient_text(operation):
        return ""
    if operation.no_gradient:
        return operation.no_gradient
    if not operation.inputs:
        return "it has no input"
    if operation.family in ("argmax", "compare"):
        return "its output is no float"
    if not set(FLOATS) & set(operation.dtypes):
        return "it isn't defined for floats"
    return ""
