"""The installed headers: every one compiles alone, as C11 and C++17; the ABI is the golden one."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pycparser import CParser, c_ast
from pycparser.c_generator import CGenerator

import wia
from wia._config import prefix

INCLUDE = prefix() / "include"
GOLDENS = Path(__file__).parents[1] / "golden"
HEADERS = sorted(str(path.relative_to(INCLUDE)) for path in INCLUDE.rglob("*.h"))
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
C11 = ["cc", "-std=c11", "-xc"]
CXX17 = ["c++", "-std=c++17", "-xc++"]
LANGUAGES = pytest.mark.parametrize("compiler", [C11, CXX17], ids=["c11", "c++17"])
VERSIONS = (
    *(f"WIA_VERSION_{part}" for part in ("MAJOR", "MINOR", "PATCH")),
    *("WIA_DRIVER_ABI_MAJOR", "WIA_DRIVER_ABI_MINOR"),
)
# Made by the library only: a program never writes one.
LIBRARY_STRUCTS = {
    "wia_error_t",
    "wia_gradient_args_t",
    "wia_infer_args_t",
    "wia_memory_request_t",
    "wia_tensor_layout_t",
}


def compile_source(compiler: list[str], source: str, *options: str) -> None:
    command = [*compiler, *WARNINGS, f"-I{INCLUDE}", "-", *options]
    result = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@LANGUAGES
@pytest.mark.parametrize("header", HEADERS)
def test_compiles_alone(compiler: list[str], header: str) -> None:
    compile_source(compiler, f'#include "{header}"\n#include "{header}"\n', "-fsyntax-only")


@LANGUAGES
def test_init_macros(compiler: list[str], tmp_path: Path) -> None:
    """Each is an initialiser, and can be assigned."""
    macros = init_macros()
    assert len(macros) > 10
    checks = [
        f"  {{ {struct} value = {macro}; bad |= value.struct_size != sizeof(value);\n"
        f"    value.struct_size = 0; value = {macro};\n"
        f"    bad |= value.struct_size != sizeof(value); }}\n"
        for macro, struct in macros.items()
    ]
    source = "#include <wia_driver.h>\nint main(void) {\n  int bad = 0;\n"
    source += "".join(checks) + "  return bad;\n}\n"
    compile_source(compiler, source, "-o", str(tmp_path / "program"))
    assert subprocess.run([tmp_path / "program"], check=False).returncode == 0


def test_every_struct_of_a_program_has_an_init_macro() -> None:
    sized = {
        name
        for name, struct in structs("wia.h")
        if struct.decls and struct.decls[0].name == "struct_size"
    }
    made = set(init_macros().values())
    assert sized - LIBRARY_STRUCTS <= made
    assert made <= {name for name, _ in structs("wia_driver.h")}


def test_abi_only_grows(golden: Callable[[str, str], None], abi: list[tuple[str, ...]]) -> None:
    """What was recorded is as it was, and what was added is recorded: pytest --update-goldens.

    That refuses to record a break of the ABI under the version that promises not to make it.
    """
    record((GOLDENS / "abi.txt").read_text(encoding="utf-8"), abi, golden)


def record(text: str, now: list[tuple[str, ...]], golden: Callable[[str, str], None]) -> None:
    """Compares the ABI with the recorded text, or records it, where it may become what it is."""
    recorded = [tuple(line.split(" ")) for line in text.splitlines()]
    application = {name for name, _ in structs("wia.h")} | {*constants("wia.h"), *functions()}
    broken = forbidden(breaks(recorded, now), application, versions(recorded), versions(now))
    assert not broken, "\n".join(
        [
            "Only another version of the library, or of the driver ABI, may take away or change "
            "this; see docs/explanation/abi_policy.md:",
            *(" ".join(line) for line in broken),
        ]
    )
    golden("abi.txt", "".join(" ".join(line) + "\n" for line in now))


def versions(lines: list[tuple[str, ...]]) -> tuple[tuple[int, int], int]:
    """What a break raises: of the library the major, before 1.0 the minor, and the driver ABI's."""
    known = {name: int(rest[0]) for kind, name, *rest in lines if kind == "enum"}
    major, minor, _, driver, _ = (known.get(name, 0) for name in VERSIONS)
    return (major, 0 if major else minor), driver


