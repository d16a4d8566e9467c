"""Programs of reductions and of operations along one dimension.

The dimensions that stay are one space, over input and output; those that go are another.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from wia.driver import Layout, Node
from wia_npu._words import HEADER, Program, space_size, space_words

__all__ = [
    "COUNT",
    "INNER",
    "LAST",
    "LENGTH",
    "MAX",
    "MEAN",
    "MODE",
    "OUTER",
    "PLACES",
    "ROWS",
    "SMALLEST",
    "STEP",
    "STEPS",
    "SUM",
    "find",
    "global_pool",
    "reduce",
    "softmax",
]

MODE, COUNT, OUTER = range(HEADER, HEADER + 3)
"""Of a reduction: what is computed, from how many elements, and where in the output they go."""
INNER = OUTER + space_size(2)
SUM, MEAN, MAX = range(3)
REDUCTIONS = {"reduce_sum": SUM, "reduce_mean": MEAN, "reduce_max": MAX}
GLOBAL_POOLS = {"global_avg_pool2d": MEAN, "global_max_pool2d": MAX}

LENGTH, STEPS, ROWS = HEADER, HEADER + 1, HEADER + 3
"""Of an operation along one dimension: its size, its strides in input and output; all others."""
STEP, SMALLEST, LAST, PLACES = range(HEADER + 1, HEADER + 5)
"""Of a search: the stride along the dimension, behind its size; whether the smallest is looked for,
and the last of equals; the other dimensions."""
FINDS = {"argmax": 0, "argmin": 1}


def _stay(x: Layout, output: Layout, gone: Collection[int]) -> list[int]:
    """The space of the dimensions that stay, whether the output has the others or not."""
    kept = [i for i in range(x.rank) if i not in gone]
    steps = [output.strides[i] for i in kept] if output.rank == x.rank else list(output.strides)
    return space_words([x.shape[i] for i in kept], tuple(x.strides[i] for i in kept), tuple(steps))


def reduce(node: Node) -> Program:
    """One unit is an element of the output."""
    (x,) = (layout for layout in node.inputs if layout is not None)
    output = node.output
    node.attributes["keepdims"]  # decided the output's shape, which is known
    axes = node.attributes["axes"]
    gone = sorted({axis % x.rank for axis in axes} if axes else range(x.rank))
    return _reduction(REDUCTIONS[node.op], x, output, gone)


def global_pool(node: Node) -> Program:
    """One unit is an image and a channel."""
    (x,) = (layout for layout in node.inputs if layout is not None)
    return _reduction(GLOBAL_POOLS[node.op], x, node.output, [2, 3])


def _reduction(mode: int, x: Layout, output: Layout, gone: list[int]) -> Program:
    count = prod(x.shape[i] for i in gone)
    words = [mode, count, *_stay(x, output, gone)]
    words += space_words([x.shape[i] for i in gone], tuple(x.strides[i] for i in gone))
    return Program("reduce", words, units=prod(output.shape), work=max(1, count))


def find(node: Node) -> Program:
    """Where the largest or smallest element is. One unit is an element of the output."""
    (x,) = (layout for layout in node.inputs if layout is not None)
    output = node.output
    node.attributes["keepdims"]  # decided the output's shape, which is known
    axis = node.attributes["axis"] % x.rank
    wanted = [FINDS[node.op], bool(node.attributes["select_last_index"])]
    words = [x.shape[axis], x.strides[axis], *wanted, *_stay(x, output, {axis})]
    return Program("find", words, units=prod(output.shape), work=max(1, x.shape[axis]))


def softmax(node: Node) -> Program:
    """One unit is a row along the axis."""
    (x,) = (layout for layout in node.inputs if layout is not None)
    output = node.output
    axis = node.attributes["axis"] % x.rank
    kept = [i for i in range(x.rank) if i != axis]
    space = space_words(
        [x.shape[i] for i in kept],
        tuple(x.strides[i] for i in kept),
        tuple(output.strides[i] for i in kept),
    )
    words = [x.shape[axis], x.strides[axis], output.strides[axis], *space]
    return Program(
        "softmax",
        words,
        units=prod(x.shape[i] for i in kept) if x.shape[axis] else 0,
        work=max(1, 16 * x.shape[axis]),
    )
