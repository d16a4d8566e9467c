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
        output = node.outputs[0]
        if "dtype" in values:
            values["dtype"] = output.numpy_dtype
        if "shape" in values:
            values["shape"] = output.shape
        call = _Call(entry, values)
        operands = (*node.inputs, output)
        packed = any(layout is not None and layout.packed for layout in operands)
        return Kernel(
            _Unpacked(call, operands) if packed else call,
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
        *inputs, output = operands
        try:
            result = evaluate(np, self._entry, inputs, {**self._values, **scalars}, output)
        except (OperandError, ScalarError) as error:
            raise InvalidArgumentError(f"{error}.") from None
        # numpy sees when the result is a view of an input that is also the output.
        output[...] = result


class _Unpacked:
    """A call on packed operands, whose elements get a byte of their own meanwhile."""

    __slots__ = ("_call", "_layouts")

    def __init__(self, call: _Call, layouts: tuple[Layout | None, ...]) -> None:
        self._call = call
        self._layouts = layouts

    def __call__(self, *operands: Any, **scalars: float) -> None:
        arrays = [
            array if layout is None or not layout.packed else layout.unpack(array)
            for layout, array in zip(self._layouts, operands, strict=True)
        ]
        self._call(*arrays, **scalars)
        output = self._layouts[-1]
        if output is not None and output.packed:
            output.store(operands[-1], arrays[-1])


def _cost(entry: Operation, attributes: dict[str, Any], operands: Sequence[Layout | None]) -> Cost:
    shapes = [None if layout is None else layout.shape for layout in operands]
    sizes = [0 if layout is None else layout.numpy_dtype.itemsize for layout in operands]
    # Scalars come with each launch: for the plan they have their defaults.
    flops, moved = cost(entry, shapes, sizes, {**entry.defaults(), **attributes})
    return Cost(flops=flops, bytes=moved)