def forbidden(
    broken: list[tuple[str, ...]],
    application: set[str],
    before: tuple[tuple[int, int], int],
    now: tuple[tuple[int, int], int],
) -> list[tuple[str, ...]]:
    """Breaks that no version was raised for; what isn't declared any more may be of both ABIs."""
    drivers = {name for name, _ in structs("wia_driver.h")} | {*constants("wia_driver.h")}
    of_library, of_driver = now[0] > before[0], now[1] > before[1]
    found = []
    for line in broken:
        name = line[1].partition(".")[0]
        gone = name not in application | drivers
        raised = (of_library or not (gone or name in application)) and (
            of_driver or not (gone or name not in application)
        )
        found += [] if raised else [line]
    return found


@pytest.mark.parametrize(
    ("now", "broken"),
    [
        ("struct a 8|field a.struct_size 0 4|field a.b 4 4|enum B 1|function f int f(void)", False),
        ("struct a 16|field a.struct_size 0 4|field a.b 4 4|field a.c 8 8|enum B 1|enum C 2|"
         "function f int f(void)|function g int g(void)", False),
        ("struct a 8|field a.struct_size 0 4|field a.c 4 4|enum B 1|function f int f(void)", True),
        ("struct a 8|field a.struct_size 0 4|field a.b 4 4|enum B 2|function f int f(void)", True),
        ("struct a 8|field a.struct_size 0 4|field a.b 4 4|enum B 1", True),
        ("struct a 8|field a.struct_size 0 4|field a.b 4 4|enum B 1|function f int f(int)", True),
        ("struct a 4|field a.struct_size 0 4|field a.b 4 4|enum B 1|function f int f(void)", True),
    ],
)  # fmt: skip
def test_breaks_are_told_from_growth(now: str, broken: bool) -> None:
    before = "struct a 8|field a.struct_size 0 4|field a.b 4 4|enum B 1|function f int f(void)"
    lines = [[tuple(line.split(" ")) for line in text.split("|")] for text in (before, now)]
    assert bool(breaks(*lines)) is broken
    frozen = [[line for line in part if "struct_size" not in line[1]] for part in lines]
    grown = ("struct", "a", "16") in frozen[1]
    assert bool(breaks(*frozen)) is (broken or grown)


@pytest.mark.parametrize(
    ("taken", "raised", "refused"),
    [
        ("function wia_create_context", "", True),
        ("function wia_create_context", "WIA_VERSION_PATCH", True),
        ("function wia_create_context", "WIA_DRIVER_ABI_MAJOR", True),
        ("function wia_create_context", "WIA_VERSION_MINOR", False),
        ("function wia_create_context", "WIA_VERSION_MAJOR", False),
        ("enum WIA_STATUS_NOT_FOUND", "", True),
        ("field wia_memory_info_t.kind", "", True),
        ("type wia_kernel_args_t.", "", True),
        ("struct wia_driver_streams_t", "WIA_VERSION_MAJOR", True),
        ("struct wia_driver_streams_t", "WIA_DRIVER_ABI_MINOR", True),
        ("struct wia_driver_streams_t", "WIA_DRIVER_ABI_MAJOR", False),
        ("", "", False),
    ],
)
def test_a_break_is_recorded_only_under_another_version(
    abi: list[tuple[str, ...]], taken: str, raised: str, refused: bool
) -> None:
    """Also with --update-goldens: here what is recorded was there once, and has changed since."""
    changed = [
        (*line[:-1], line[-1] + "1") if taken and " ".join(line).startswith(taken) else line
        for line in abi
    ]
    assert bool(taken) == (changed != abi)
    now = [
        (*line[:2], str(int(line[2]) + 1)) if line[:2] == ("enum", raised) else line for line in abi
    ]
    written: list[str] = []
    text = "".join(" ".join(line) + "\n" for line in changed)
    outcome: Any = (
        pytest.raises(AssertionError, match=re.escape(taken)) if refused else nullcontext()
    )
    with outcome:
        record(text, now, lambda name, text: written.append(name))
    assert written == ([] if refused else ["abi.txt"])


