"""Dependencies point one way: wia, then drivers and the conformance suite on its public parts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = re.compile(r"wia(_\w+)?(\.|$)")


def imports(path: Path) -> Iterator[str]:
    """The modules that a file names, also inside functions; relative ones start with a dot."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (f"{node.module}." if node.module else "")
            # `from wia import _x` and `from wia import driver` name modules too.
            dot = "" if module.endswith(".") else "."
            yield from (f"{module}{dot}{alias.name}" for alias in node.names)


def ours(path: Path) -> Iterator[str]:
    yield from (name for name in imports(path) if OURS.match(name))


def python_files(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def is_private(module: str) -> bool:
    return any(re.match(r"_(?!_)", part) for part in module.split("."))


@pytest.mark.parametrize("path", python_files("wia"), ids=name_of)
def test_wia_imports_no_driver(path: Path) -> None:
    assert [name for name in ours(path) if name.split(".")[0] != "wia"] == []


@pytest.mark.parametrize("path", python_files("wia/catalog"), ids=name_of)
def test_the_catalog_imports_nothing_of_wia(path: Path) -> None:
    """So that the build can use it before wia is there. Relative imports stay inside it."""
    assert [name for name in imports(path) if OURS.match(name) or name.startswith("..")] == []


@pytest.mark.parametrize(
    "path", python_files("drivers", "conformance", "examples", "benchmarks"), ids=name_of
)
def test_others_use_the_public_parts(path: Path) -> None:
    """A driver imports itself and wia; nobody reaches into what is private."""
    parts = path.relative_to(ROOT).parts
    own = parts[1] if parts[0] in ("drivers", "conformance") else None
    foreign = [name for name in ours(path) if name.split(".")[0] not in ("wia", own)]
    private = [name for name in ours(path) if name.split(".")[0] != own and is_private(name)]
    assert foreign + private == []


def includes(path: Path) -> list[str]:
    return re.findall(r'^#\s*include\s*[<"]([^>"]+)', path.read_text(encoding="utf-8"), re.M)


def c_files(folder: str) -> list[Path]:
    return sorted(path for path in (ROOT / folder).rglob("*.[ch]"))


@pytest.mark.parametrize("path", c_files("hal"), ids=name_of)
def test_the_core_knows_no_python(path: Path) -> None:
    if path.parent.name != "bridge":
        assert "Python.h" not in includes(path)


@pytest.mark.parametrize(
    "path", [path for f in ("include", "drivers", "examples") for path in c_files(f)], ids=name_of
)
def test_public_code_includes_no_internal_header(path: Path) -> None:
    internal = {header.name for header in (ROOT / "hal").glob("*.h")}
    beside = {header.name for header in path.parent.glob("*.h")}
    used = {name for name in includes(path) if name in internal and name not in beside}
    assert used == set()


def test_the_rules_see_a_violation(tmp_path: Path) -> None:
    """The functions above find what they look for."""
    path = tmp_path / "bad.py"
    path.write_text("def f():\n    from wia import _native\n    import wia_null.kernels\n")
    assert list(ours(path)) == ["wia._native", "wia_null.kernels"]
    assert is_private("wia._native")
    assert not is_private("wia.__init__")
