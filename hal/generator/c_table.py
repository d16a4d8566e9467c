"""ops_table.c: the operations as the core sees them."""

from __future__ import annotations

from .config import init_macro
from .model import Attribute, Operation, Option, Scalar
from .text import c_double, c_wrap

_TOP = """\
/* ops_table.c: the operations as tables. Made from the catalog, wia/catalog/: change it there. */
#include <stddef.h>

#include "shape.h"
"""

_FIELDS = {
    "": "WIA__FIELD_NONE",
    "uint32_t": "WIA__FIELD_U32",
    "int32_t": "WIA__FIELD_I32",
    "int64_t": "WIA__FIELD_I64",
    "uint64_t": "WIA__FIELD_U64",
    "double": "WIA__FIELD_F64",
}
_TYPES = {
    "int": "WIA_ATTRIBUTE_INT64",
    "bool": "WIA_ATTRIBUTE_INT64",
    "float": "WIA_ATTRIBUTE_FLOAT64",
    "dtype": "WIA_ATTRIBUTE_DTYPE",
}
_NOT_GIVEN = -1


def make(operations: tuple[Operation, ...]) -> str:
    """The text of the file."""
    parts = [_TOP]
    for operation in operations:
        parts.append(_tables(operation))
    parts.append("".join(map(_config_check, sorted({o.config for o in operations if o.config}))))
    entries = ",\n".join(_entry(operation) for operation in operations)
    parts.append(f"const wia__op_t wia__ops[] = {{\n{entries},\n}};\n")
    parts.append(f"const uint32_t wia__op_count = {len(operations)};\n")
    last = operations[-1].number
    places = {operation.number: place for place, operation in enumerate(operations, 1)}
    listed = [str(places.get(number, 0)) for number in range(last + 1)]
    parts.append(c_wrap("const uint16_t wia__op_places[] = {", listed, "};") + "\n")
    parts.append(f"const wia_op_t wia__op_last = {last};\n")
    return "\n".join(parts)


def _tables(operation: Operation) -> str:
    name = operation.name
    names = [f'"{t.name}"' for t in (*operation.inputs, *operation.outputs)]
    if operation.variadic:
        inputs = [f'"{operation.inputs[0].name}[{i}]"' for i in range(operation.most)]
        names = [*inputs, *(f'"{output.name}"' for output in operation.outputs)]
    lines = [c_wrap(f"static const char *const {name}_operands[] = {{", names, "};")]
    if any(operand.dtypes for operand in operation.inputs):
        masks = [_mask(operand.dtypes) for operand in operation.inputs]
        lines.append(c_wrap(f"static const uint64_t {name}_dtypes[] = {{", masks, "};"))
    listed = (*operation.attributes, *operation.options)
    if listed:
        word, specs, words = 0, [], []
        for item in listed:
            specs.append(_attribute(operation, item, word))
            words += _word_initialisers(item)
            word += item.words
        body = ",\n    ".join(specs)
        lines.append(
            f"static const wia__attribute_spec_t {name}_attributes[] = {{\n    {body},\n}};"
        )
        head = f"static const wia_scalar_t {name}_words[] = {{"
        lines.append(c_wrap(head, words, "};"))
    if operation.scalars:
        specs = [_scalar(operation, scalar, i) for i, scalar in enumerate(operation.scalars)]
        body = ",\n    ".join(specs)
        lines.append(f"static const wia__attribute_spec_t {name}_scalars[] = {{\n    {body},\n}};")
        values = ", ".join(f"{{.f64 = {c_double(scalar.default)}}}" for scalar in operation.scalars)
        lines.append(f"static const wia_scalar_t {name}_defaults[] = {{{values}}};")
    return "\n".join(lines) + "\n"


def _mask(dtypes: tuple[str, ...]) -> str:
    return " | ".join(f"1ull << WIA_{dtype.upper()}" for dtype in dtypes) or "0"


