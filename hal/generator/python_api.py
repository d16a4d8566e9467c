"""_operations.py: the methods of a context, one per operation."""

from __future__ import annotations

from .model import Attribute, Operand, Operation, Option, Scalar
from .text import WIDTH, docstring

_FLOATS = ("float64", "float32", "float16", "bfloat16")

_TOP = '''\
"""The operations as methods of a context. Made from the catalog, wia/catalog/: change it there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from wia._arguments import (
    as_choice,
    as_codes,
    as_handles,
    as_int,
    as_list,
    as_number,
    as_numbers,
    as_outputs,
    as_parts,
    explain,
    make_config,
    need_out,
    refuse_both,
)
from wia._call import quick
from wia._errors import raise_last_error
from wia._native import NULL, lib
from wia._tape import record, tapes

if TYPE_CHECKING:
    from wia._stream import Stream
    from wia._tensor import Tensor

__all__ = ["Operations"]


class Operations:
    """One method per operation; each returns ``out``, or a new tensor when that is None.

    Those with several outputs take and return tuples.

    With a stream the work is enqueued there, else it is done when the method returns.
    """

    __slots__ = ()

    if TYPE_CHECKING:
        _handle: Any

        def _new_output(
            self,
            op: int,
            inputs: tuple[Tensor | None, ...],
            attributes: Mapping[str, object] | None = None,
        ) -> Tensor: ...

        def _new_outputs(
            self,
            op: int,
            inputs: tuple[Tensor | None, ...],
            attributes: Mapping[str, object] | None = None,
        ) -> tuple[Any, ...]: ...
'''


def make(operations: tuple[Operation, ...]) -> str:
    """The text of the module. Functions are bound here once: a look-up in lib costs 15 to 40 ns."""
    bound = "".join(f"_{op.name} = lib.wia_{op.name}\n" for op in operations)
    top = _TOP.replace("\n\nclass ", f"\n{bound}\n\nclass ", 1)
    return "\n".join([top, *(_method(operation) for operation in operations)])


def _method(operation: Operation) -> str:
    lines = [*_decorator(operation), _signature(operation), _docstring(operation)]
    lines += _configuration(operation)
    names = [operand.name for operand in operation.inputs]
    handles = [f"{operand.name}._handle" for operand in operation.inputs if not operand.optional]
    if operation.variadic:
        handles = ["handles", "len(handles)"]
    handles += [
        f"NULL if {operand.name} is None else {operand.name}._handle"
        for operand in operation.inputs
        if operand.optional
    ]
    config = ["config"] if operation.config else []
    stream = "NULL if stream is None else stream._handle"
    outs = _output_handles(operation)
    if operation.variadic_outputs:
        outs = ["*parts"]
    call = ["self._handle", *handles, *outs, *config, stream]
    inputs = f"({', '.join(names)}{',' if len(names) == 1 else ''})"
    if operation.variadic:
        lines.append(f'        handles = as_handles("{operation.name}", {names[0]})')
        inputs, names = f"tuple({names[0]})", []
    more = ", attributes" if operation.attributes else ""
    function = f"wia_{operation.name}"
    several = len(operation.outputs) > 1
    operands = [f"{name}={name}" for name in (*names, *([] if several else ["out"]))]
    operands.append("stream=stream")
    required = str(0 if operation.variadic else operation.required)
    make = f"out = self._new_output{'s' if several else ''}({operation.number}, {inputs}{more})"
    unpack = ", ".join(outs).replace("._handle", "")
    lines += ["        try:"]
    if operation.count:
        lines.append(f"            {make}")
    else:
        lines += [
            "            if out is None:",
            *_read_before(operation),
            f"                {make}",
        ]
    if operation.count:
        lines.append(f"            {unpack} = out")
    elif operation.variadic_outputs:
        lines.append(
            f'            parts = as_parts("{operation.name}", out, {len(operation.outputs)})'
        )
    elif several:
        count = len(operation.outputs)
        lines.append(f'            {unpack} = as_outputs("{operation.name}", out, {count})')
    lines += [
        f"            status = _{operation.name}(",
        *(f"                {item}," for item in call),
        "            )",
        "        except (AttributeError, TypeError) as error:",
        *_call(12, "explain", ["error", f'"{function}"', required, *operands]),
        "        if status:",
        "            raise_last_error(status)",
        *_record(operation, inputs),
        _result(operation),
    ]
    return "\n".join(lines) + "\n"


def _decorator(operation: Operation) -> list[str]:
    """The short way, for calls that leave everything out that they can."""
    if operation.variadic or operation.count or len(operation.outputs) > 1:
        return []
    if any(not _differs(item) for item in _listed(operation)):
        return []
    inputs = len(operation.inputs)
    return [f"    @quick({operation.number}, {operation.required}, {inputs})"]


