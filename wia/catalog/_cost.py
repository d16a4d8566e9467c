"""What an operation costs: arithmetic, and bytes that have to move at least."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ._model import Operation, Shape, Values

Flops = Callable[[tuple[Shape | None, ...], Shape, Values], float]


def elements(shape: Shape | None) -> int:
    """Elements of a shape; that of an operand that is left out counts as rank 0."""
    count = 1
    for size in shape or ():
        count *= size
    return count


def per_output(count: float = 1.0) -> Flops:
    """So many operations for each element of the first output."""
    return lambda shapes, out, values: count * elements(out)


def per_input(count: float = 1.0) -> Flops:
    """So many operations for each element of the first input."""
    return lambda shapes, out, values: count * elements(shapes[0])


def moves_only(shapes: tuple[Shape | None, ...], out: Shape, values: Values) -> float:
    """No arithmetic."""
    return 0.0


def cost(
    operation: Operation, shapes: Sequence[Shape | None], sizes: Sequence[int], values: Values
) -> tuple[float, float]:
    """Floating-point (or integer) operations and bytes of one call.

    ``shapes`` are those of all inputs, then of all outputs, None where left out; ``sizes`` the
    bytes of an element of each. Every operand is read, or written, once; an output that is also
    read (matmul with beta) counts twice.
    """
    first = len(shapes) - len(operation.outputs)
    again = [first + i for i in operation.outputs_read(values)]
    flops = operation.flops(tuple(shapes[:first]), shapes[first] or (), values)
    positions = [i for i, shape in enumerate(shapes) if shape is not None]
    return flops, float(sum(elements(shapes[i]) * sizes[i] for i in positions + again))
