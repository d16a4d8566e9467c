"""Writes the C source of the extension module wia._bridge.

Every declaration comes from the headers: they are preprocessed, parsed, and given to cffi again as
its cdef. For each function pointer that a Python driver fills, three things are made from its type:
an `extern "Python"` function, a gate in front of it (bridge.h), and the declaration of the gate.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import cffi
from pycparser import CParser, c_ast
from pycparser.c_generator import CGenerator

HEADERS = ("wia.h", "wia_driver.h")
# What the bridge needs of internal headers; the rest of them stays hidden.
INTERNAL_HEADERS = ("registry.h", "python.h", "env.h", "host.h")
INTERNAL_NAMES = {"wia__bridge_t", "wia__set_bridge", "wia__get_libpython"}
INTERNAL_NAMES |= {"wia__variable_t", "wia__get_variable", "wia__tell_error"}
# Structs whose function pointers are entries into Python, and stand-alone function types.
ENTRY_STRUCTS = ("wia_driver_t", "wia__bridge_t", "wia_driver_kernel_t")
ENTRY_TYPES = {
    "wia_kernel_fn_t": "launch",
    "wia_host_fn_t": "host_function",
    "wia_event_fn_t": "event_function",
    "wia_log_fn_t": "log_function",
    "wia_gradient_fn_t": "gradient",
    "wia_infer_fn_t": "infer",
    "wia_prepare_fn_t": "prepare_kernel",
}
INTEGER_TYPES = [f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)]
STUBS = {
    "stdint.h": "\n".join(
        [f"typedef int {name};" for name in [*INTEGER_TYPES, "intptr_t", "uintptr_t"]]
        + ["#define INT64_C(value) value"]
    ),
    "stdarg.h": "typedef int va_list;",
    "stdbool.h": "typedef int bool;",
    "stddef.h": "typedef int size_t;",
    "pthread.h": "typedef int pthread_mutex_t;",
}
STUB_NAMES = {*INTEGER_TYPES, "intptr_t", "uintptr_t", "va_list", "bool", "size_t"}
STUB_NAMES.add("pthread_mutex_t")

# For call.h: functions of cffi, which only the code it generates can reach. NULL, perhaps with
# an exception set, when the object is no pointer of that type.
_POINTERS = """
void *wia__to_pointer(PyObject *cdata, PyObject *ctype) {
  return _cffi_to_c_pointer(cdata, (struct _cffi_ctypedescr *)ctype);
}

PyObject *wia__from_pointer(void *pointer, PyObject *ctype) {
  return _cffi_from_c_pointer((char *)pointer, (struct _cffi_ctypedescr *)ctype);
}
"""


def preprocess(source: str, include: list[Path], compiler: str) -> str:
    """The preprocessed text of a C source, with stubs in place of the system's headers."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in STUBS.items():
            Path(folder, name).write_text(text + "\n", encoding="utf-8")
        command = [compiler, "-E", "-P", "-nostdinc", "-DWIA_API=", "-D__attribute__(x)="]
        command += [f"-I{path}" for path in [Path(folder), *include]]
        result = subprocess.run(
            [*command, "-"], input=source, capture_output=True, text=True, check=False
        )
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{result.stderr}")
    return result.stdout


def parse(text: str) -> list[c_ast.Node]:
    """The top-level declarations, those of the stubs and inline functions left out."""
    nodes = CParser().parse(text).ext or []
    return [
        node
        for node in nodes
        if isinstance(node, c_ast.Decl | c_ast.Typedef) and node.name not in STUB_NAMES
    ]


def function_pointers(nodes: list[c_ast.Node]) -> Iterator[tuple[str, c_ast.FuncDecl]]:
    """Name and type of each function pointer that Python may stand behind."""
    for node in nodes:
        inner = getattr(node.type, "type", None)
        struct = inner if isinstance(inner, c_ast.Struct) else node.type
        if isinstance(node, c_ast.Typedef) and node.name in ENTRY_TYPES:
            yield ENTRY_TYPES[node.name], node.type.type
        if not isinstance(struct, c_ast.Struct) or not struct.decls:
            continue
        if struct.name not in ENTRY_STRUCTS and node.name not in ENTRY_STRUCTS:
            continue
        for field in struct.decls:
            if isinstance(field.type, c_ast.PtrDecl) and isinstance(
                field.type.type, c_ast.FuncDecl
            ):
                yield field.name, field.type.type


