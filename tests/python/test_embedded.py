"""C programs that use drivers written in Python."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support import RunPython, install

from wia._config import prefix

PROGRAM = r"""
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wia.h>

#define TRY(call)                                                               \
  do {                                                                          \
    const wia_status_t status = (call);                                         \
    if (status != WIA_STATUS_OK) {                                              \
      wia_error_info_t info = WIA_ERROR_INFO_INIT;                              \
      wia_get_last_error(&info);                                                \
      fprintf(stderr, "%s\n%s\n%s\n", wia_get_status_name(status), info.message, info.cause); \
      return 1;                                                                 \
    }                                                                           \
  } while (0)

static int work(const char *name, int on_stream) {
  int32_t id;
  wia_context_t *context;
  wia_stream_t *stream;
  wia_tensor_t x, y;
  const int64_t shape[] = {3};
  float values[] = {1, -2, 3};
  TRY(wia_find_device(name, &id));
  TRY(wia_create_context(&context, id));
  TRY(wia_create_stream(&stream, context));
  TRY(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &x));
  TRY(wia_allocate_tensor(context, shape, 1, WIA_FLOAT32, &y));
  TRY(wia_write_tensor(x, values, sizeof values, NULL));
  TRY(wia_relu(context, x, y, on_stream ? stream : NULL));
  TRY(wia_read_tensor(y, values, sizeof values, NULL));
  printf("%g %g %g\n", values[0], values[1], values[2]);
  return 0;
}

static void *in_thread(void *name) { return work(name, 1) ? name : NULL; }

/* Children start anew. */
static int fork_some(const char *name) {
  for (int i = 0; i < 5; i++) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      const int failed = work(name, 0) || work(name, 1);
      fflush(stdout);
      _exit(failed);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status) return 1;
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 2) {
    pthread_t threads[4];
    void *failed = NULL;
    /* before the threads: a fork while another thread runs Python code may hang in Python */
    if (strcmp(argv[2], "fork") == 0 && (work(argv[1], 1) || fork_some(argv[1]))) return 2;
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, in_thread, argv[1]);
    for (int i = 0; i < 4; i++) {
      void *result;
      pthread_join(threads[i], &result);
      if (result) failed = result;
    }
    return failed != NULL;
  }
  if (work(argv[1], 0) || work(argv[1], 1)) return 1;
  struct sigaction action;
  sigaction(SIGINT, NULL, &action);
  return action.sa_handler != SIG_DFL;
}
"""
DRIVER = """
import signal, sys  # importing signal makes Python catch Ctrl-C, if it may
from wia.driver import Driver, kernel
class Test(Driver):
    name = "test"
    def device_count(self):
        return 1
    @kernel("relu")
    def relu(self, node):
        def run(x, out):
            sys.stdout.write(sys.prefix + chr(10))
            out[...] = x
            out[x <= 0] = 0
        return run
"""
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("embedded")
    source, binary = folder / "program.c", folder / "program"
    source.write_text(PROGRAM)
    flags = ["-Wall", "-Werror", f"-I{prefix()}/include", f"{prefix()}/lib/libwia.so.0"]
    command = ["cc", str(source), *flags, f"-Wl,-rpath,{prefix()}/lib", "-pthread"]
    subprocess.run([*command, "-o", str(binary)], check=True)
    return binary


@pytest.fixture
def run(program: Path, tmp_path: Path) -> Run:
    """A function (arguments, driver's source, environment) that runs the C program."""

    def start(*arguments: str, source: str = DRIVER, **environment: str) -> object:
        install(tmp_path, {"test": source})
        path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
        return subprocess.run(
            [str(program), *arguments],
            env={**os.environ, "PYTHONPATH": path, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return start  # type: ignore[return-value]


def test_children(run: Run) -> None:
    """A C program may fork when Python drivers have run in it; the parent goes on.

    Guard: before_fork in start.c.
    """
    result = run("test", "fork")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("1 0 3") == 1 + 4 + 10


def test_a_native_driver_starts_no_python(run: Run) -> None:
    result = run("sample", WIA_LIBPYTHON="/nowhere/libpython.so")
    assert (result.returncode, result.stdout) == (0, "1 0 3\n" * 2), result.stderr


def test_a_python_driver(run: Run) -> None:
    """In the environment that wia is installed in; Ctrl-C still ends the program.

    Guards: find_program and the sigaction() calls in hal/bridge/start.c.
    """
    result = run("test")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[1::2] == ["1 0 3"] * 2
    assert set(lines[::2]) == {sys.prefix}


def test_the_reference_driver(run: Run) -> None:
    result = run("reference")
    assert (result.returncode, result.stdout) == (0, "1 0 3\n" * 2), result.stderr


def test_threads(run: Run) -> None:
    """Four threads ask for Python at once; each works on a stream of its own."""
    result = run("test", "threads")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("1 0 3\n") == 4


@pytest.mark.parametrize(
    ("source", "status", "expected"),
    [
        ("import no_such_module", "INTERNAL", "No module named 'no_such_module'"),
        ("raise SystemExit(7)", "INTERNAL", "raised SystemExit(7)"),
        (DRIVER.replace("return 1", "raise OSError('no bus')"), "INTERNAL", "no bus"),
        (DRIVER.replace("out[...] =", "raise ValueError(3) #"), "INTERNAL", "ValueError: 3"),
        (DRIVER.replace("out[...] =", "sys.exit(3) #"), "CANCELLED", "SystemExit"),
        (DRIVER.replace("out[...] =", "raise KeyboardInterrupt #"), "CANCELLED", "Interrupt"),
    ],
)
def test_failures_are_errors(run: Run, source: str, status: str, expected: str) -> None:
    """Scenario 7 in a C process: the program gets a status, message and traceback, and lives."""
    result = run("test", source=source)
    assert result.returncode == 1
    assert result.stderr.splitlines()[0] == status
    assert expected in result.stderr
    assert "Traceback" in result.stderr


@pytest.mark.parametrize("loader", ["CDLL", "PyDLL"])
def test_a_c_library_in_a_python_process(run_python: RunPython, loader: str) -> None:
    """The interpreter is there already, `wia` is not imported; with the GIL free, and held."""
    code = f"""
import ctypes, sys
wia_library = ctypes.{loader}({str(prefix() / "lib" / "libwia.so.0")!r})
device = ctypes.c_int32(-1)
status = wia_library.wia_find_device(b"null", ctypes.byref(device))
print(status, device.value % 256, "wia._host" in sys.modules)
"""
    result = run_python(code)
    assert result.stdout == "0 0 True\n", result.stderr


def test_without_python(run: Run) -> None:
    result = run("test", WIA_LIBPYTHON="/nowhere/libpython.so")
    assert result.returncode == 1
    assert result.stderr.startswith("UNAVAILABLE")
    assert "/nowhere/libpython.so" in result.stderr


def test_a_python_side_that_is_broken(run: Run, tmp_path: Path) -> None:
    """The traceback of the failed import is in the message."""
    (tmp_path / "_cffi_backend.py").write_text("raise RuntimeError('not the real one')")
    result = run("test")
    assert result.returncode == 1
    assert "RuntimeError: not the real one" in result.stderr
