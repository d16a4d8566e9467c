"""What the library is told of an operation of a program's own, and what it asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from wia._callbacks import callback
from wia._dtype import CODES, NAMES
from wia._errors import InvalidArgumentError, check
from wia._infer import TensorSpec
from wia._native import ffi, lib, new_struct

if TYPE_CHECKING:
    from wia._custom_gradient import GradientCall
    from wia._group import Value
    from wia.catalog import Operation
    from wia.catalog._model import Attribute

__all__ = [
    "Differentiate",
    "Infer",
    "define",
    "dtype_mask",
    "kept",
    "read_values",
]

kept: list[Any] = []
"""Handles that the library has for good."""


Infer = Callable[..., TensorSpec | Sequence[TensorSpec]]
Differentiate = Callable[["GradientCall"], "Value | Sequence[Value | None] | None"]


def dtype_mask(name: str, dtypes: Iterable[str]) -> int:
    given = tuple(dtypes)
    unknown = [item for item in given if item not in CODES]
    if unknown:
        raise InvalidArgumentError(
            f"{name} was given the dtypes {', '.join(map(repr, unknown))}; expected some of "
            f"{', '.join(CODES)}."
        )
    return sum(1 << CODES[item] for item in set(given))


class _Functions(NamedTuple):
    """What the library has the handle of, for its calls."""

    entry: Operation
    infer: str | Infer
    gradient: Differentiate | None


def define(entry: Operation, infer: str | Infer, gradient: Differentiate | None) -> Operation:
    """Registers an entry, and puts it into the catalog under its number."""
    from dataclasses import replace

    from wia.catalog import REGISTERED

    held: list[Any] = []

    def text(value: str) -> Any:
        held.append(ffi.new("char[]", value.encode("utf-8", "replace")))
        return held[-1]

    definition = new_struct("wia_op_definition_t")
    definition.name = text(entry.name)
    definition.documentation = text(entry.summary)
    definition.dtypes = dtype_mask(entry.name, entry.dtypes)
    for field, listed in (("inputs", entry.inputs), ("outputs", entry.outputs)):
        operands = ffi.new("wia_operand_definition_t[]", len(listed) or 1)
        for made, operand in zip(operands, listed, strict=False):
            made.name = text(operand.name)
            made.dtypes = dtype_mask(entry.name, operand.dtypes)
            made.flags = lib.WIA_OPERAND_OPTIONAL if operand.optional else 0
        held.append(operands)
        setattr(definition, field, operands)
        setattr(definition, f"{field[:-1]}_count", len(listed))
    attributes = ffi.new("wia_attribute_definition_t[]", len(entry.attributes) or 1)
    for made, item in zip(attributes, entry.attributes, strict=False):
        _fill_attribute(made, item, held)
        made.name = text(item.name)
    numbers = ffi.new("wia_attribute_definition_t[]", len(entry.scalars) or 1)
    for made, scalar in zip(numbers, entry.scalars, strict=False):
        held.append(ffi.new("double *", scalar.default))
        made.type, made.defaults = lib.WIA_ATTRIBUTE_FLOAT64, held[-1]
        made.name = text(scalar.name)
    definition.attributes, definition.attribute_count = attributes, len(entry.attributes)
    definition.scalars, definition.scalar_count = numbers, len(entry.scalars)
    if isinstance(infer, str):
        definition.family = text(infer)
    else:
        definition.infer = ffi.addressof(lib, "wia__gate_infer")
    if gradient is not None:
        from wia import _custom_gradient  # has the Python side of it

        definition.gradient = ffi.addressof(lib, _custom_gradient.GATE)
    handle = ffi.new_handle(_Functions(entry, infer, gradient))
    definition.context = handle
    kept.append(handle)
    number = ffi.new("wia_op_t *")
    check(lib.wia_register_op(definition, number))
    made_entry = replace(
        entry, number=number[0], family=infer if isinstance(infer, str) else entry.family
    )
    REGISTERED[entry.name] = made_entry
    return made_entry


def _fill_attribute(made: Any, item: Attribute, kept: list[Any]) -> None:
    is_float = item.kind == "float"
    values = item.default if isinstance(item.default, tuple) else (item.default,)
    # One element at least, so that an empty list is a list, and not one that is not given.
    data = ffi.new("double[]" if is_float else "int64_t[]", [*values, 0])
    kept.append(data)
    made.defaults = data
    made.type = lib.WIA_ATTRIBUTE_FLOAT64 if is_float else lib.WIA_ATTRIBUTE_INT64
    made.count = max(item.length, 1)
    if item.variable:
        made.flags = lib.WIA_ATTRIBUTE_LIST
        made.default_count = len(values)
    if item.kind == "bool":
        made.maximum.i64 = 1


# -- what the library calls ------------------------------------------------------------------------


def _spec(shape: Any) -> TensorSpec | None:
    if shape.dtype == 0:
        return None
    return TensorSpec(tuple(shape.shape[0 : shape.rank]), NAMES[shape.dtype])


def read_values(entry: Operation, attributes: Any) -> dict[str, Any]:
    """Attributes by name, from what a function of the operation is given."""
    values: dict[str, Any] = {}
    for i, item in enumerate(entry.attributes):
        given = attributes[i]
        kind = "double *" if item.kind == "float" else "int64_t *"
        data = ffi.unpack(ffi.cast(kind, given.data), given.count) if given.count else []
        one = tuple(data) if item.variable else data[0]
        values[item.name] = bool(one) if item.kind == "bool" else one
    return values


@callback("infer")
def _infer(context: Any, args: Any, out_shapes: Any, out_error: Any) -> int:
    functions = ffi.from_handle(context)
    inputs = [_spec(args.inputs[i]) for i in range(args.input_count)]
    said = functions.infer(*inputs, **read_values(functions.entry, args.attributes))
    specs = [said] if isinstance(said, TensorSpec) else list(said)
    if len(specs) != args.output_count or not all(isinstance(item, TensorSpec) for item in specs):
        raise InvalidArgumentError(
            f"its shape function returned {said!r}; expected {args.output_count} of wia.TensorSpec"
        )
    for out, spec in zip(out_shapes[0 : len(specs)], specs, strict=True):
        if spec.dtype not in CODES or len(spec.shape) > len(out.shape):
            raise InvalidArgumentError(
                f"its shape function returned {spec}; expected a dtype by name, and at most "
                f"{len(out.shape)} dimensions"
            )
        out.dtype, out.rank = CODES[spec.dtype], len(spec.shape)
        out.shape[0 : len(spec.shape)] = list(map(int, spec.shape))
    return 0
