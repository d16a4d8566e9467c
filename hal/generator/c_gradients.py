"""gradients_table.c: the gradients of operations as the core runs them."""

from __future__ import annotations

from .model import Operation, Program, Step, Term, gradient_of, why_not
from .text import c_double, c_wrap

_TOP = """\
/* gradients_table.c: gradients as programs. Made from wia/catalog/: change it there. */
#include <stddef.h>

#include "gradient.h"
"""
_MAX_SLOTS = 128


def make(operations: tuple[Operation, ...]) -> str:
    """The text of the file. Raises ValueError for a program that names what isn't there."""
    by_name = {operation.name: operation for operation in operations}
    parts, entries = [_TOP], []
    for operation in operations:
        program = gradient_of(operation)
        if program is None:
            entries.append(f'    {{.reason = "{why_not(operation)}"}}')
            continue
        _check(operation, program, by_name)
        parts.append(_tables(operation, program, by_name))
        entries.append(_entry(operation, program))
    body = ",\n".join(entries)
    parts.append(f"const wia__gradient_program_t wia__gradient_programs[] = {{\n{body},\n}};\n")
    return "\n".join(parts)


def _check(operation: Operation, program: Program, by_name: dict[str, Operation]) -> None:
    known, slots = {*program.slots, f"*{operation.inputs[0].name}"}, program.all_slots
    if len(slots) > _MAX_SLOTS:
        raise ValueError(f"the gradient of {operation.name} has more than {_MAX_SLOTS} names")
    for step in program.steps:
        what = f"the gradient of {operation.name}: {step.to} = {step.op}"
        if step.op not in by_name:
            raise ValueError(f"{what}: no operation has that name")
        used = by_name[step.op]
        names = {item.name for item in used.attributes} | {item.name for item in used.scalars}
        if unknown := step.values.keys() - names:
            raise ValueError(f"{what} has no attribute {', '.join(sorted(unknown))}")
        if unknown := set(step.inputs) - known:
            raise ValueError(f"{what} takes {', '.join(sorted(unknown))}, which nothing made")
        if not used.required <= len(step.inputs) <= used.most:
            raise ValueError(f"{what} takes {len(step.inputs)} inputs")
        if step.output and step.output not in {output.name for output in used.outputs}:
            raise ValueError(f"{what} has no output {step.output}")
        if step.to in program.slots:
            raise ValueError(f"{what}: {step.to} is an operand of the operation")
        known.add(step.to)


def _tables(operation: Operation, program: Program, by_name: dict[str, Operation]) -> str:
    name, slots = operation.name, program.all_slots
    lines = [_array("const char *const", f"{name}_slots", [f'"{slot}"' for slot in slots])]
    targets = [f"d_{operand.name}" for operand in operation.inputs]
    numbers = [str(slots.index(slot)) if slot in slots else "-1" for slot in targets]
    lines.append(_array("const int16_t", f"{name}_targets", numbers))
    steps = []
    for number, step in enumerate(program.steps):
        prefix = f"{name}_{number}"
        lines += _step_arrays(prefix, step, slots)
        steps.append(_step(prefix, step, slots, by_name[step.op]))
    body = ",\n".join(steps)
    lines.append(f"static const wia__gradient_step_t {name}_steps[] = {{\n{body},\n}};\n")
    return "\n".join(lines)


def _array(kind: str, name: str, items: list[str]) -> str:
    return c_wrap(f"static {kind} {name}[] = {{", items, "};")


def _step_arrays(prefix: str, step: Step, slots: list[str]) -> list[str]:
    lines = []
    if step.inputs:
        numbers = [
            "WIA__LIST" if name[0] == "*" else str(slots.index(name)) for name in step.inputs
        ]
        lines.append(_array("const uint16_t", f"{prefix}_inputs", numbers))
    if step.values:
        items = [f'{{"{name}", {_terms(terms, slots)}}}' for name, terms in step.values.items()]
        lines.append(_array("const wia__gradient_attribute_t", f"{prefix}_values", items))
    return lines


def _terms(terms: tuple[Term, ...], slots: list[str]) -> str:
    items = ", ".join(_term(term, slots) for term in terms)
    return f"{{(const wia__term_t[]){{{items}}}, {len(terms)}}}"


def _term(term: Term, slots: list[str]) -> str:
    kind = f"WIA__TERM_{term.kind.upper()}"
    if term.kind == "named":
        return f"{{WIA__TERM_NUMBER, 0, WIA_{term.slot.upper()}}}"
    if term.kind == "number":
        return f"{{{kind}, 0, {c_double(term.number)}}}"
    index = slots.index(term.slot) if term.slot else int(term.number)
    return f"{{{kind}, {index}, 0}}"


def _step(prefix: str, step: Step, slots: list[str], used: Operation) -> str:
    outputs = [output.name for output in used.outputs]
    parts: dict[str, object] = {
        "op": f"WIA_OP_{step.op.upper()}",
        "to": slots.index(step.to),
        "output": outputs.index(step.output) if step.output else 0,
        "inputs": f"{prefix}_inputs" if step.inputs else "NULL",
        "attributes": f"{prefix}_values" if step.values else "NULL",
        "input_count": len(step.inputs),
        "attribute_count": len(step.values),
    }
    if step.condition:
        parts["condition"] = _terms(step.condition, slots)
    return c_wrap("    {", [f".{key} = {value}" for key, value in parts.items()], "}")


def _entry(operation: Operation, program: Program) -> str:
    name = operation.name
    parts = {
        "steps": f"{name}_steps",
        "names": f"{name}_slots",
        "targets": f"{name}_targets",
        "step_count": len(program.steps),
        "slot_count": len(program.all_slots),
        "list": int(operation.variadic),
    }
    return c_wrap("    {", [f".{key} = {value}" for key, value in parts.items()], "}")