def _listed(operation: Operation) -> list[Attribute | Option | Scalar]:
    return [*operation.attributes, *operation.options, *operation.scalars]


def _record(operation: Operation, inputs: str) -> list[str]:
    """Statements that write the call down for gradients."""
    if operation.count or not set(_FLOATS) & set(operation.dtypes):
        return []
    scalars = ", ".join(f'"{scalar.name}": {scalar.name}' for scalar in operation.scalars)
    values = "**(attributes or {})" if operation.attributes else ""
    if values and scalars:
        values += ", "
    out = "out" if len(operation.outputs) > 1 else "(out,)"
    call = [f'"{operation.name}"', inputs, f"{{{values}{scalars}}}", out]
    return ["        if tapes:", *_call(12, "record", call)]


def _output_handles(operation: Operation) -> list[str]:
    if len(operation.outputs) == 1:
        return ["out._handle"]
    return [f"out_{output.name}._handle" for output in operation.outputs]


def _result(operation: Operation) -> str:
    """The statement that returns what the data made, or all outputs."""
    if not operation.count:
        return "        return out"
    given = [
        f"out_{output.name}[:size]" if output.sized else f"out_{output.name}"
        for output in operation.outputs
        if output.name != operation.count
    ]
    read = f"        size = int(out_{operation.count}.item())\n"
    if len(given) == 1:
        return f"{read}        found: Tensor = {given[0]}\n        return found"
    return f"{read}        return {', '.join(given)}"


def _result_type(operation: Operation) -> str:
    if operation.variadic_outputs:
        return "tuple[Tensor, ...]"
    count = len(operation.outputs) - bool(operation.count)
    return "Tensor" if count == 1 else f"tuple[{', '.join(['Tensor'] * count)}]"


def _call(indent: int, head: str, arguments: list[str], end: str = "") -> list[str]:
    """A call on one line, or with a line per argument."""
    space = " " * indent
    one_line = f"{space}{head}({', '.join(arguments)}){end}"
    if len(one_line) <= WIDTH:
        return [one_line]
    return [f"{space}{head}(", *(f"{space}    {item}," for item in arguments), f"{space}){end}"]


def _read_before(operation: Operation) -> list[str]:
    scalar = operation.output.read_with
    return [f'                need_out("{operation.name}", "{scalar}", {scalar})'] if scalar else []


def _signature(operation: Operation) -> str:
    parameters = ["self"]
    for operand in operation.inputs:
        optional = " | None = None" if operand.optional else ""
        kind = "Sequence[Tensor]" if operation.variadic else "Tensor"
        parameters.append(f"{operand.name}: {kind}{optional}")
    targets = [item for item in operation.attributes if not item.field]
    parameters += [_parameter(item) for item in targets]
    returned = _result_type(operation)
    if not operation.count:
        parameters.append(f"out: {returned} | None = None")
    parameters.append("*")
    parameters += [_parameter(item) for item in operation.fields]
    parameters.append("stream: Stream | None = None")
    one_line = f"    def {operation.name}({', '.join(parameters)}) -> {returned}:"
    if len(one_line) <= WIDTH:
        return one_line
    body = "".join(f"        {parameter},\n" for parameter in parameters)
    return f"    def {operation.name}(\n{body}    ) -> {returned}:"


def _parameter(item: Attribute | Option | Scalar) -> str:
    if isinstance(item, Scalar):
        return f"{item.name}: float = {item.default!r}"
    if item.choices:
        return f'{item.name}: str = "{_default_choice(item)}"'
    if item.kind == "bool":
        return f"{item.name}: bool = {bool(item.default)}"
    if item.kind == "dtype":
        return f"{item.name}: object = None"
    if item.text:
        return f'{item.name}: str = ""'
    if item.variable:
        return f"{item.name}: {item.kind} | Sequence[{item.kind}] | None = None"
    if not item.length:
        return f"{item.name}: {item.kind} = {item.default!r}"
    default = "" if item.default is None else f" = {_list_default(item)!r}"
    return f"{item.name}: {item.kind} | Sequence[{item.kind}]{default}"


def _default_choice(item: Attribute) -> str:
    return next(c.name.lower() for c in item.choices if c.value == item.default)


def _list_default(item: Attribute) -> float | tuple[float, ...]:
    """The one value that a fixed list has everywhere, or all of them."""
    values = item.default if isinstance(item.default, tuple) else ()
    return values[0] if len(set(values)) == 1 else values


def _differs(item: Attribute | Option | Scalar) -> str:
    """An expression that is true when the argument is not the default; "" when it always counts."""
    if isinstance(item, Scalar):
        return f"{item.name} != {item.default!r}"
    if item.choices:
        return f'{item.name} != "{_default_choice(item)}"'
    if item.kind == "bool":
        return f"not {item.name}" if item.default else item.name
    if item.text:
        return f'{item.name} != ""'
    if item.variable or item.kind == "dtype":
        return f"{item.name} is not None"
    if not item.length:
        return f"{item.name} != {item.default!r}"
    return "" if item.default is None else f"{item.name} != {_list_default(item)!r}"


