"""An example of each operation: Python that runs, what it prints, and the same call in C.

They are made from the samples of the catalog. tests/python/test_operation_examples.py runs all of
them, and compiles all calls in C.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import textwrap
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import rst

from wia.catalog import (
    BY_NAME,
    Attribute,
    Operation,
    Sample,
    evaluate,
    input_dtypes,
    make_inputs,
    sample_values,
)

__all__ = ["Example", "example_section", "make_example", "run_python"]

_WIDTH = 84
_READABLE = 48
_LONGEST = 64
_SHOWN = 8
_DTYPES = ("float32", "int32", "uint8")


@dataclass(frozen=True, kw_only=True)
class Example:
    """One call: arrays by the names of its inputs (None: left out), and values as semantics take
    them. `operands` are the names of its inputs and outputs in C.
    """

    operation: Operation
    inputs: dict[str, Any]
    values: dict[str, Any]
    python: str
    c: str
    operands: tuple[str, ...]


def make_example(name: str) -> Example:
    """The example of an operation."""
    operation = BY_NAME[name]
    dtype, sample = _choose(operation)
    inputs = _inputs(operation, sample, dtype)
    values = sample_values(operation, sample, dtype)
    results = _results(operation, inputs, values)
    given = {name: array for name, array in inputs.items() if array is not None}
    listed = [name if array is not None else "NULL" for name, array in inputs.items()]
    outputs = [output.name for output in operation.outputs[: len(results)]]
    return Example(
        operation=operation,
        inputs=inputs,
        values={name: _as_given(value) for name, value in values.items()},
        python=_python(operation, inputs, values),
        c=_c(operation, listed, values, results),
        operands=(*given, *outputs),
    )


def run_python(example: Example) -> tuple[str, dict[str, Any]]:
    """What the Python of an example prints, and the names that it sets."""
    names: dict[str, Any] = {}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(example.python, names)
    return printed.getvalue(), names


def example_section(name: str) -> list[str]:
    """The section of an operation's page."""
    example = make_example(name)
    printed, _ = run_python(example)
    lines = rst.title("Example", "-")
    lines += rst.code("python", example.python)
    lines += ["It prints:", "", *rst.code("text", printed)]
    return [*lines, "In C, on tensors like these:", "", *rst.code("c", example.c)]


# -- the call --------------------------------------------------------------------------------------


def _choose(operation: Operation) -> tuple[str, Sample]:
    """The first sample that reads well: small, not empty, with plain numbers."""
    found = []
    for place, sample in enumerate(operation.samples):
        dtypes = sample.dtypes or operation.dtypes
        dtype = next((name for name in _DTYPES if name in dtypes), dtypes[0])
        inputs = _inputs(operation, sample, dtype)
        values = sample_values(operation, sample, dtype)
        if operation.outputs_read({**operation.defaults(), **values}):
            continue
        sizes = [array.size for array in inputs.values() if array is not None]
        sizes += [array.size for array in _results(operation, inputs, values)]
        odd = any(fill in ("special", "wide") for fill in sample.fills)
        odd |= any(
            isinstance(value, float) and not math.isfinite(value) for value in values.values()
        )
        worth = (0 in sizes, odd, max(sizes) > _READABLE, max(sizes) < 2, place)
        found.append((worth, dtype, sample))
    _, dtype, sample = min(found, key=lambda item: item[0])
    return dtype, sample


def _inputs(operation: Operation, sample: Sample, dtype: str) -> dict[str, Any]:
    """Arrays by the names of the inputs, None where left out; floats with two places."""
    dtypes = tuple(_numpy_dtype(name) for name in input_dtypes(operation, dtype, sample))
    with np.errstate(all="ignore"):
        arrays = make_inputs(np, operation, sample, dtypes)
    names = [operand.name for operand in operation.inputs]
    if operation.variadic:
        names = [f"{operation.inputs[0].name}{place}" for place in range(len(arrays))]
    return dict(zip(names, map(_rounded, arrays), strict=True))


def _rounded(array: Any) -> Any:
    """Floats with two places; of many plain ones a pattern that is short to write."""
    if array is None or array.dtype.kind not in "fc":
        return array
    if array.dtype.kind == "f" and array.size > _LONGEST and (array < 0).any():
        return _pattern(array.shape).astype(array.dtype)
    with np.errstate(all="ignore"):
        return np.round(array, 2)


def _pattern(shape: tuple[int, ...]) -> Any:
    return ((np.arange(math.prod(shape)) * 5 % 17 - 8) / 4).reshape(shape)


def _as_given(value: Any) -> Any:
    """A value as semantics take it: dtypes are numpy's."""
    return _numpy_dtype(value) if isinstance(value, str) else value


def _results(operation: Operation, inputs: dict[str, Any], values: dict[str, Any]) -> Any:
    given = {name: _as_given(value) for name, value in values.items()}
    return evaluate(np, operation, list(inputs.values()), {**operation.defaults(), **given})


def _numpy_dtype(name: str) -> np.dtype[Any]:
    return np.dtype(name if hasattr(np, name) else getattr(ml_dtypes, name))


# -- Python ----------------------------------------------------------------------------------------


