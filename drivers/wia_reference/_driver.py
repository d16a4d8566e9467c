"""The driver: one kernel method for all operations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from wia import InvalidArgumentError
from wia.catalog import BY_NAME, Operation, ScalarError, cost, evaluate
from wia.driver import Cost, Driver, Kernel, Layout, Node, kernel

__all__ = ["ReferenceDriver"]


class ReferenceDriver(Driver):
    """The device "reference:0"."""

    name = "reference"
    version = "0.1.0"
    vendor = "WIA"
    description = "Reference: numpy on the host, exact and slow"
    architecture = "host"

    @kernel(*BY_NAME, in_place=True)
    def prepare_operation(self, node: Node) -> Kernel:
        """The semantics of the catalog as a kernel."""
        entry = BY_NAME[node.op]
        values = dict(node.attributes)
        # What only describes the output is decided by now, whether it was given or not.
        output = node.outputs[0]
        if "dtype" in values:
            values["dtype"] = output.numpy_dtype
        if "shape" in values:
            values["shape"] = output.shape
        return Kernel(
            _Call(entry, values),
            any_shape="shape" not in values,
            in_place=True,
            name=f"{node.op}_semantics",
            cost=partial(_cost, entry, dict(node.attributes)),
        )


class _Call:
    """One operation with its attributes, to be called on arrays."""

    __slots__ = ("_entry", "_values")

    def __init__(self, entry: Operation, values: dict[str, Any]) -> None:
        self._entry = entry
        self._values = values

    def __call__(self, *operands: Any, **scalars: float) -> None:
        *inputs, output = operands
        try:
            result = evaluate(np, self._entry, inputs, {**self._values, **scalars}, output)
        except ScalarError as error:
            raise InvalidArgumentError(f"{error}.") from None
        # numpy sees when the result is a view of an input that is also the output.
        output[...] = result


def _cost(entry: Operation, attributes: dict[str, Any], operands: Sequence[Layout | None]) -> Cost:
    shapes = [None if layout is None else layout.shape for layout in operands]
    sizes = [0 if layout is None else layout.numpy_dtype.itemsize for layout in operands]
    # Scalars come with each launch: for the plan they have their defaults.
    flops, moved = cost(entry, shapes, sizes, {**entry.defaults(), **attributes})
    return Cost(flops=flops, bytes=moved)