def _value(operation: Operation, item: Attribute | Option | Scalar) -> tuple[str, list[str]]:
    """A call that gives the argument as the config struct and the shape rule take it."""
    arguments = [f'"{operation.name}"', f'"{item.name}"', item.name]
    if isinstance(item, Scalar):
        return "as_number", arguments
    if item.choices:
        choices = ", ".join(f'"{c.name.lower()}": {c.value}' for c in item.choices)
        return "as_choice", [*arguments, f"{{{choices}}}"]
    if item.kind == "dtype":
        return "", arguments
    if item.text:
        return "as_codes", arguments
    is_float = item.kind == "float"
    if item.variable or item.length:
        length = "0" if item.variable else str(item.length)
        return "as_numbers" if is_float else "as_list", [*arguments, length]
    return "as_number" if is_float else "as_int", arguments


def _assign(operation: Operation, item: Attribute | Option | Scalar, head: str) -> list[str]:
    """An entry of a dict or an argument: ``head`` and the value, in lines."""
    function, arguments = _value(operation, item)
    if not function:
        return [f"{' ' * 16}{head}{item.name},"]
    return _call(16, head + function, arguments, ",")


def _configuration(operation: Operation) -> list[str]:
    """Statements that make ``config`` and ``attributes`` when an argument is not its default."""
    if not operation.fields and not operation.attributes:
        return []
    conditions = [_differs(item) for item in _listed(operation)]
    always = "" in conditions
    lines = ["        config = NULL"] if operation.config and not always else []
    if operation.attributes and not always:
        lines.append("        attributes: dict[str, object] | None = None")
    if not always:
        lines += _condition(conditions)
    body: list[str] = []
    for item in operation.attributes:
        if not item.field:
            name = item.name
            body.append(f'            refuse_both("{operation.name}", "{name}", {name}, out)')
    if operation.attributes:
        body.append("            attributes = {")
        for item in operation.attributes:
            body += _assign(operation, item, f'"{item.name}": ')
        body.append("            }")
    if operation.config:
        body += ["            config = make_config(", f'                "{operation.config}",']
        body.append(f"                {_counts(operation)},")
        others: list[Option | Scalar] = [*operation.options, *operation.scalars]
        for other in others:
            body += _assign(operation, other, f"{other.name}=")
        if all(item.field for item in operation.attributes):
            body += ["                **attributes,"] if operation.attributes else []
        else:  # the output alone says what the others are
            body += [
                f'                {item.name}=attributes["{item.name}"],'
                for item in operation.attributes
                if item.field
            ]
        body.append("            )")
    return [*lines, *([line[4:] for line in body] if always else body)]


def _counts(operation: Operation) -> str:
    """A dict of the fields that have the lengths of lists."""
    listed = [item for item in operation.attributes if item.length_field]
    items = ", ".join(f'"{item.name}": "{item.length_field}"' for item in listed)
    return f"{{{items}}}"


def _condition(conditions: list[str]) -> list[str]:
    one_line = f"        if {' or '.join(conditions)}:"
    if len(one_line) <= WIDTH:
        return [one_line]
    rest = [f"            or {condition}" for condition in conditions[1:]]
    return ["        if (", f"            {conditions[0]}", *rest, "        ):"]


def _docstring(operation: Operation) -> str:
    items: list[Operand | Attribute | Scalar] = [*operation.inputs, *operation.attributes]
    items += [*operation.options, *operation.scalars]
    texts = [f"``{item.name}``: {item.summary}" for item in items]
    outputs = [output for output in operation.outputs if output.name != operation.count]
    for output in outputs:
        read = f" Read first unless {output.read_with} is 0." if output.read_with else ""
        name = "out" if len(operation.outputs) == 1 else output.name
        texts.append(f"``{name}``: {output.summary}{read}")
    paragraphs = [operation.formula, " ".join(texts)]
    if operation.count:
        paragraphs.append(
            "How large the result is, is read from the device: the call waits for it, also with a "
            f"stream. execute() gives all outputs as they are, {operation.count} included, and "
            "waits for nothing."
        )
    elif operation.variadic_outputs:
        paragraphs.append("Returns a tuple of those that there are.")
    elif len(outputs) > 1:
        paragraphs.append(f"Returns ({', '.join(output.name for output in outputs)}).")
    paragraphs += [
        *operation.notes,
        f"dtypes: {', '.join(operation.dtypes)}.",
    ]
    return docstring(operation.summary, paragraphs, "        ")
