"""Interpreters of every kind: linked statically, beside the main one, ended and started anew."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from support import RunPython, install

from wia._config import prefix

DRIVER = """
from wia.driver import Driver, kernel
class Test(Driver):
    name = "test"
    @kernel("relu")
    def relu(self, node):
        def run(x, out):
            out[...] = x
            out[x <= 0] = 0
        return run
"""
USE = """
import wia
with wia.Context("test") as ctx, ctx.stream() as stream:
    out = ctx.relu(ctx.tensor([-1.0, 2.0]), stream=stream)
    assert out.tolist() == [0.0, 2.0]
    stream.synchronize(timeout=30)
"""
SITE_PACKAGES = str(prefix().parent)


# -- a program that has the interpreter in itself --------------------------------------------------


def find_static() -> str | None:
    """A Python of this version without a libpython, as Debian's is."""
    code = "import sys; print(*sys.version_info[:2])"
    for name in ("/usr/bin/python3", f"python3.{sys.version_info.minor}"):
        path = shutil.which(name)
        if path is None:
            continue
        result = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
        libraries = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
        wanted = f"{sys.version_info.major} {sys.version_info.minor}\n"
        if result.stdout == wanted and "libpython" not in libraries.stdout:
            return path
    return None


def test_a_static_python(tmp_path: Path) -> None:
    """It serves Python drivers itself, to C code too; no libpython comes beside it."""
    python = find_static()
    if python is None:
        pytest.skip("no Python of this version is linked statically here")
    install(tmp_path, {"test": DRIVER})
    code = f"""
import ctypes
library = ctypes.CDLL({str(prefix() / "lib" / "libwia.so.0")!r})
device = ctypes.c_int32(-1)
assert library.wia_find_device(b"test", ctypes.byref(device)) == 0
{USE}
assert "libpython" not in open("/proc/self/maps").read()
print("fine")
"""
    path = os.pathsep.join([str(tmp_path), SITE_PACKAGES])
    result = subprocess.run(
        [python, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (result.returncode, result.stdout) == (0, "fine\n"), result.stderr


# -- interpreters beside the main one --------------------------------------------------------------

BESIDE = """
import sys
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
else:
    import _xxsubinterpreters as interpreters

def beside(code):
    create = interpreters.create
    number = create("legacy") if sys.version_info >= (3, 13) else create(isolated=False)
    failure = None
    try:
        failure = interpreters.run_string(number, code)
    except Exception as error:
        failure = error
    interpreters.destroy(number)
    return failure
"""
REFUSED = """
try:
    import wia
except ImportError as error:
    assert "main interpreter alone" in str(error), error
else:
    raise AssertionError("wia was imported")
"""


@pytest.mark.parametrize("first", ["", USE], ids=["first", "after the main one"])
def test_a_subinterpreter(run_python: RunPython, first: str) -> None:
    """`import wia` says that it is for the main interpreter, which goes on.

    Guard: check_interpreter() in hal/bridge/module.c.
    """
    code = f"""
{BESIDE}
{first}
for _ in range(3):
    assert beside({REFUSED!r}) is None
{USE}
print("fine")
"""
    result = run_python(code, {"test": DRIVER})
    assert (result.returncode, result.stdout) == (0, "fine\n"), result.stderr


THREAD = (
    "import threading\nfailures = []\n"
    + """
def body():
    try:
        run()
    except BaseException as error:
        failures.append(error)
thread = threading.Thread(target=body)
thread.start()
thread.join()
assert not failures, failures
"""
)
CALL = """
import ctypes
library = ctypes.{loader}({path!r})
def run():
    device = ctypes.c_int32(-1)
    status = library.wia_find_device(b"test", ctypes.byref(device))
    assert status in {expected}, status
"""


@pytest.mark.parametrize("loader", ["CDLL", "PyDLL"])
def test_c_code_in_a_subinterpreter(run_python: RunPython, loader: str) -> None:
    """A call that needs Python goes to the main interpreter if the thread can; else it is refused.

    With the GIL of the other interpreter in hand it can't: it would wait for itself. A thread that
    this interpreter started can't either: Python knows it there. Guard: wia__attach_thread().
    """
    path = str(prefix() / "lib" / "libwia.so.0")
    refused = {14, 9}  # UNAVAILABLE while Python's side isn't there, then FAILED_PRECONDITION
    # From 3.12 on a thread is known in the interpreter that it was last in.
    possible = {0} if sys.version_info < (3, 12) else {0, *refused}
    call = CALL.format(loader=loader, path=path, expected=possible if loader == "CDLL" else refused)
    thread = CALL.format(loader=loader, path=path, expected=refused)
    code = f"""
{BESIDE}
failure = beside({call + "run()"!r})
assert failure is None, failure
failure = beside({thread + THREAD!r})
assert failure is None, failure
{USE}
print("fine")
"""
    result = run_python(code, {"test": DRIVER})
    assert (result.returncode, result.stdout) == (0, "fine\n"), result.stderr


# -- interpreters one after the other --------------------------------------------------------------

RESTART = r"""
#include <Python.h>
#include <wia.h>

static int fails(const char *name, wia_status_t expected) {
  int32_t id;
  const wia_status_t status = wia_find_device(name, &id);
  if (status == expected) return 0;
  wia_error_info_t info = WIA_ERROR_INFO_INIT;
  wia_get_last_error(&info);
  fprintf(stderr, "%s: %s: %s %s\n", name, wia_get_status_name(status), info.message, info.cause);
  return 1;
}

static int run(const char *code) {
  const int failed = PyRun_SimpleString(code);
  fflush(NULL);
  return failed;
}

int main(int argc, char **argv) {
  (void)argc;
  Py_Initialize();
  if (run(argv[1]) || Py_FinalizeEx()) return 2;
  if (fails("sample", WIA_STATUS_OK) || fails("test", WIA_STATUS_UNAVAILABLE)) return 3;
  Py_Initialize();
  if (run(argv[2]) || Py_FinalizeEx()) return 4;
  return fails("sample", WIA_STATUS_OK) || fails("test", WIA_STATUS_UNAVAILABLE);
}
"""
ENDED = """
for _ in range(2):
    try:
        import wia
    except ImportError as error:
        assert "has ended" in str(error), error
    else:
        raise AssertionError("wia was imported")
"""


@pytest.mark.parametrize("first", ["import wia\nwia.devices()", USE], ids=["imported", "used"])
def test_an_interpreter_started_anew(tmp_path: Path, first: str) -> None:
    """Python drivers end with the interpreter that they came with; native ones go on.

    Guards: the gate; refuse() in hal/bridge/module.c.
    """
    install(tmp_path, {"test": DRIVER})
    source, binary = tmp_path / "restart.c", tmp_path / "restart"
    source.write_text(RESTART)
    get = sysconfig.get_config_var
    python = Path(str(get("LIBDIR")), str(get("INSTSONAME")))
    if not get("Py_ENABLE_SHARED") or not python.is_file():
        pytest.skip("this Python has no shared library to link with")
    folders = [f"-I{sysconfig.get_path('include')}", f"-I{prefix()}/include"]
    libraries = [f"{prefix()}/lib/libwia.so.0", str(python)]
    rpaths = [f"-Wl,-rpath,{prefix()}/lib", f"-Wl,-rpath,{get('LIBDIR')}"]
    command = ["cc", str(source), *folders, *libraries, *rpaths, "-o", str(binary)]
    subprocess.run(command, check=True)
    path = os.pathsep.join([str(tmp_path), SITE_PACKAGES])
    result = subprocess.run(
        [str(binary), first, ENDED],
        env={**os.environ, "PYTHONPATH": path, "PYTHONHOME": sys.base_prefix},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (result.returncode, result.stderr) == (0, "")