def test_what_is_gone_may_be_of_both_abis() -> None:
    """So both versions have to be raised."""
    line = ("function", "wia_of_the_past", "int")
    old = ((1, 0), 1)
    assert forbidden([line], set(), old, ((2, 0), 1)) == [line]
    assert forbidden([line], set(), old, ((1, 0), 2)) == [line]
    assert forbidden([line], set(), old, ((2, 0), 2)) == []


def breaks(recorded: list[tuple[str, ...]], now: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The recorded lines that don't hold now. A struct that tells its size may be longer."""
    sizes = {name: int(rest[0]) for kind, name, *rest in now if kind == "struct"}
    growing = {name.split(".")[0] for _, name, *_ in recorded if name.endswith(".struct_size")}
    kept = set(now)
    return [
        line
        for line in recorded
        if line not in kept
        and line[1] not in VERSIONS
        and not (
            line[0] == "struct" and line[1] in growing and sizes.get(line[1], 0) > int(line[2])
        )
    ]


def test_structs_have_no_hidden_padding(abi: list[tuple[str, ...]]) -> None:
    ends: dict[str, int] = {}
    for kind, name, *numbers in abi:
        if kind == "field":
            struct, offset, size = name.split(".")[0], *map(int, numbers)
            assert offset in (ends.get(struct, 0), 0), f"a gap in front of {name}"
            ends[struct] = max(ends.get(struct, 0), offset + size)
    sizes = {name: int(numbers[0]) for kind, name, *numbers in abi if kind == "struct"}
    assert sizes == ends


def test_structs_that_grow_are_in_no_array() -> None:
    """Whoever counts in elements would count in those of another version."""
    all_structs = list(structs("wia_driver.h"))
    growing = {name for name, struct in all_structs if struct.decls[0].name == "struct_size"}
    found = {kind for _, struct in all_structs for kind in arrays(struct.decls)}
    for node in declarations("wia_driver.h"):
        function = getattr(node.type, "type", None) if isinstance(node, c_ast.Typedef) else node
        function = getattr(function, "type", function)
        if isinstance(function, c_ast.FuncDecl):
            found.update(arrays(function.args.params if function.args else []))
    assert {"wia_shape_t", "wia_attribute_t", "wia_extension_operation_t"} <= found
    assert not found & growing


def arrays(members: list[c_ast.Node]) -> Iterator[str]:
    """Types of elements: of arrays, and of pointers beside a count of their name."""
    names = {getattr(member, "name", None) for member in members}
    for member in members:
        kind = getattr(member, "type", None)
        counted = f"{str(member.name).removesuffix('s')}_count" in names
        if isinstance(kind, c_ast.ArrayDecl) or (isinstance(kind, c_ast.PtrDecl) and counted):
            element = getattr(kind.type, "type", None)
            yield from element.names if isinstance(element, c_ast.IdentifierType) else ()


def test_a_struct_without_a_size_is_frozen() -> None:
    """And says so; what only goes from the library to a callback tells its size."""
    text = "".join((INCLUDE / header).read_text(encoding="utf-8") for header in HEADERS)
    for name, struct in structs("wia_driver.h"):
        if struct.decls[0].name != "struct_size":
            comments = re.findall(
                r"/\*((?:(?!\*/).)*)\*/\s*typedef (?:struct|union) " + name, text, re.S
            )
            assert any("Frozen" in comment for comment in comments), name


def test_the_soname_has_the_major_version() -> None:
    (library,) = prefix().rglob("libwia.so.0")
    command = ["readelf", "-d", str(library)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    major = wia.__version__.split(".")[0]
    assert re.findall(r"\(SONAME\).*\[(.*)\]", output) == [f"libwia.so.{major}"]


def test_library_exports_what_the_headers_declare() -> None:
    """And beside it only wia__ names, which are the bridge's."""
    declared = set(functions())
    (library,) = prefix().rglob("libwia.so.0")
    command = ["nm", "-D", "--defined-only", str(library)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1].partition("@")[0] for line in output.splitlines()}
    assert {name for name in exported if not name.startswith("wia__")} == declared


@pytest.fixture(scope="module")
def abi(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, ...]]:
    """The lines that a C program prints which is made from the headers."""
    lines = []
    for name, struct in structs("wia_driver.h"):
        lines.append(f'  printf("struct {name} %zu\\n", sizeof({name}));\n')
        lines += [
            f'  printf("field {name}.{field.name} %zu %zu\\n", offsetof({name}, {field.name}), '
            f"sizeof((({name} *)0)->{field.name}));\n"
            for field in struct.decls
        ]
    lines += [
        f'  printf("enum {name} %ld\\n", (long){name});\n' for name in constants("wia_driver.h")
    ]
    source = "#include <stddef.h>\n#include <stdio.h>\n#include <wia_driver.h>\nint main(void) {\n"
    program = tmp_path_factory.mktemp("abi") / "program"
    compile_source(C11, source + "".join(lines) + "  return 0;\n}\n", "-o", str(program))
    output = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    numbers = [tuple(line.split()) for line in output.splitlines()]
    texts = [("type", name, *text.split()) for name, text in types().items()]
    texts += [("function", name, *text.split()) for name, text in functions().items()]
    return numbers + texts


