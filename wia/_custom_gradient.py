"""Gradients of registered operations: what their functions are given, and the call from C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wia import _views
from wia._attributes import find_operation, pack_attributes
from wia._callbacks import callback
from wia._errors import InvalidArgumentError, check
from wia._group import Value, places_of
from wia._native import NULL, ffi, lib

if TYPE_CHECKING:
    from wia.catalog import Operation

__all__ = ["GATE", "GradientCall"]

GATE = "wia__gate_gradient"


class GradientCall:
    """A call of an operation whose gradient is wanted: what `@wia.op(gradient=...)` gets.

    `inputs` and `outputs` are wia.Value, None for what the call left out, and so are `grads`, the
    gradients of the outputs: zeros for one that isn't known. `values` has the attributes and
    scalars by name. `wanted` tells for each input whether its gradient is; others may be None.
    What apply() adds and no gradient needs costs nothing.
    """

    __slots__ = ("_builder", "_values", "grads", "inputs", "outputs", "values", "wanted")

    def __init__(self, entry: Operation, args: Any, builder: Any) -> None:
        from wia._custom_define import read_values

        self._builder = builder
        self._values: list[Value] = []
        # Any, so that who knows that an operand is there needn't say so.
        self.inputs: tuple[Any, ...] = self._operands(args.inputs, args.input_count)
        self.outputs: tuple[Any, ...] = self._operands(args.outputs, args.output_count)
        self.grads: tuple[Any, ...] = self._operands(args.outputs, args.output_count)
        self.wanted = tuple(bool(args.wanted >> i & 1) for i in range(args.input_count))
        self.values = read_values(entry, args.attributes)
        self.values |= {item.name: args.scalars[i].f64 for i, item in enumerate(entry.scalars)}

    def _operands(self, shapes: Any, count: int) -> tuple[Value | None, ...]:
        """The next operands. One that is left out has a number too."""
        given = [(self._add(shape), shape.dtype) for shape in shapes[0:count]]
        return tuple(value if dtype else None for value, dtype in given)

    def _add(self, shape: Any) -> Value:
        sizes = tuple(shape.shape[0 : shape.rank])
        return Value(self, shape.dtype, sizes, _views.row_major(sizes))

    def apply(self, op: str | int, inputs: Sequence[Value | None], **attributes: object) -> Value:
        """Adds an operation, and returns its first output. None is an input that is left out.

        Raises what a call of the operation would raise for these shapes, dtypes and attributes.
        """
        return self.apply_all(op, inputs, **attributes)[0]

    def apply_all(
        self, op: str | int, inputs: Sequence[Value | None], **attributes: object
    ) -> tuple[Value, ...]:
        """The same, and returns all outputs."""
        places = places_of(self, inputs)
        entry = find_operation(op)
        packed, count, kept = pack_attributes(entry, attributes)
        made = len(entry.outputs)
        numbers, shapes = ffi.new("uint32_t[]", made), ffi.new("wia_shape_t[]", made)
        check(
            lib.wia_add_gradient_node(
                self._builder,
                entry.number,
                ffi.new("uint32_t[]", places) if places else NULL,
                len(places),
                packed,
                count,
                numbers,
                shapes,
                made,
            )
        )
        del kept
        return tuple(self._add(shape) for shape in shapes if shape.dtype)

    def __repr__(self) -> str:
        return f"wia.GradientCall({len(self.inputs)} inputs, {len(self.outputs)} outputs)"


@callback("gradient")
def _gradient(context: Any, args: Any, builder: Any, out_gradients: Any, out_error: Any) -> int:
    functions = ffi.from_handle(context)
    call = GradientCall(functions.entry, args, builder)
    said = functions.gradient(call)
    given = [said] if isinstance(said, Value) or said is None else list(said)
    if len(given) != len(call.inputs):
        raise InvalidArgumentError(
            f"its gradient function returned {len(given)} values; expected one, or None, for each "
            f"of the {len(call.inputs)} inputs"
        )
    for i, place in enumerate(places_of(call, given)):
        out_gradients[i] = place
    return 0
