"""The driver: one kernel method for all operations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from wia import InvalidArgumentError
from wia.catalog import BY_NAME, OperandError, Operation, ScalarError, cost, evaluate
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
        output = node.output
        if "dtype" in values:
            values["dtype"] = output.numpy_dtype
        if "shape" in values:
            values["shape"] = output.shape
        call = _Call(entry, values)
        operands = (*node.inputs, *node.outputs)
        packed = any(layout is not None and layout.packed for layout in operands)
        return Kernel(
            _Unpacked(call, operands, len(node.inputs)) if packed else call,
            any_shape=not packed and "shape" not in values,
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
        count = len(self._entry.outputs)
        inputs, outputs = operands[:-count], operands[-count:]
        try:
            results = evaluate(np, self._entry, inputs, {**self._values, **scalars}, outputs)
        except (OperandError, ScalarError) as error:
            raise InvalidArgumentError(f"{error}.") from None
        if count > 1:
            # One that is a view of an input must not see what another writes there.
            results = tuple(result.copy() for result in results)
        # A call may have fewer outputs than the operation: those behind have no operand.
        for output, result in zip(outputs[: len(results)], results, strict=True):
            if output is not None:
                # numpy sees when the result is a view of an input that is also the output.
                output[...] = result


class _Unpacked:
    """A call on packed operands, whose elements get a byte of their own meanwhile."""

    __slots__ = ("_call", "_first_output", "_layouts")

    def __init__(self, call: _Call, layouts: tuple[Layout | None, ...], first_output: int) -> None:
        self._call = call
        self._layouts = layouts
        self._first_output = first_output

    def __call__(self, *operands: Any, **scalars: float) -> None:
        arrays = [
            array if layout is None or not layout.packed else layout.unpack(array)
            for layout, array in zip(self._layouts, operands, strict=True)
        ]
        self._call(*arrays, **scalars)
        for position in range(self._first_output, len(operands)):
            layout = self._layouts[position]
            if layout is not None and layout.packed:
                layout.store(operands[position], arrays[position])


def _cost(entry: Operation, attributes: dict[str, Any], operands: Sequence[Layout | None]) -> Cost:
    shapes = [None if layout is None else layout.shape for layout in operands]
    sizes = [0 if layout is None else layout.numpy_dtype.itemsize for layout in operands]
    # Scalars come with each launch: for the plan they have their defaults.
    flops, moved = cost(entry, shapes, sizes, {**entry.defaults(), **attributes})
    return Cost(flops=flops, bytes=moved)
