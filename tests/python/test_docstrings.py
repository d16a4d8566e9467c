"""The examples in docstrings run and give what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import wia
import wia_conformance
import wia_emulator
import wia_npu
import wia_null
import wia_reference

# Needs a package of its own, which is an extra.
OPTIONAL = ("wia.driver.numba", "wia_npu.kernels.")
MODULES = [
    module.name
    for package in (wia, wia_reference, wia_null, wia_npu, wia_emulator, wia_conformance)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.startswith(OPTIONAL) and module.name != "wia._bridge"
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = [t for name in MODULES for t in finder.find(importlib.import_module(name))]
    assert sum(len(test.examples) for test in tests) > 0
