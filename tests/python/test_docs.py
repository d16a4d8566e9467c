"""The manual: what it shows runs, and what it says is all there is."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from pycparser import CParser, c_ast

import wia
import wia.driver
import wia.onnx
import wia_conformance
from wia._config import prefix
from wia.catalog import BY_NAME
from wia.catalog.derivatives import CONSTANT, LACKING, why_not

ROOT = Path(__file__).parents[2]
SNIPPETS = ROOT / "docs" / "snippets"
BROADCAST = (
    "add: a has the shape [4] and b the shape [3], which don't broadcast: counted from the last, "
    "dimensions must be equal or one of them 1\n"
)
PRINTED = {
    "custom_gradient.c": "scale by 3\n",
    "custom_gradient.py": "[0.0, -2.0, 4.0]\n",
    "custom_operation.c": "1 2 3\n3 halved\n",
    "custom_operation.py": "[0.0, -0.5, 1.5]\n[0.0, 0.0, 2.0]\n[0.0, -1.5, 3.5]\n",
    "errors.c": f"INVALID_ARGUMENT in wia_add\n{BROADCAST}",
    "errors.py": f"INVALID_ARGUMENT wia_infer_outputs\n{BROADCAST}NotFoundError\n",
    "import.c": "2 6\ngiven back\n",
    "interop.py": "[0. 2. 4. 6.]\n[7.0, 2.0, 4.0, 6.0]\n[7. 2. 4. 6.] [1.0, 1.0, 1.0, 1.0]\n",
    "fusing_driver.py": "matmul_relu 1 [[13.0, 0.0]]\nrelu, relu 2\n",
    "gradient.c": "grad output 0 1 0 1\n",
    "graphs.py": "33.0\n65.0\n645.0\n0 copy copy ()\n1 kernel matmul (0,)\n2 kernel add (1,)\n"
    'digraph "layer" {\n  node [fontname="sans-serif"];\n'
    '  n0 [shape=cds, label="0: copy\\n256 bytes"];\n'
    '  n1 [shape=box, label="1: matmul\\nfloat32 [1, 64]"];\n'
    '  n2 [shape=box, label="2: add\\nfloat32 [1, 64]"];\n'
    "  n0 -> n1;\n  n1 -> n2;\n}\n\n17.0\n",
    "group.py": "matmul, add, relu 3\n65.0\n",
    "memory.c": "1 1 5 6\noffset 8 of 16, 16 bytes live\n0 bytes in use, reused\n"
    "1 allocated, 1 freed\n",
    "numba_driver.py": "[2.0, 4.0, 6.0]\n",
    "onnx_model.py": "[[5. 5.]]\n('product', 'rectifier')\n",
    "own_driver.py": "[0.0, 2.0]\n"
    "softmax on mirror:0 (float32): mirror has no kernel for softmax.\n",
    "plan.py": "48.0\n",
    "streams.c": "2 8 18 32\n",
    "streams.py": "64.5\n64.0\na frame is done\nDEADLINE_EXCEEDED\n",
    "train.py": "y = 2.00 x + 1.00\n",
    "tensors.py": "(2, 4)\n"
    "[[nan, nan, -1.0, nan, 2.0], [2.0, 2.0, -1.0, -1.0, 1.0]]\n"
    "[[1.0, 0.0], [3.0, 0.0]]\n"
    "2 [[1.0, -2.0], [3.0, 0.0]]\n",
}
NEEDS = {"numba_driver.py": "numba"}
PROGRAMS = sorted(path for path in SNIPPETS.iterdir() if path.suffix in (".c", ".py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.name)
def test_program_prints_what_it_should(program: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(program)]
    if program.suffix == ".c":
        config = str(Path(sysconfig.get_path("scripts"), "wia-config"))
        flags = output(config, "--cflags", "--libs").split()
        built = str(tmp_path / "program")
        output("cc", "-Wall", "-Wextra", "-Werror", str(program), *flags, "-o", built)
        command = [built, "reference:0"]
    elif program.name in NEEDS and importlib.util.find_spec(NEEDS[program.name]) is None:
        pytest.skip(f"{NEEDS[program.name]} is not installed")
    result = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=300, cwd=tmp_path
    )
    assert result.stdout == PRINTED[program.name]
    assert result.stderr == ""


def test_every_program_is_shown() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    shown = set(re.findall(r"\{literalinclude\} \S*/(\S+)", pages))
    assert {path.name for path in PROGRAMS} | {"first.c", "first.py"} <= shown


def output(*command: str, source: str = "") -> str:
    return subprocess.run(
        command, input=source, capture_output=True, text=True, check=True, timeout=300
    ).stdout


# -- the reference --


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The generated pages by their name."""
    pytest.importorskip("sphinx")
    folder = tmp_path_factory.mktemp("docs") / "generated"
    code = "from generated_pages import *; make_pages(Path(sys.argv[1]))"
    subprocess.run(
        [sys.executable, "-c", code, folder], cwd=ROOT / "docs" / "_ext", check=True, timeout=300
    )
    return {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for pattern in ("*.rst", "*.json")
        for path in folder.rglob(pattern)
    }


