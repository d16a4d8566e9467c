"""Pages of the manual: an index and one page per operation."""

from __future__ import annotations

from .c_header import signature, sized
from .config import fields, init_macro
from .model import (
    CONSTANT,
    LACKING,
    Attribute,
    Operation,
    Option,
    gradient_text,
    why_not,
)


def make(operations: tuple[Operation, ...]) -> dict[str, str]:
    """The texts of the pages by file name."""
    pages = {f"{operation.name}.rst": _page(operation) for operation in operations}
    pages["index.rst"] = _index(operations)
    pages["gradients.rst"] = _gradients(operations)
    return pages


def _index(operations: tuple[Operation, ...]) -> str:
    rows = [["Number", "Operation", "What it does", "Standard"]]
    for operation in operations:
        standard = operation.standard
        name = f"ONNX {standard.name} {standard.opset}" if standard else ""
        rows.append([str(operation.number), f":doc:`{operation.name}`", operation.summary, name])
    names = "\n".join(f"   {operation.name}" for operation in operations)
    return "\n".join(
        [
            _title("Operations", "="),
            "All operations of this version, made from the catalog in ``wia/catalog/``. Every one "
            "has a function in ``wia/ops.h`` and a method of :py:class:`wia.Context`; "
            ":doc:`support` tells which driver has which of them.\n",
            _table(rows),
            f".. toctree::\n   :hidden:\n\n   support\n{names}\n",
        ]
    )


def _page(operation: Operation) -> str:
    parts = [
        _title(operation.name, "="),
        f"{operation.summary}\n",
        f".. code-block:: text\n\n   {operation.formula}\n",
        f":c:func:`wia_{operation.name}`, :py:meth:`wia.Context.{operation.name}`\n",
        _code("c", signature(operation) + ";"),
        _title("Operands", "-"),
        _table(_operands(operation)),
    ]
    listed = (*operation.attributes, *operation.options)
    if listed or operation.scalars:
        parts += [_title("Attributes and scalars", "-"), _table(_values(operation))]
        if operation.config:
            parts.append(
                f"In C they are fields of a struct, which begins as ``{init_macro(operation)}``:\n"
            )
            parts.append(_code("c", _struct(operation)))
    notes = [*operation.notes, *([sized(operation)] if operation.count else [])]
    if notes:
        parts += [_title("Rules", "-"), *(f"- {_escape(note)}" for note in notes), ""]
    parts += [_title("Errors", "-"), _table(_errors(operation))]
    parts += [_title("Numbers", "-"), _table(_numbers(operation))]
    parts += [_title("Gradient", "-"), *_gradient(operation)]
    return "\n".join(parts)


def _gradients(operations: tuple[Operation, ...]) -> str:
    """All programs, and why the others have none."""
    rows = [["Operation", "Why it has no gradient"]]
    parts = [
        _title("Gradients", "="),
        "The gradient of each operation as a program of others, from the catalog in "
        "``wia/catalog/``. ``grad`` is the gradient of the first output, ``d_...`` that of an "
        "input; of several lines for one name the first whose condition holds is it.\n",
    ]
    for operation in operations:
        text = gradient_text(operation)
        if text:
            parts += [f":doc:`{operation.name}`\n", *_gradient(operation)[1:]]
        else:
            rows.append([f":doc:`{operation.name}`", _escape(why_not(operation))])
    return "\n".join([*parts, _title("None", "-"), _table(rows)])


def _gradient(operation: Operation) -> list[str]:
    text = gradient_text(operation)
    if not text:
        return [f"None: {_escape(why_not(operation))}.\n"]
    told = "``grad`` is the gradient of the first output, ``d_...`` that of an input:\n"
    name = operation.name
    less = [f"There is none {_escape(LACKING[name])}.\n"] if name in LACKING else []
    less += [
        f"``{operand}`` has none: {_escape(why)}.\n"
        for (of, operand), why in CONSTANT.items()
        if of == name
    ]
    return [told, _code("text", text), *less]


