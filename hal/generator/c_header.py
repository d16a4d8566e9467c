"""ops.h: numbers, config structs and functions."""

from __future__ import annotations

from .config import Field, fields, init_macro
from .model import Attribute, Operation
from .text import c_comment, c_wrap

_TOP = """\
/* ops.h: the operations. Made from the catalog, wia/catalog/: change it there.
 *
 * Every function runs one operation on tensors: wia_execute() in operation.h says what holds for
 * all of them, errors included. A NULL config means all defaults, a NULL stream that the call
 * returns when the work is done. */
#ifndef WIA_OPS_H
#define WIA_OPS_H

#include "wia/base.h"

WIA_BEGIN_DECLS
"""


def make(operations: tuple[Operation, ...]) -> str:
    """The text of the header."""
    parts = [_TOP, _numbers(operations)]
    known: dict[str, str] = {}
    for operation in operations:
        listed = (*operation.options, *operation.attributes)
        for item in listed:
            if item.enum and _is_new(item.enum, _enumeration(item), known):
                parts.append(_enumeration(item))
        if operation.config and _is_new(operation.config, _config(operation), known):
            parts.append(_config(operation))
        parts.append(_function(operation))
    parts.append("WIA_END_DECLS\n#endif\n")
    return "\n".join(parts)


def _is_new(name: str, text: str, known: dict[str, str]) -> bool:
    """Whether a type stands nowhere yet; operations that share one have to agree on it."""
    if name not in known:
        known[name] = text
        return True
    if known[name] != text:
        raise ValueError(f"{name} has two forms")
    return False


def signature(operation: Operation, prefix: str = "") -> str:
    """The declaration of the function, without a semicolon."""
    tensors = [f"wia_tensor_t {t.name}" for t in (*operation.inputs, *operation.outputs)]
    if operation.variadic:
        tensors[:1] = [f"const wia_tensor_t *{operation.inputs[0].name}", "uint32_t input_count"]
    arguments = ["wia_context_t *context", *tensors]
    if operation.config:
        arguments.append(f"const {operation.config} *config")
    arguments.append("wia_stream_t *stream")
    return c_wrap(f"{prefix}wia_status_t wia_{operation.name}(", arguments, ")")


def sized(operation: Operation) -> str:
    """What holds for outputs whose size depends on the data."""
    names = " and ".join(output.name for output in operation.outputs if output.sized)
    return (
        f"The size of the first dimension of {names} is the largest possible one; as many of its "
        f"elements as {operation.count} says are set, the others are 0."
    )


def _numbers(operations: tuple[Operation, ...]) -> str:
    lines = [f"  WIA_OP_{op.name.upper()} = {op.number}," for op in operations]
    return "enum {\n  WIA_OP_NONE = 0,\n" + "\n".join(lines) + "\n};\n"


def _enumeration(option: Attribute) -> str:
    prefix = option.enum.removesuffix("_t").upper()
    lines = [
        f"  {prefix}_{choice.name} = {choice.value}, {c_comment([choice.summary.rstrip('.')])}"
        for choice in option.choices
    ]
    return f"typedef int32_t {option.enum};\nenum {{\n" + "\n".join(lines) + "\n};\n"


def _config(operation: Operation) -> str:
    made = fields(operation)
    lines = []
    for field in made:
        array = f"[{field.length}]" if field.length else ""
        line = f"  {field.c_type} {field.name}{array};"
        if not field.comment:
            lines.append(line)
            continue
        comment = c_comment([field.comment])
        if len(line) + 1 + len(comment) <= 100:
            lines.append(f"{line} {comment}")
        else:
            lines += [f"  {comment}", line]
    body = "\n".join(lines)
    return f"typedef struct {operation.config} {{\n{body}\n}} {operation.config};\n" + _init(
        operation, [field for field in made if field.initial]
    )


def _init(operation: Operation, initial: list[Field]) -> str:
    macro, name = init_macro(operation), operation.config
    if not initial:
        return f"#define {macro} WIA_INIT({name})\n"
    if len(initial) == 1 and not initial[0].length:
        return f"#define {macro} WIA_INIT_1({name}, {initial[0].name}, {initial[0].initial})\n"
    cpp = [
        f"#define {macro}",
        "  ([] {",
        f"    {name} wia_init_value{{}};",
        f"    wia_init_value.struct_size = static_cast<uint32_t>(sizeof({name}));",
        *(f"    wia_init_value.{item};" for field in initial for item in _assignments(field)),
        "    return wia_init_value;",
        "  }())",
    ]
    values = ", ".join(f".{field.name} = {field.initial}" for field in initial)
    c = [
        f"#define {macro}",
        f"  (({name}){{.struct_size = (uint32_t)sizeof({name}), {values}}})",
    ]
    return f"#ifdef __cplusplus\n{_continued(cpp)}\n#else\n{_continued(c)}\n#endif\n"


def _assignments(field: Field) -> list[str]:
    if not field.length:
        return [f"{field.name} = {field.initial}"]
    values = field.initial.strip("{}").split(", ")
    return [f"{field.name}[{i}] = {value}" for i, value in enumerate(values)]


def _continued(lines: list[str]) -> str:
    return "\n".join([f"{line:<99}\\" for line in lines[:-1]] + [lines[-1]])


def _function(operation: Operation) -> str:
    paragraphs = [f"{operation.summary.rstrip('.')}: {operation.formula}."]
    for operand in operation.inputs:
        optional = " NULL: left out." if operand.optional else ""
        paragraphs.append(f"- {operand.name}: {operand.summary}{optional}")
    for output in operation.outputs:
        read = f" Also read unless {output.read_with} is 0." if output.read_with else ""
        read += " NULL: left out." if output.optional else ""
        kind = "the output" if len(operation.outputs) == 1 else "an output"
        label = output.name if output.name == "output" else f"{output.name}, {kind}"
        paragraphs.append(f"- {label}: {output.summary}{read}")
    if operation.count:
        paragraphs.append(sized(operation))
    paragraphs += operation.notes
    own = [t for t in operation.inputs if t.dtypes]
    dtypes = f"dtypes: {', '.join(operation.dtypes)}"
    paragraphs.append("; ".join([dtypes, *(f"{t.name}: {', '.join(t.dtypes)}" for t in own)]) + ".")
    return f"{c_comment(paragraphs)}\n{signature(operation, 'WIA_API ')};\n"