def declare(function: c_ast.FuncDecl, old: str, new: str) -> str:
    """The declaration of a function of that type under a new name."""
    text = CGenerator().visit(function)
    return re.sub(rf"\b{re.escape(old)}\b", new, text, count=1)


def make_gate(name: str, function: c_ast.FuncDecl, declared_as: str) -> tuple[str, str, str]:
    """The declarations of the Python function and of its gate, and the gate's definition."""
    python = declare(function, declared_as, f"wia__py_{name}")
    gate = declare(function, declared_as, f"wia__gate_{name}")
    generator = CGenerator()
    parameters = [(p.name, generator.visit(p.type)) for p in function.args.params]
    names = ", ".join(parameter for parameter, _ in parameters)
    call = f"wia__py_{name}({names})"
    if generator.visit(function.type).split()[0] == "void":
        body = f"if (wia__enter_gate()) {{\n    {call};\n    wia__leave_gate();\n  }}"
    else:
        error = "NULL"
        for parameter, kind in parameters:
            if "wia_error_t *" in kind:
                error = parameter
            elif "wia_kernel_args_t *" in kind:
                error = f"{parameter}->out_error"
        body = (
            f"if (!wia__enter_gate())\n    return wia__refuse_at_gate({error});\n"
            f"  const wia_status_t answer = {call};\n  wia__leave_gate();\n  return answer;"
        )
    return python, gate, f"{gate} {{\n  {body}\n}}"


def write_source(output: Path, include: list[Path], here: Path, compiler: str) -> None:
    """Writes the module's C source to output."""
    names = "".join(f'#include "{name}"\n' for name in HEADERS)
    public = parse(preprocess(names + '#include "bridge.h"\n', [*include, here], compiler))
    sources = "".join(f'#include "{name}"\n' for name in INTERNAL_HEADERS)
    internal = parse(preprocess(sources, [*include, here.parent], compiler))
    internal = [node for node in internal if node.name in INTERNAL_NAMES]
    pythons, gates, definitions = [], [], []
    types = {entry: kind for kind, entry in ENTRY_TYPES.items()}
    for name, function in function_pointers([*public, *internal]):
        declared_as = types.get(name, name)
        if name == "fn":
            continue
        python, gate, definition = make_gate(name, function, declared_as)
        pythons.append(python)
        gates.append(gate)
        definitions.append(definition)
    generator = CGenerator()
    internal_text = "".join(generator.visit(node) + ";\n" for node in internal)
    cdef = "".join(generator.visit(node) + ";\n" for node in public) + internal_text
    cdef += "#define WIA_TIMEOUT_INFINITE ...\n"
    cdef += "".join(f'extern "Python" {python};\n' for python in pythons)
    cdef += "".join(f"{gate};\n" for gate in gates)
    preamble = "#define PyInit__bridge wia__init_bridge\n"  # the other one is in module.c
    preamble += names + '#include "bridge.h"\n' + internal_text
    preamble += "".join(f"static {python};\n" for python in pythons)
    preamble += "\n".join(f"static {definition}" for definition in definitions)
    preamble += _POINTERS
    ffi = cffi.FFI()
    ffi.cdef(cdef)
    ffi.set_source("wia._bridge", preamble)
    output.parent.mkdir(parents=True, exist_ok=True)
    ffi.emit_c_code(str(output))


def main() -> None:
    """The command line, as CMakeLists.txt uses it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True, help="the C file to write")
    parser.add_argument("--include", type=Path, action="append", required=True, metavar="DIR")
    parser.add_argument("--compiler", default="cc", help="used to preprocess the headers")
    arguments = parser.parse_args()
    here = Path(__file__).resolve().parent
    write_source(arguments.output, arguments.include, here, arguments.compiler)


if __name__ == "__main__":
    main()
