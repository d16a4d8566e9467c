"""Programs of steps of optimisers."""

from __future__ import annotations

from wia.driver import Node
from wia_npu._terms import Space, sizes, strides
from wia_npu._words import HEADER, Program

__all__ = [
    "ADAGRAD",
    "ADAM",
    "ADAMW",
    "CODE",
    "DECAY",
    "EPSILON",
    "FIRST",
    "MOMENTUM",
    "NESTEROV",
    "NUMBER",
    "RATE",
    "RMSPROP",
    "SECOND",
    "SGD",
    "SPACE",
    "STATES",
    "STEPS",
    "step",
]

CODE, NESTEROV, STATES = range(HEADER, HEADER + 3)
"""Which optimiser it is, whether momentum looks ahead, and how many states there are."""
RATE, DECAY, FIRST, SECOND, EPSILON, NUMBER = range(HEADER + 3, HEADER + 9)
"""Scalars of the launch (-1: none); the first two factors are those that SCALARS names."""
SPACE = HEADER + 9
"""Every element, over parameter, gradient, both states, and the new parameter and states."""
SGD, MOMENTUM, ADAM, ADAMW, ADAGRAD, RMSPROP = range(6)
STEPS = {
    "sgd_step": SGD,
    "momentum_step": MOMENTUM,
    "adam_step": ADAM,
    "adamw_step": ADAMW,
    "adagrad_step": ADAGRAD,
    "rmsprop_step": RMSPROP,
}
SCALARS = (
    ("rate",),
    ("decay",),
    ("momentum", "beta1", "alpha"),
    ("dampening", "beta2"),
    ("epsilon",),
    ("step",),
)
"""What stands in the words from RATE on: the first of these that the operation has."""


def step(node: Node) -> Program:
    """One unit is an element."""
    code, states = STEPS[node.op], len(node.inputs) - 2
    given = dict(node.scalars)
    words = [code, code == MOMENTUM and node.attributes["nesterov"], states]
    words += [next((given[name] for name in names if name in given), -1) for names in SCALARS]
    every = range(node.output.rank)
    olds = [strides(i, every) for i in range(2 + states)]
    news = [strides(i, every) for i in range(2 + states, 3 + 2 * states)]
    none = [(0,) * len(every)] * (2 - states)
    space = Space(sizes(0, every), (*olds, *none, *news, *none))
    return Program("step", [*words, space], units=space.sizes, work=[16])
