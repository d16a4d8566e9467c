"""What the generator makes of forms of entries, checked by a compiler and by Python's parser."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "hal"))

# Imported by name, with the catalog as a package of its own: see generator/model.py.
generate = import_module("generate")
model = import_module("generator.model")

RELU = next(operation for operation in model.OPERATIONS if operation.name == "relu")


def made(**more: Any) -> Any:
    """An entry like relu, but for what is given."""
    return replace(RELU, **{"number": 7000, "name": "made", **more})


def floats(name: str, default: Any, **more: Any) -> Any:
    """An attribute of floats."""
    field = {"kind": "float", "field": "double", **more}
    return model.Attribute(name=name, summary="Numbers.", default=default, **field)


VALUE, INDEX = (model.Operand(name=name, summary="Any.") for name in ("values", "indices"))
LENGTH = model.Operand(name="length", summary="How many.")
FORMS = {
    "several outputs": made(outputs=(VALUE, INDEX)),
    "an output left out": made(outputs=(VALUE, replace(INDEX, optional=True))),
    "a size from data": made(
        outputs=(replace(VALUE, sized=True), replace(INDEX, sized=True), LENGTH), count="length"
    ),
    "one result and its size": made(outputs=(replace(VALUE, sized=True), LENGTH), count="length"),
    "no inputs": made(inputs=()),
    "several outputs of a list": made(variadic=True, outputs=(VALUE, INDEX)),
    "floats": made(
        attributes=(
            floats("ratio", 0.5),
            floats("scales", (), length=8, variable=True, length_field="scale_count"),
            floats("pair", (0.0, 1.0), length=2),
            floats("limit", 1.0, minimum=0.0, maximum=2.0),
        ),
        scalars=(model.Scalar(name="seed", summary="A number.", default=1.0),),
        config="wia_made_config_t",
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str, tmp_path: Path) -> None:
    """C compiles without a warning, as C and as C++; Python parses; pages have all names."""
    operation = FORMS[form]
    operations = (*model.OPERATIONS, operation)
    (tmp_path / "wia").mkdir()
    (tmp_path / "wia" / "ops.h").write_text(generate.c_header.make(operations))
    (tmp_path / "calls.c").write_text(generate.c_calls.make(operations))
    (tmp_path / "table.c").write_text(generate.c_table.make(operations))
    use = '#include "wia.h"\n'
    if operation.config:
        use += "wia_made_config_t make(void);\n"
        use += "wia_made_config_t make(void) { return WIA_MADE_CONFIG_INIT; }\n"
    (tmp_path / "use.c").write_text(use)
    (tmp_path / "use.cpp").write_text(use)
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-D_GNU_SOURCE"]
    paths = [f"-I{path}" for path in (tmp_path, ROOT / "include", ROOT / "hal")]
    for source in ("calls.c", "table.c", "use.c"):
        subprocess.run(["cc", "-std=c11", *flags, *paths, str(tmp_path / source)], check=True)
    subprocess.run(["c++", "-std=c++17", *flags, *paths, str(tmp_path / "use.cpp")], check=True)
    method = next(
        node
        for node in ast.walk(ast.parse(generate.python_api.make(operations)))
        if isinstance(node, ast.FunctionDef) and node.name == "made"
    )
    assert [a.arg for a in method.args.args][: 1 + len(operation.inputs)] == [
        "self",
        *(operand.name for operand in operation.inputs),
    ]
    has_out = "out" in [argument.arg for argument in method.args.args]
    assert has_out != bool(operation.count)
    page = generate.pages.make(operations)["made.rst"]
    for item in (*operation.inputs, *operation.outputs, *operation.fields):
        assert f"``{item.name}``" in page
    assert page.count("INVALID_ARGUMENT") >= 3


def test_numbers_are_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gaps are good; a number or a name for the second time is told."""
    monkeypatch.setattr(generate, "OPERATIONS", (RELU, made()))
    assert generate.checked_operations() == (RELU, made())
    monkeypatch.setattr(generate, "OPERATIONS", (RELU, made(number=RELU.number)))
    with pytest.raises(ValueError, match=f"relu and made both have the number {RELU.number}"):
        generate.checked_operations()
    monkeypatch.setattr(generate, "OPERATIONS", (RELU, made(name="relu")))
    with pytest.raises(ValueError, match="two operations have the name relu"):
        generate.checked_operations()
