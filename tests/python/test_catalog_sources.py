"""What an entry names as its source is a test that runs the entry: read from the tests themselves.

ONNX's vectors are counted where they run, in test_catalog_onnx.py. Everything else is found in the
syntax of the other tests: one test function, with the tables and helpers of its file that it uses,
has the name of the operation and the names that the source gives.
"""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatchcase
from functools import cache, partial
from pathlib import Path

import pytest

from wia.catalog import OPERATIONS, Operation
from wia.catalog.derivatives import gradient_text

FOLDER = Path(__file__).parent
LIBRARIES = re.compile(r"\b(?:numpy|scipy|math|int|torch\.nn\.functional)((?:\.\w+)+)")
BY_WAY_OF = re.compile(r"\bby way of (\w+)")
VECTORS = re.compile(r"ONNX node tests?|among ONNX's models")

Words = tuple[frozenset[str], frozenset[str]]
"""The texts and the names in a piece of code."""


def words_of(node: ast.AST) -> Words:
    """Those of a piece of code itself, its docstrings left out."""
    texts, names = set(), set()
    for item in ast.walk(node):
        if isinstance(item, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "*" for part in item.values]
            texts.add("".join(map(str, parts)))
        elif isinstance(item, ast.Constant) and isinstance(item.value, str):
            texts.add(item.value)
        elif isinstance(item, ast.Name):
            names.add(item.id)
        elif isinstance(item, ast.Attribute):
            names.add(item.attr)
    return frozenset(texts), frozenset(names)


def names_of(statement: ast.stmt) -> list[str]:
    """What a statement of a module defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    targets = [statement.target] if isinstance(statement, ast.AnnAssign) else targets
    return [
        item.id for target in targets for item in ast.walk(target) if isinstance(item, ast.Name)
    ]


def functions_in(source: str) -> dict[str, Words]:
    """Each test function of a file, with all that it uses of the file."""
    own: dict[str, Words] = {}
    for statement in ast.parse(source).body:
        for name in names_of(statement):
            own[name] = words_of(statement)
    found = {}
    for name in own:
        if not name.startswith("test_"):
            continue
        seen, waiting = set(), [name]
        while waiting:
            current = waiting.pop()
            if current not in seen:
                seen.add(current)
                waiting += [other for other in own[current][1] if other in own]
        texts, names = zip(*(own[item] for item in seen), strict=True)
        found[name] = (frozenset().union(*texts), frozenset().union(*names))
    return found


@cache
def all_tests() -> dict[str, Words]:
    """Those of the catalog's meaning, by file and name.

    Tests of gradients are about the operations that have them.
    """
    files = [*FOLDER.glob("test_catalog_*.py"), FOLDER / "test_gradients_torch.py"]
    return {
        f"{path.stem}::{name}": words
        for path in sorted(files)
        if path.stem not in ("test_catalog_entries", "test_catalog_sources")
        for name, words in functions_in(path.read_text(encoding="utf-8")).items()
    }


def has_text(texts: frozenset[str], wanted: str) -> bool:
    """Whether a text is there, or is made by an f-string of which something is there."""
    made = (text for text in texts if "*" in text and text.strip("*"))
    return wanted in texts or any(fnmatchcase(wanted, text) for text in made)


def missing(operation: Operation, tests: dict[str, Words]) -> list[str]:
    """The parts of a source that no test is found for."""
    lacking = []
    for part in operation.source.split("; "):
        if VECTORS.search(part):
            continue
        if part == "finite differences":
            programs = (gradient_text(other) for other in OPERATIONS)
            found = any(re.search(rf"\b{operation.name}\(", text) for text in programs)
        else:
            tails = {match.rpartition(".")[2] for match in LIBRARIES.findall(part)}
            name = operation.name.removesuffix("_gradient") if "torch." in part else operation.name
            texts = {name, *BY_WAY_OF.findall(part)}
            found = any(
                all(map(partial(has_text, own[0]), texts)) and tails <= own[1]
                for own in tests.values()
            )
        if not found:
            lacking.append(part)
    return lacking


def test_every_source_is_a_test() -> None:
    assert {op.name: gone for op in OPERATIONS if (gone := missing(op, all_tests()))} == {}


@pytest.mark.parametrize(
    ("name", "part"), [("erf", "scipy.special.erf"), ("fma", "exact fractions"), ("conv2d", "conv")]
)
def test_a_source_without_a_test_is_found(name: str, part: str) -> None:
    """Without the tests that have the operation's name, and without the name of the function."""
    (operation,) = (op for op in OPERATIONS if op.name == name)
    others = {key: own for key, own in all_tests().items() if name not in own[0]}
    assert any(part in gone for gone in missing(operation, others))
    stripped = {key: (own[0] - {"conv"}, own[1] - {"erf"}) for key, own in all_tests().items()}
    assert bool(missing(operation, stripped)) == (name != "fma")