def _attribute(operation: Operation, item: Attribute | Option, word: int) -> str:
    parts = {
        "name": f'"{item.name}"',
        "type": _TYPES[item.kind],
        "count": max(item.length, 1),
        "variable": int(item.variable),
        "word": word,
        "field": _FIELDS[item.field],
        "offset": f"offsetof({operation.config}, {item.name})" if item.field else 0,
        "length_offset": (
            f"offsetof({operation.config}, {item.length_field})" if item.length_field else 0
        ),
        "zero_is_default": int(item.zero_is_default),
        "option": _option(item),
        "choices": _choices(item),
    }
    least, most = item.range
    kept: dict[str, object] = {key: value for key, value in parts.items() if value != 0}
    if item.kind == "float":
        kept["minimum.f64"] = c_double(least)
        kept["maximum.f64"] = c_double(most)
    else:
        last = "WIA_DTYPE_COUNT - 1" if item.kind == "dtype" else most
        kept |= {"minimum.i64": least, "maximum.i64": last}
    return _initialiser(kept)


def _option(item: Attribute | Option) -> int | str:
    if not isinstance(item, Option):
        return 0
    return "WIA__OPTION_IN_CALL" if item.in_call else "WIA__OPTION_REQUEST"


def _choices(item: Attribute | Option) -> int | str:
    """What a request to a driver calls the values, which count from 0, the driver's own choice."""
    if not isinstance(item, Option) or item.in_call or not item.choices:
        return 0
    names = ", ".join(f'"{choice.name.lower()}"' for choice in item.choices[1:])
    return f"(const char *const[]){{NULL, {names}}}"


def _scalar(operation: Operation, scalar: Scalar, index: int) -> str:
    return _initialiser(
        {
            "name": f'"{scalar.name}"',
            "type": "WIA_ATTRIBUTE_FLOAT64",
            "count": 1,
            "word": index,
            "field": "WIA__FIELD_F64",
            "offset": f"offsetof({operation.config}, {scalar.name})",
        }
    )


def _initialiser(parts: dict[str, object]) -> str:
    return c_wrap("    {", [f".{key} = {value}" for key, value in parts.items()], "}").lstrip()


def _word_initialisers(item: Attribute) -> list[str]:
    words = _words(item)
    if item.kind != "float":
        return [f"{{.i64 = {value}}}" for value in words]
    length = [f"{{.i64 = {value}}}" for value in words[: int(item.variable)]]
    return [*length, *(f"{{.f64 = {c_double(float(v))}}}" for v in words[int(item.variable) :])]


def _words(item: Attribute) -> list[float]:
    default = item.default
    if not item.variable:
        if isinstance(default, tuple):
            return list(default)
        return [default or 0] * max(item.length, 1)
    if default is None:
        return [_NOT_GIVEN, *([0] * item.length)]
    values = list(default) if isinstance(default, tuple) else []
    return [len(values), *values, *([0] * (item.length - len(values)))]


def _config_check(config: str) -> str:
    """The core reads config structs into room of that size."""
    return f'_Static_assert(sizeof({config}) <= WIA__MAX_CONFIG_SIZE, "{config}");\n'


def _entry(operation: Operation) -> str:
    name, config = operation.name, operation.config
    listed = (*operation.attributes, *operation.options)
    read_with = operation.output.read_with
    parts: dict[str, object] = {
        "op": f"WIA_OP_{name.upper()}",
        "name": f'"{name}"',
        "family": f'"{operation.family}"',
        "infer": f"wia__infer_{operation.family}",
        "dtypes": _mask(operation.dtypes),
        "operand_dtypes": (
            f"{name}_dtypes" if any(operand.dtypes for operand in operation.inputs) else "NULL"
        ),
        "dtype_input": operation.lead if operation.lead >= 0 else "WIA__NO_INPUT",
        "same_dtype": int(operation.same_dtype),
        "min_input_count": operation.required,
        "max_input_count": operation.most,
        "min_output_count": operation.required_outputs,
        "output_count": len(operation.outputs),
        "read_scalar": next(
            (i for i, item in enumerate(operation.scalars) if item.name == read_with), -1
        ),
        "attribute_count": len(listed),
        "scalar_count": len(operation.scalars),
        "word_count": sum(item.words for item in listed),
        "attributes": f"{name}_attributes" if listed else "NULL",
        "scalars": f"{name}_scalars" if operation.scalars else "NULL",
        "default_words": f"{name}_words" if listed else "NULL",
        "default_scalars": f"{name}_defaults" if operation.scalars else "NULL",
        "config_size": f"sizeof({config})" if config else 0,
        "config_first_size": f"sizeof({config})" if config else 0,
        "config_init": f'"{init_macro(operation)}"' if config else "NULL",
        "operand_names": f"{name}_operands",
    }
    lines = "".join(f"        .{key} = {value},\n" for key, value in parts.items())
    return f"    {{\n{lines}    }}"