def test_pages_of_operations_say_what_drivers_have(pages: dict[str, str]) -> None:
    """The drivers that are here say the same; the sample driver was made for the manual."""
    support = json.loads(pages["operations/support.json"])
    assert [row["name"] for row in support["operations"]] == list(BY_NAME)
    assert {"reference", "null", "npu", "emulator", "sample"} >= set(support["drivers"])
    table = pages["operations/support.rst"]
    null = wia.find_device("null:0")
    for row in support["operations"]:
        assert set(row["support"]["null"]) == null.supports(row["name"])
        assert row["support"]["reference"] == row["dtypes"]
        page = pages[f"operations/{row['name']}.rst"]
        for title in ("Operands", "Errors", "Numbers", "Gradient", "Example", "Drivers"):
            assert f"\n{title}\n{'-' * len(title)}\n" in page, (row["name"], title)
        reasons = [why for (name, _), why in CONSTANT.items() if name == row["name"]]
        reasons += [why_not(BY_NAME[row["name"]]), LACKING.get(row["name"], "")]
        assert all(reason in page.replace("\\", "") for reason in reasons), row["name"]
    links = re.findall(r'href="([^"]*)"', table)
    assert set(links) == {f"{name}.html" for name in BY_NAME}
    assert next(row for row in support["operations"] if row["name"] == "add")["support"]["sample"]


@pytest.fixture(scope="module")
def declared() -> list[c_ast.Node]:
    """What a compiler finds in the installed headers."""
    blank = [f"-D{name}=" for name in ("__extension__", "__attribute__(x)", "__restrict")]
    command = ["cc", "-E", "-P", "-std=c11", "-xc", *blank, f"-I{prefix()}/include", "-"]
    return list(CParser().parse(output(*command, source="#include <wia_driver.h>\n")).ext)


def entries(pages: dict[str, str], *kinds: str) -> set[str]:
    """The names of the entries of these kinds, over all pages of headers."""
    pattern = rf"^\.\. c:(?:{'|'.join(kinds)}):: (.*(?:\n {{8,}}.*)*)"
    found = set()
    for name, text in pages.items():
        if name.startswith("abi/"):
            for block in re.findall(pattern, text, re.MULTILINE):
                lines = [line.partition("(")[0] for line in block.split("\n")]
                found |= {line.split()[-1].lstrip("*") for line in lines}
    return found


def test_every_function_has_an_entry(pages: dict[str, str], declared: list[c_ast.Node]) -> None:
    functions = {
        node.name
        for node in declared
        if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.FuncDecl)
    }
    functions = {name for name in functions if name.startswith("wia_")}
    assert len(functions) > 50
    assert entries(pages, "function") == functions


def test_every_type_has_an_entry(pages: dict[str, str], declared: list[c_ast.Node]) -> None:
    types = {node.name for node in declared if isinstance(node, c_ast.Typedef)}
    types = {name for name in types if name.startswith("wia_")}
    assert len(types) > 40
    assert entries(pages, "struct", "union", "type") == types


