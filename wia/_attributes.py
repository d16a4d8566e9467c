"""Attributes of operations, from keyword arguments to the structs of the C side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wia._arguments import as_choice, as_codes
from wia._dtype import dtype_code
from wia._errors import ArgumentTypeError, InvalidArgumentError, NotFoundError, check
from wia._native import NULL, ffi, lib
from wia._scalar import Scalar

if TYPE_CHECKING:
    from wia.catalog import Operation

__all__ = ["find_operation", "pack_attributes"]


def find_operation(op: str | int) -> Operation:
    """The catalog entry of an operation by its name or number. Raises NotFoundError."""
    from wia.catalog import OPERATIONS, REGISTERED, find_entry

    if isinstance(op, str):
        found = find_entry(op)
        if found is not None:
            return found
        check(lib.wia_find_op(op.encode("utf-8", "replace"), ffi.new("wia_op_t *")))
        raise NotFoundError(
            f"The operation {op!r} was registered by C code; Python programs run those of @wia.op."
        )
    for entry in (*REGISTERED.values(), *OPERATIONS):
        if entry.number == op:
            return entry
    raise NotFoundError(f"{op!r} was given as operation; expected a name or a WIA_OP_* number.")


def pack_attributes(entry: Operation, values: Mapping[str, object]) -> tuple[Any, int, object]:
    """A `wia_attribute_t *`, its length, and what has to live as long as it is used.

    A value of None counts as not given. Raises InvalidArgumentError for a name that the operation
    doesn't have, ArgumentTypeError for a value of a wrong type; the library checks ranges.
    """
    values = {name: value for name, value in values.items() if value is not None}
    if not values:
        return NULL, 0, None
    attributes = ffi.new("wia_attribute_t[]", len(values))
    kept: list[Any] = [attributes]
    kinds = {item.name: item.kind for item in entry.attributes}
    kinds.update({scalar.name: "float" for scalar in entry.scalars})
    texts = {item.name for item in entry.attributes if item.text}
    choices = {item.name: item.choices for item in entry.attributes if item.choices}
    for attribute, (name, value) in zip(attributes, values.items(), strict=True):
        if name not in kinds:
            raise InvalidArgumentError(
                f"{entry.name} was given the attribute {name!r}; it has "
                f"{', '.join(kinds) or 'no attributes'}."
            )
        kept.append(ffi.new("char[]", name.encode()))
        attribute.name = kept[-1]
        if name in choices and isinstance(value, str):
            numbers = {choice.name.lower(): choice.value for choice in choices[name]}
            value = as_choice(entry.name, name, value, numbers)
        if name in texts and isinstance(value, str):
            value = as_codes(entry.name, name, value)
        kept.append(_fill(attribute, entry.name, name, kinds[name], value))
    return attributes, len(values), kept


def _fill(attribute: Any, op: str, name: str, kind: str, value: object) -> Any:
    """Sets type, count and data; returns the data. A scalar of a group has a place instead."""
    if isinstance(value, Scalar):
        attribute.type = lib.WIA_ATTRIBUTE_FLOAT64
        attribute.count = 1
        attribute.scalar = value.place
        return None
    if kind == "dtype":
        attribute.type = lib.WIA_ATTRIBUTE_DTYPE
        data = ffi.new("int32_t[]", [dtype_code(value)])
    else:
        items = list(value) if isinstance(value, Sequence) else [value]
        attribute.type = lib.WIA_ATTRIBUTE_FLOAT64 if kind == "float" else lib.WIA_ATTRIBUTE_INT64
        try:
            data = ffi.new("double[]" if kind == "float" else "int64_t[]", items)
        except (TypeError, OverflowError):
            wanted = "a number or numbers" if kind == "float" else "an integer or integers"
            raise ArgumentTypeError(
                f"{op} was given {name}={value!r}; expected {wanted}."
            ) from None
    attribute.count = len(data)
    attribute.data = data
    return data
