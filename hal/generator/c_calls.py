"""ops_calls.c: the public functions of ops.h."""

from __future__ import annotations

from .c_header import signature
from .model import Operand, Operation, Option
from .text import c_wrap

_TOP = """\
/* ops_calls.c: the functions of ops.h. Made from the catalog, wia/catalog/: change it there. */
#include <stddef.h>

#include "object.h"
#include "op.h"
"""


def make(operations: tuple[Operation, ...]) -> str:
    """The text of the file."""
    places = {operation.name: place for place, operation in enumerate(operations)}
    return "\n".join([_TOP, *(_call(operation, places) for operation in operations)])


def _call(operation: Operation, places: dict[str, int]) -> str:
    if operation.variadic:
        return _call_list(operation, places)
    config = "config" if operation.config else "NULL"
    entry = f"&wia__ops[{places[operation.name]}]"
    run = f"wia__run(__func__, context, {entry}, operands, {config}, stream)"
    lines = [_operands("operands", [*operation.inputs, *operation.outputs])]
    after = [option for option in operation.options if option.in_call]
    if not after:
        lines.append(f"  return {run};")
    else:
        lines.append(f"  wia_status_t status = {run};")
        for option in after:
            lines += _then(operation, option, places)
        lines.append("  return status;")
    body = "\n".join(lines)
    return f"{signature(operation)} {{\n{body}\n}}\n"


def _operands(name: str, operands: list[Operand]) -> str:
    names = [operand.name for operand in operands]
    return c_wrap(f"  const wia_tensor_t {name}[] = {{", names, "};")


def _call_list(operation: Operation, places: dict[str, int]) -> str:
    """A call of an operation whose inputs are a list."""
    config = "config" if operation.config else "NULL"
    names = [operation.inputs[0].name, "input_count", "outputs", config, "stream"]
    entry = f"&wia__ops[{places[operation.name]}]"
    run = f"wia__run_list(context, {entry}, {', '.join(names)})"
    outputs = _operands("outputs", list(operation.outputs))
    return f"{signature(operation)} {{\n{outputs}\n  WIA__CALL({run});\n}}\n"


def _then(operation: Operation, option: Option, places: dict[str, int]) -> list[str]:
    field, prefix = option.name, option.enum.removesuffix("_t").upper()
    end = f"offsetof({operation.config}, {field}) + sizeof config->{field}"
    lines = [
        "  /* The run before has checked the config, but a caller's struct may be an older one. */",
        f"  if (status || !config || config->struct_size < {end})",
        "    return status;",
    ]
    output = operation.output.name
    for choice in option.choices:
        if choice.then:
            lines += [
                f"  if (config->{field} == {prefix}_{choice.name}) {{",
                f"    const wia_tensor_t again[] = {{{output}, {output}}};",
                f"    status = wia__run(__func__, context, &wia__ops[{places[choice.then]}], "
                "again, NULL, stream);",
                "  }",
            ]
    return lines
