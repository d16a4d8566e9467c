"""Programs of losses against the index of the right class."""

from __future__ import annotations

from math import prod

from wia.driver import Layout, Node
from wia_npu._terms import Space
from wia_npu._words import HEADER, Program

__all__ = [
    "CLASSES",
    "HAS_LOGS",
    "HAS_WEIGHT",
    "IGNORED",
    "INDEX_WIDTH",
    "LOGITS",
    "LOG_STEP",
    "MEAN",
    "NONE",
    "PLACES",
    "REDUCTION",
    "STEP",
    "WEIGHT_STEP",
    "class_loss",
]

LOGITS, CLASSES, STEP, LOG_STEP, WEIGHT_STEP, HAS_WEIGHT, HAS_LOGS = range(HEADER, HEADER + 7)
"""Whether the input are logits, and not logarithms of probabilities; how many classes there are,
the stride from one to the next in the input, in the logarithms and in the weights; whether there
are weights, and logarithms to write."""
REDUCTION, IGNORED, INDEX_WIDTH, PLACES = range(HEADER + 7, HEADER + 11)
"""What becomes of the losses; the target that doesn't count, and the bytes of one; all dimensions
but that of the classes, over input, target, losses and logarithms."""
MEAN, SUM, NONE = range(3)
"""Reductions, as the catalog numbers them."""


def class_loss(node: Node) -> Program:
    """One unit is a target. Its loss and weight wait in the workspace until all are there."""
    x, target, weight = node.inputs
    assert x is not None
    assert target is not None
    losses, *others = node.outputs
    assert losses is not None
    logs = others[0] if others else None
    values = node.attributes
    reduced = values["reduction"] != NONE
    still = (0,) * target.rank
    own = (
        _without_classes(x),
        target.strides,
        still if reduced else losses.strides,
        still if logs is None else _without_classes(logs),
    )
    words = [
        node.op == "softmax_cross_entropy",
        x.shape[1],
        x.strides[1],
        0 if logs is None else logs.strides[1],
        0 if weight is None else weight.strides[0],
        weight is not None,
        logs is not None,
        values["reduction"],
        values["ignore_index"],
        target.numpy_dtype.itemsize,
        Space(target.shape, own),
    ]
    size = prod(target.shape)
    return Program(
        "class_loss",
        words,
        units=target.shape,
        work=[16, x.shape[1]],
        finish="sum_losses" if reduced else "",
        workspace=16 * size if reduced else 0,
    )


def _without_classes(layout: Layout) -> tuple[int, ...]:
    return (layout.strides[0], *layout.strides[2:])