def test_every_field_and_constant_is_shown(
    pages: dict[str, str], declared: list[c_ast.Node]
) -> None:
    text = "".join(text for name, text in pages.items() if name.startswith("abi/"))
    words = set(re.findall(r"\w+", text))
    names = set(field_and_constant_names(declared))
    assert len(names) > 200
    assert names - words == set()


def field_and_constant_names(declared: list[c_ast.Node]) -> Iterator[str]:
    for node in declared:
        inner = node.type.type if isinstance(node, c_ast.Typedef) else node.type
        if isinstance(inner, c_ast.Struct | c_ast.Union) and (inner.name or "").startswith("wia_"):
            yield from (field.name for field in inner.decls or ())
        elif isinstance(inner, c_ast.Enum):
            yield from (item.name for item in inner.values.enumerators if item.name[-1] != "_")


@pytest.mark.parametrize(
    ("page", "module"),
    [
        ("python.md", wia),
        ("python_driver.md", wia.driver),
        ("onnx.md", wia.onnx),
        ("conformance.md", wia_conformance),
    ],
    ids=["wia", "driver", "onnx", "conformance"],
)
def test_every_public_name_is_on_its_page(page: str, module: object) -> None:
    text = (ROOT / "docs" / "reference" / page).read_text(encoding="utf-8").split("Numba\n")[0]
    part = re.split(r"automodule:: wia\.\w+\.\w+", text)[0]  # a module of its own
    shown = set(re.findall(r"(?:auto\w+|py:data):: (\w+)", part))
    elsewhere = {"DeviceFlag"} if module is wia.driver else set()
    assert shown - {"wia", "wia_conformance"} == set(vars(module)["__all__"]) - elsewhere


def test_every_name_for_numba_is_on_its_page() -> None:
    """Read and not imported: Numba is an extra."""
    page = (ROOT / "docs" / "reference" / "python_driver.md").read_text(encoding="utf-8")
    source = (ROOT / "wia" / "driver" / "numba.py").read_text(encoding="utf-8")
    names = re.findall(r'"(\w+)"', source.partition("__all__ = [")[2].partition("]")[0])
    assert len(names) > 5
    assert set(names) <= set(re.findall(r"\w+", page.split("Numba\n")[1]))


# -- environment variables --


def test_the_environment_is_read_in_one_place() -> None:
    """By platform.c, for the table in env.h and for the options of drivers. The command line looks
    for names that nobody reads."""
    sources = {
        path.name: path.read_text(encoding="utf-8") for path in (ROOT / "hal").rglob("*.[ch]")
    }
    readers = {
        name for name, text in sources.items() if re.search(r"\b(secure_)?getenv\b *\(", text)
    }
    assert readers == {"platform.c"}
    callers = {name for name, text in sources.items() if "wia__get_environment(" in text}
    assert callers == {"platform.c", "platform.h", "env.c", "host.c"}
    python = [*(ROOT / "wia").rglob("*.py"), *(ROOT / "drivers").rglob("*.py")]
    read = re.compile(r"\bos\.(environ|getenv)|import .*\b(environ|getenv)\b")
    readers = {path.name for path in python if read.search(path.read_text(encoding="utf-8"))}
    assert readers == {"_variables.py"}


def test_every_variable_has_an_entry(pages: dict[str, str]) -> None:
    """All that messages, comments and pages mention as a variable is one."""
    shown = {
        name
        for path, page in pages.items()
        for name in re.findall(r"envvar:: (\w+)", page)
        if path == f"environment/{name}.rst"
    }
    assert shown == set(re.findall(r":envvar:`(\w+)`", pages["environment/index.rst"]))
    assert ":doc:`/howto/find_device`" in pages["environment/WIA_DRIVERS.rst"]
    table = (ROOT / "hal" / "env.h").read_text(encoding="utf-8")
    assert shown == set(re.findall(r'"(WIA_\w+)"', table))
    text = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("docs/howto", "docs/explanation", "docs/tutorials")
        for path in (ROOT / folder).rglob("*.md")
    )
    assert set(re.findall(r"\{envvar\}`(\w+)`", text)) <= shown
