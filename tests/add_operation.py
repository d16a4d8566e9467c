"""Adds an operation to a copy of the tree, at one place, and looks where it arrives.

The copy is built without optimisation. Then the header, the function in C, the Python method, the
page of the manual, the gradient, the matrix of support and the conformance cases have it, and it
runs on the reference driver.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("cmake", "conformance", "drivers", "hal", "include", "wia", "wia_command", "wia_drivers.d")

MODULE = "functions"
ENTRY = """
CUBE = unary(
    4711,
    "cube",
    "Third power.",
    "output = input^3",
    lifted(lambda np, x: x * x * x),
    tolerance=roundings(lambda np, x: x * x * x, 2, "Two roundings"),
    gradient="d_input = grad * (3 * (input * input))",
    source="values worked by hand",
)
"""

PROGRAM = r"""
#include <stdio.h>
#include <wia.h>
int main(void) {
  const int64_t shape[] = {3};
  float x[] = {-2, 0.5f, 3}, y[3];
  int32_t device;
  wia_context_t *context;
  wia_tensor_t input, output;
  if (wia_find_device("reference", &device) || wia_create_context(&context, device) ||
      wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &input) ||
      wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &output) ||
      wia_write_tensor(input, x, sizeof x, NULL) || wia_cube(context, input, output, NULL) ||
      wia_read_tensor(output, y, sizeof y, NULL))
    return 1;
  printf("%d %g %g %g\n", WIA_OP_CUBE, y[0], y[1], y[2]);
  return 0;
}
"""

SCRIPT = """
import wia
with wia.Context("reference") as ctx:
    x = ctx.tensor([-2.0, 0.5, 3.0])
    assert ctx.cube(x).tolist() == [-8.0, 0.125, 27.0]
    assert wia.grad(ctx.cube)(x)[0].tolist() == [12.0, 0.75, 27.0]
    assert ctx.device.supports("cube") >= {"float32", "float64", "float16", "bfloat16"}
    assert "Third power." in wia.Context.cube.__doc__
with wia.Context("npu") as ctx:
    assert not ctx.device.supports("cube")
    try:
        ctx.cube(ctx.tensor([1.0]))
    except wia.UnimplementedError as error:
        assert "cube" in str(error) and "npu" in str(error) and "float32" in str(error)
    else:
        raise SystemExit("the simulator has a kernel for cube")
"""


def main() -> int:
    """Copy, add, build, look."""
    with tempfile.TemporaryDirectory(prefix="wia-operation-") as folder:
        tree = Path(folder, "tree")
        copy_tree(tree)
        before = count_lines(tree)
        add_entry(tree / "wia" / "catalog" / f"{MODULE}.py")
        changed = {path for path, text in count_lines(tree).items() if before[path] != text}
        expect(changed == {Path("wia", "catalog", f"{MODULE}.py")}, f"changed: {changed}")
        build = Path(folder, "build")
        build_library(tree, build)
        site = Path(folder, "site")
        assemble(tree, build, site)
        check_files(build)
        check_programs(Path(folder), build, site)
    print("one entry in one file: header, C, Python, manual, gradient, support, conformance")
    return 0


def expect(holds: bool, what: str) -> None:
    """End with a message unless something holds."""
    if not holds:
        raise SystemExit(f"add_operation.py: {what}")


def run(*command: str | Path, environment: Mapping[str, str] | None = None) -> str:
    """Run a command, and end with what it said if it fails; else return what it printed."""
    done = subprocess.run(
        list(map(str, command)),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **(environment or {})},
        cwd=tempfile.gettempdir(),  # no package of this tree is found there
        check=False,
    )
    expect(done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def copy_tree(tree: Path) -> None:
    """What the build needs, without what it has left behind."""
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "build")
    for part in PARTS:
        shutil.copytree(ROOT / part, tree / part, ignore=ignored)
    shutil.copy(ROOT / "CMakeLists.txt", tree)


def count_lines(tree: Path) -> dict[Path, str]:
    """The text of each file of the copy."""
    return {
        path.relative_to(tree): path.read_text(encoding="utf-8", errors="replace")
        for path in tree.rglob("*")
        if path.is_file()
    }


def add_entry(module: Path) -> None:
    """Write the entry into a module of the catalog, and its name into the module's list."""
    text = module.read_text(encoding="utf-8")
    listed = "OPERATIONS = ("
    expect(text.count(listed) == 1, f"{module.name} has no list of entries")
    module.write_text(text.replace(listed, f"{ENTRY}\n{listed}\n    CUBE,"), encoding="utf-8")


def build_library(tree: Path, build: Path) -> None:
    """The library and the bridge, as quickly as a compiler makes them."""
    options = ["-GNinja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS=-O0 -g0"]
    options.append(f"-DPython_EXECUTABLE={sys.executable}")
    run("cmake", "-S", tree, "-B", build, *options)
    run("cmake", "--build", build, "--parallel", "2")
    run(
        sys.executable, "-B", tree / "hal" / "generate.py", "--docs", build / "docs"
    )  # fmt: skip


def assemble(tree: Path, build: Path, site: Path) -> None:
    """A folder of packages as an installation has it."""
    for part in ("wia", "wia_command", "wia_drivers.d"):
        shutil.copytree(tree / part, site / part)
    for package in [*(tree / "drivers").iterdir(), tree / "conformance" / "wia_conformance"]:
        if (package / "__init__.py").is_file():
            shutil.copytree(package, site / package.name)
    shutil.copy(build / "generated" / "_operations.py", site / "wia")
    (bridge,) = (build / "hal" / "bridge").glob("_bridge*.so")
    shutil.copy(bridge, site / "wia")
    (site / "wia" / "lib").mkdir()
    shutil.copy(build / "hal" / "libwia.so.0", site / "wia" / "lib")
    info = Path(str(distribution("wia").locate_file("."))) / f"wia-{distribution('wia').version}"
    shutil.copytree(f"{info}.dist-info", site / f"{info.name}.dist-info")


def check_files(build: Path) -> None:
    """What is generated names the operation."""
    header = (build / "generated" / "include" / "wia" / "ops.h").read_text(encoding="utf-8")
    expect("WIA_OP_CUBE = 4711" in header and "wia_cube(" in header, "ops.h lacks it")
    page = (build / "docs" / "operations" / "cube.rst").read_text(encoding="utf-8")
    expect("output = input^3" in page, "its page lacks the formula")


def check_programs(folder: Path, build: Path, site: Path) -> None:
    """C, Python and the conformance suite run it."""
    source, binary = folder / "cube.c", folder / "cube"
    source.write_text(PROGRAM, encoding="utf-8")
    include = [f"-I{build / 'generated' / 'include'}", f"-I{folder / 'tree' / 'include'}"]
    library = site / "wia" / "lib" / "libwia.so.0"
    run("cc", *include, source, library, f"-Wl,-rpath,{library.parent}", "-o", binary)
    environment = {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    printed = run(binary, environment=environment)
    expect(printed == "4711 -8 0.125 27\n", f"C printed {printed}")
    run(sys.executable, "-c", SCRIPT, environment=environment)
    command = [sys.executable, "-m", "wia_conformance", "run", "--device", "reference:0"]
    printed = run(*command, "--filter", "cube/*", environment=environment)
    expect("passed" in printed, f"the conformance suite printed\n{printed}")


if __name__ == "__main__":
    sys.exit(main())