def _operands(operation: Operation) -> list[list[str]]:
    rows = [["Operand", "Kind", "Shape"]]
    for operand in operation.inputs:
        kind = "input, may be left out" if operand.optional else "input"
        kind = "inputs, a list" if operation.variadic else kind
        kind += f", {' or '.join(operand.dtypes)}" if operand.dtypes else ""
        rows.append([f"``{operand.name}``", kind, _escape(operand.summary)])
    for output in operation.outputs:
        kind = f"output; also read unless {output.read_with} is 0" if output.read_with else "output"
        kind += ", may be left out" if output.optional else ""
        rows.append([f"``{output.name}``", kind, _escape(output.summary)])
    return rows


def _values(operation: Operation) -> list[list[str]]:
    rows = [["Name", "Kind", "Default", "Meaning"]]
    for item in (*operation.attributes, *operation.options):
        kind = "option" if isinstance(item, Option) else "attribute"
        choices = " ".join(f"{choice.name}: {choice.summary}" for choice in item.choices)
        default = "not given" if item.default is None else f"``{item.default}``"
        rows.append([f"``{item.name}``", kind, default, _escape(f"{item.summary} {choices}")])
    for scalar in operation.scalars:
        summary = _escape(scalar.summary)
        rows.append([f"``{scalar.name}``", "scalar", f"``{scalar.default}``", summary])
    return rows


def _errors(operation: Operation) -> list[list[str]]:
    """What the library answers before a kernel runs."""
    lead = operation.inputs[operation.lead] if operation.lead >= 0 else operation.output
    bad = "INVALID_ARGUMENT"
    rows = [
        ["Status", "When"],
        [
            bad,
            f"``{lead.name}`` has a dtype that *Numbers* doesn't list, or another's doesn't fit.",
        ],
    ]
    rows.append([bad, "Shapes that *Operands* and *Rules* don't allow."])
    for item in (*operation.attributes, *operation.options):
        limits = _limits(item)
        if limits:
            rows.append([bad, f"``{item.name}`` is {limits}."])
    if operation.inputs:
        rows.append([bad, "An output overlaps another operand and isn't the same tensor."])
    rows += [
        [bad, "An operand or the stream is of another device than the context."],
        ["INVALID_HANDLE", "An operand, the context or the stream was destroyed."],
        ["UNIMPLEMENTED", "The driver has no kernel for these dtypes: :doc:`support`."],
    ]
    return rows


def _limits(item: Attribute | Option) -> str:
    """What a value is that is refused; "" for one that is only looked at beside the shapes."""
    if item.choices:
        return "none of its choices"
    if item.kind not in ("int", "float") or item.text:
        return ""
    least, most = item.range
    ends = [f"below {least:.10g}"] if abs(least) < 2**62 else []
    ends += [f"above {most:.10g}"] if abs(most) < 2**62 else []
    return " or ".join([*ends, *(["not a number"] if item.kind == "float" else [])])


def _struct(operation: Operation) -> str:
    lines = []
    for field in fields(operation):
        array = f"[{field.length}]" if field.length else ""
        lines.append(f"  {field.c_type} {field.name}{array};")
    body = "\n".join(lines)
    return f"typedef struct {operation.config} {{\n{body}\n}} {operation.config};"


def _numbers(operation: Operation) -> list[list[str]]:
    lead = operation.lead
    leading = operation.inputs[lead] if lead >= 0 else operation.output
    rows = [
        ["Property", "Value"],
        ["Number", f"``WIA_OP_{operation.name.upper()}`` = {operation.number}"],
        [f"dtypes of {leading.name}", ", ".join(operation.dtypes)],
        ["Tolerance", f"{operation.tolerance.ulps} ulp. {_escape(operation.tolerance.reason)}"],
    ]
    if operation.standard:
        standard = operation.standard
        note = f" ({_escape(standard.note)})" if standard.note else ""
        rows.append(["Standard", f"ONNX {standard.name}, opset {standard.opset}{note}"])
    rows.append(["Checked against", _escape(operation.source)])
    return rows


def _escape(text: str) -> str:
    """Text in which reStructuredText sees no markup."""
    return "".join(f"\\{char}" if char in "\\*`|_" else char for char in text).strip()


def _title(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n"


def _code(language: str, text: str) -> str:
    body = "\n".join(f"   {line}".rstrip() for line in text.split("\n"))
    return f".. code-block:: {language}\n\n{body}\n"


def _table(rows: list[list[str]]) -> str:
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in rows:
        for position, cell in enumerate(row):
            start = "   * - " if position == 0 else "     - "
            lines.append((start + cell).rstrip())
    return "\n".join(lines) + "\n"
