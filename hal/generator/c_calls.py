"""ops_calls.c: the public functions of ops.h."""

from __future__ import annotations

from .c_header import signature
from .model import Operation, Option

_TOP = """\
/* ops_calls.c: the functions of ops.h. Made from the catalog, wia/catalog/: change it there. */
#include <stddef.h>

#include "object.h"
#include "op.h"
"""


def make(operations: tuple[Operation, ...]) -> str:
    """The text of the file."""
    numbers = {operation.name: operation.number for operation in operations}
    return "\n".join([_TOP, *(_call(operation, numbers) for operation in operations)])


def _call(operation: Operation, numbers: dict[str, int]) -> str:
    if operation.variadic:
        return _call_list(operation)
    operands = ", ".join(t.name for t in (*operation.inputs, operation.output))
    config = "config" if operation.config else "NULL"
    entry = f"&wia__ops[{operation.number - 1}]"
    run = f"wia__run(__func__, context, {entry}, operands, {config}, stream)"
    lines = [f"  const wia_tensor_t operands[] = {{{operands}}};"]
    after = [option for option in operation.options if option.in_call]
    if not after:
        lines.append(f"  return {run};")
    else:
        lines.append(f"  wia_status_t status = {run};")
        for option in after:
            lines += _then(operation, option, numbers)
        lines.append("  return status;")
    body = "\n".join(lines)
    return f"{signature(operation)} {{\n{body}\n}}\n"


def _call_list(operation: Operation) -> str:
    """A call of an operation whose inputs are a list."""
    config = "config" if operation.config else "NULL"
    names = [operation.inputs[0].name, "input_count", operation.output.name, config, "stream"]
    entry = f"&wia__ops[{operation.number - 1}]"
    run = f"wia__run_list(context, {entry}, {', '.join(names)})"
    return f"{signature(operation)} {{\n  WIA__CALL({run});\n}}\n"


def _then(operation: Operation, option: Option, numbers: dict[str, int]) -> list[str]:
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
                f"    status = wia__run(__func__, context, &wia__ops[{numbers[choice.then] - 1}], "
                "again, NULL, stream);",
                "  }",
            ]
    return lines
