"""What an operation costs: arithmetic, and bytes that have to move at least."""

from __future__ import annotations

from collections.abc import Sequence

from ._model import Operation, Shape, Values


def elements(shape: Shape | None) -> int:
    """Elements of a shape; that of an operand that is left out counts as rank 0."""
    count = 1
    for size in shape or ():
        count *= size
    return count


def cost(
    operation: Operation, shapes: Sequence[Shape | None], sizes: Sequence[int], values: Values
) -> tuple[float, float]:
    """Floating-point (or integer) operations and bytes of one call.

    ``shapes`` are those of all inputs, None where left out, and of the output; ``sizes`` the bytes
    of an element of each. Every operand is read, and the output written, once; an output that is
    also read (matmul with beta) counts twice.
    """
    read_with = operation.output.read_with
    again = [-1] if read_with and values[read_with] != 0 else []
    flops = operation.flops(tuple(shapes[:-1]), shapes[-1] or (), values)
    positions = [i for i, shape in enumerate(shapes) if shape is not None]
    return flops, float(sum(elements(shapes[i]) * sizes[i] for i in positions + again))