def _python(operation: Operation, inputs: dict[str, Any], values: dict[str, Any]) -> str:
    results_of = _results(operation, inputs, values)
    lines = []
    for name, array in inputs.items():
        if array is not None:
            lines += _literal(name, array)
    arguments = [name if array is not None else "None" for name, array in inputs.items()]
    while arguments and arguments[-1] == "None":
        arguments.pop()
    if operation.variadic:
        arguments = [f"[{', '.join(arguments)}]"]
    kinds = {item.name: item for item in operation.attributes}
    arguments += [
        f"{name}={_value(kinds.get(name), value)}"
        for name, value in values.items()
        if value is not None
    ]
    made = operation.outputs[: len(results_of)]
    results = [output.name for output in made if output.name != operation.count]
    call = f"{', '.join(results)} = ctx.{operation.name}("
    if len(call) + len(", ".join(arguments)) < _WIDTH:
        lines.append(f"{call}{', '.join(arguments)})")
    else:
        lines += [call, *(f"    {argument}," for argument in arguments), ")"]
    for place, name in enumerate(results):
        if results_of[place].size <= _LONGEST:
            lines.append(f"print({name}.numpy())")
        else:
            lines.append(f"print({name}.shape, {name}.numpy().ravel()[:{_SHOWN}])")
    body = textwrap.indent("\n".join(lines) + "\n", "    ")
    text = f'import wia\n\nwith wia.Context("reference") as ctx:\n{body}'
    return f"import numpy as np\n\n{text}" if "np." in body else text


def _literal(name: str, array: Any) -> list[str]:
    """The lines that make a tensor."""
    start, end = f"{name} = ctx.tensor(", f', dtype="{array.dtype.name}")'
    if array.size > _LONGEST and array.dtype.kind == "f" and (array == _pattern(array.shape)).all():
        size, shape = array.size, ", ".join(map(str, array.shape))
        return [
            f"{name} = ((np.arange({size}) * 5 % 17 - 8) / 4).reshape({shape})",
            f'{name} = ctx.tensor({name}, dtype="{array.dtype.name}")',
        ]
    text = repr(_plain(array))
    if len(start + text + end) <= _WIDTH:
        return [start + text + end]
    body = textwrap.wrap(
        text, _WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False
    )
    return [start, *body[:-1], body[-1] + ",", f'    dtype="{array.dtype.name}",', ")"]


def _plain(array: Any) -> Any:
    """Nested lists, of floats with their two places."""
    if array.dtype.kind in "biuc":
        return array.tolist()
    return np.round(array.astype(np.float64), 2).tolist()


def _value(item: Attribute | None, value: Any) -> str:
    """An attribute or a scalar as Python takes it."""
    if item is None:
        return repr(value)
    if item.text:
        return json.dumps("".join(map(chr, value)))
    if item.choices:
        names = {choice.value: choice.name.lower() for choice in item.choices}
        if not isinstance(value, tuple):
            return f'"{names[value]}"'
        return f"[{', '.join(json.dumps(names[one]) for one in value)}]"
    if item.kind == "bool" and not isinstance(value, tuple):
        return repr(bool(value))
    return json.dumps(value) if isinstance(value, str) else repr(value)


# -- C ---------------------------------------------------------------------------------------------


def _c(operation: Operation, inputs: list[str], values: dict[str, Any], results: Any) -> str:
    lines = [
        f"/* {output.name}: {array.dtype.name} [{', '.join(map(str, array.shape))}] */"
        for output, array in zip(operation.outputs, results, strict=False)
    ]
    config = "NULL"
    if operation.config:
        set_fields = [line for item in values.items() for line in _c_field(operation, *item)]
        if set_fields:
            config = "&config"
            lines.append(
                f"{operation.config} config = {operation.config.removesuffix('_t').upper()}_INIT;"
            )
            lines += set_fields
    made = [output.name for output in operation.outputs[: len(results)]]
    operands = [*inputs, *made, *["NULL"] * (len(operation.outputs) - len(made))]
    if operation.variadic:
        lines.append(f"const wia_tensor_t inputs[] = {{{', '.join(inputs)}}};")
        operands = ["inputs", str(len(inputs)), *operands[len(inputs) :]]
    arguments = ["context", *operands, *([config] if operation.config else []), "NULL"]
    head = f"wia_status_t status = wia_{operation.name}("
    call = textwrap.wrap(
        f"{head}{', '.join(arguments)});", _WIDTH, subsequent_indent=" " * len(head)
    )
    return "\n".join([*lines, *call]) + "\n"


def _c_field(operation: Operation, name: str, value: Any) -> list[str]:
    item = next((item for item in operation.attributes if item.name == name), None)
    if item is None:
        return [f"config.{name} = {value!r};"]
    if not item.field or value is None:
        return []  # what the output says
    constants = {
        choice.value: f"{item.enum.removesuffix('_t').upper()}_{choice.name}"
        for choice in item.choices
        if item.enum
    }
    if not isinstance(value, tuple):
        return [f"config.{name} = {constants.get(value, _c_number(value))};"]
    lines = [f"config.{item.length_field} = {len(value)};"] if item.length_field else []
    return lines + [
        f"config.{name}[{i}] = {constants.get(one, _c_number(one))};"
        for i, one in enumerate(map(chr, value) if item.text else value)
    ]


def _c_number(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else repr(value)  # of a text: in quotes