def types() -> dict[str, str]:
    """The types of fields, and of typedefs that are no structs, as they are written.

    So a callback or an entry of a driver's table keeps its parameters, and a field its sign.
    """
    generator = CGenerator()
    found = {
        node.name: generator.visit(node.type)
        for node in declarations("wia_driver.h")
        if isinstance(node, c_ast.Typedef)
        and node.name.startswith("wia_")
        and not isinstance(getattr(node.type, "type", None), c_ast.Struct | c_ast.Union)
    }
    for name, struct in structs("wia_driver.h"):
        found |= {f"{name}.{field.name}": generator.visit(field.type) for field in struct.decls}
    return found


def functions() -> dict[str, str]:
    """The prototypes of all functions that the headers declare."""
    generator = CGenerator()
    return {
        node.name: generator.visit(node)
        for node in declarations("wia_driver.h")
        if isinstance(node, c_ast.Decl)
        and isinstance(node.type, c_ast.FuncDecl)
        and node.name.startswith("wia_")
    }


def init_macros() -> dict[str, str]:
    """The _INIT macros, and the struct that each one is for."""
    text = "".join((INCLUDE / header).read_text(encoding="utf-8") for header in HEADERS)
    names = re.findall(r"^#define (WIA_\w+_INIT)\b", text, re.MULTILINE)
    return {name: name.removesuffix("_INIT").lower() + "_t" for name in sorted(set(names))}


@cache
def declarations(header: str) -> list[c_ast.Node]:
    # What pycparser doesn't know of the system's headers is defined away.
    blank = [f"-D{name}=" for name in ("__extension__", "__attribute__(x)", "__restrict")]
    command = ["cc", "-E", "-P", "-std=c11", "-xc", *blank, f"-I{INCLUDE}", "-"]
    source = f"#include <{header}>\n"
    text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    return list(CParser().parse(text).ext)


def structs(header: str) -> Iterator[tuple[str, c_ast.Struct | c_ast.Union]]:
    """The complete structs and unions of WIA by their typedef's name."""
    bodies: dict[str, c_ast.Struct | c_ast.Union] = {}
    names: dict[str, str] = {}
    for node in declarations(header):
        inner = node.type if isinstance(node, c_ast.Decl) else getattr(node.type, "type", None)
        if not isinstance(inner, c_ast.Struct | c_ast.Union):
            continue
        if inner.decls:
            bodies[inner.name] = inner
        if isinstance(node, c_ast.Typedef):
            names[inner.name] = node.name
    for tag, body in bodies.items():
        if names[tag].startswith("wia_"):
            yield names[tag], body


def constants(header: str) -> Iterator[str]:
    for node in declarations(header):
        if isinstance(getattr(node, "type", None), c_ast.Enum) and node.type.values:
            yield from (item.name for item in node.type.values.enumerators)
