"""Config structs: their fields, with the padding written out."""

from __future__ import annotations

from dataclasses import dataclass

from .model import Attribute, Operation, Scalar
from .text import c_double

SIZES = {"int32_t": 4, "uint32_t": 4, "int64_t": 8, "uint64_t": 8, "double": 8}


@dataclass(frozen=True)
class Field:
    """One field. ``initial`` is its C value in the _INIT macro, empty for zero."""

    name: str
    c_type: str
    length: int = 0
    comment: str = ""
    initial: str = ""


def fields(operation: Operation) -> list[Field]:
    """The fields of the config struct in their order, struct_size first."""
    made = [Field("struct_size", "uint32_t")]
    offset = alignment = 4
    gaps = 0

    def append(field: Field, size: int) -> None:
        nonlocal offset, alignment, gaps
        if offset % size:
            gaps += 1
            made.append(Field("reserved" if gaps == 1 else f"reserved_{gaps}", "uint32_t"))
            offset += 4
        alignment = max(alignment, size)
        offset += size * max(field.length, 1)
        made.append(field)

    for item in operation.fields:
        if isinstance(item, Attribute) and item.length_field:
            append(Field(item.length_field, "uint32_t", comment=f"elements of {item.name}"), 4)
        append(_field(item), SIZES[_c_type(item)])
    if offset % alignment:
        made.append(Field("reserved" if gaps == 0 else f"reserved_{gaps + 1}", "uint32_t"))
    return made


def init_macro(operation: Operation) -> str:
    """The name of the _INIT macro."""
    return operation.config.removesuffix("_t").upper() + "_INIT"


def _c_type(item: Attribute | Scalar) -> str:
    return "double" if isinstance(item, Scalar) else item.field


def _field(item: Attribute | Scalar) -> Field:
    comment = item.summary[0].lower() + item.summary[1:].rstrip(".")
    if isinstance(item, Scalar):
        return Field(
            item.name, "double", 0, comment, c_double(item.default) if item.default else ""
        )
    values = item.default if isinstance(item.default, tuple) else (item.default,)
    if item.zero_is_default:
        comment += f"; 0: {', '.join(map(str, dict.fromkeys(values)))}"
    c_type = item.enum or item.field
    initial = ""
    if any(values) and not item.zero_is_default:
        items = [c_double(value or 0.0) if item.kind == "float" else str(value) for value in values]
        initial = f"{{{', '.join(items)}}}" if item.length else items[0]
    return Field(item.name, c_type, item.length, comment, initial)
