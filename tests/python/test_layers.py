"""Layers: the list of them, and switching them on for a statement or for good."""

from __future__ import annotations

import pytest
from support import RunPython

import wia


def test_layers_are_on_inside_of_the_statement(run_python: RunPython) -> None:
    code = """
import pathlib
import wia
on = lambda: [layer.name for layer in wia.layers() if layer.enabled]
with wia.enable_layer("trace") as layer:
    print(layer, on())
    wia.enable_layer("trace")
print(on())
wia.disable_layer("trace")
print(on(), pathlib.Path("t.json").stat().st_size > 0)
"""
    done = run_python(code, environment={"WIA_LAYERS": "", "WIA_TRACE_FILE": "t.json"})
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "EnabledLayer('trace') ['trace']",
        "['trace']",
        "[] True",
    ]


def test_names_that_are_none() -> None:
    for change in (wia.enable_layer, wia.disable_layer):
        with pytest.raises(
            wia.NotFoundError, match='no layer is called "tracer"; there are validate, trace'
        ):
            change("tracer")


def test_what_is_off_cannot_be_disabled(run_python: RunPython) -> None:
    done = run_python("import wia; wia.disable_layer('trace')", environment={"WIA_LAYERS": ""})
    assert "FailedPreconditionError: the layer trace is not on" in done.stderr


def test_descriptions_are_lines() -> None:
    for layer in wia.layers():
        assert layer.description.strip() == layer.description != ""
        assert "\n" not in layer.description
