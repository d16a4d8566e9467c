"""Programs of reductions and of operations along one dimension.

The dimensions that stay are one space, over input and output; those that go are another.
"""

from __future__ import annotations

from collections.abc import Collection

from wia.driver import Layout, Node
from wia_npu._terms import Product, Space, sizes, strides
from wia_npu._words import HEADER, Item, Program, space_size

__all__ = [
    "COUNT",
    "FACTOR",
    "FINDS",
    "GLOBAL_POOLS",
    "INNER",
    "LAST",
    "LENGTH",
    "LOGARITHM",
    "MAX",
    "MEAN",
    "MIN",
    "MODE",
    "OUTER",
    "PLACES",
    "REDUCTIONS",
    "ROWS",
    "SMALLEST",
    "SOFTMAXES",
    "STEP",
    "STEPS",
    "SUM",
    "find",
    "global_pool",
    "reduce",
    "softmax",
    "sum_to",
]

MODE, COUNT, FACTOR, OUTER = range(HEADER, HEADER + 4)
"""Of a reduction: what is computed, from how many elements, the scalar of the launch that a sum is
multiplied by (-1: none), and where in the output they go."""
INNER = OUTER + space_size(2)
SUM, MEAN, MAX, MIN = range(4)
REDUCTIONS = {"reduce_sum": SUM, "reduce_mean": MEAN, "reduce_max": MAX, "reduce_min": MIN}
GLOBAL_POOLS = {"global_avg_pool2d": MEAN, "global_max_pool2d": MAX}

LENGTH, STEPS, LOGARITHM, ROWS = HEADER, HEADER + 1, HEADER + 3, HEADER + 4
"""Of a softmax: the size of its dimension, its strides in input and output; whether logarithms are
wanted; all other dimensions."""
SOFTMAXES = {"softmax": False, "log_softmax": True}
STEP, SMALLEST, LAST, PLACES = range(HEADER + 1, HEADER + 5)
"""Of a search: the stride along the dimension, behind its size; whether the smallest is looked for,
and the last of equals; the other dimensions."""
FINDS = {"argmax": 0, "argmin": 1}


def _stay(x: Layout, output: Layout, gone: Collection[int]) -> Space:
    """The space of the dimensions that stay, whether the output has the others or not."""
    kept = [i for i in range(x.rank) if i not in gone]
    own = kept if output.rank == x.rank else range(output.rank)
    return Space(sizes(0, kept), (strides(0, kept), strides(1, own)))


def reduce(node: Node) -> Program:
    """One unit is an element of the output."""
    (x,) = (layout for layout in node.inputs if layout is not None)
    node.attributes["keepdims"]  # decided the output's shape, which is known
    axes = node.attributes["axes"]
    gone = sorted({axis % x.rank for axis in axes} if axes else range(x.rank))
    return _reduction(REDUCTIONS[node.op], x, node.output, gone)


def global_pool(node: Node) -> Program:
    """One unit is an image and a channel."""
    (x,) = (layout for layout in node.inputs if layout is not None)
    return _reduction(GLOBAL_POOLS[node.op], x, node.output, [2, 3])


def _reduction(mode: int, x: Layout, output: Layout, gone: list[int]) -> Program:
    stay, count = _stay(x, output, gone), sizes(0, gone)
    words: list[Item] = [mode, Product(count), -1, stay, Space(count, (strides(0, gone),))]
    return Program("reduce", words, units=stay.sizes, work=count)


def sum_to(node: Node) -> Program:
    """One unit is an element of the output. Shapes decide which dimensions are summed over."""
    (x,) = (layout for layout in node.inputs if layout is not None)
    node.attributes["shape"]  # that of the output, which is known
    output = node.output
    lead = x.rank - output.rank
    kept = [i for i in range(lead, x.rank) if output.shape[i - lead] == x.shape[i]]
    gone = [i for i in range(x.rank) if i not in kept]
    stay = Space(sizes(0, kept), (strides(0, kept), strides(1, [i - lead for i in kept])))
    count = sizes(0, gone)
    factor = dict(node.scalars)["factor"]
    words: list[Item] = [SUM, Product(count), factor, stay, Space(count, (strides(0, gone),))]
    return Program("reduce", words, units=stay.sizes, work=count).fixed([x, output])


def find(node: Node) -> Program:
    """Where the largest or smallest element is. One unit is an element of the output."""
    (x,) = (layout for layout in node.inputs if layout is not None)
    node.attributes["keepdims"]  # decided the output's shape, which is known
    axis = node.attributes["axis"] % x.rank
    (length,), (step,) = sizes(0, [axis]), strides(0, [axis])
    wanted = [FINDS[node.op], bool(node.attributes["select_last_index"])]
    stay = _stay(x, node.output, {axis})
    words: list[Item] = [length, step, *wanted, stay]
    return Program("find", words, units=stay.sizes, work=[length])


def softmax(node: Node) -> Program:
    """Shares, or their logarithms. One unit is a row along the axis."""
    (x,) = (layout for layout in node.inputs if layout is not None)
    axis = node.attributes["axis"] % x.rank
    (length,), (step,), (to,) = sizes(0, [axis]), strides(0, [axis]), strides(1, [axis])
    stay = _stay(x, node.output, {axis})
    words: list[Item] = [length, step, to, SOFTMAXES[node.op], stay]
    return Program("softmax", words, units=stay.sizes, work=[16, length])
