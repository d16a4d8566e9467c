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
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
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

static _Atomic int stop;
static void *in_threads(void *name) {
  void *failed = NULL;
  while (!stop && !failed) failed = in_thread(name);
  return failed;
}

/* Children start anew. */
static int fork_some(const char *name, int count) {
  for (int i = 0; i < count; i++) {
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

/* The lock that this thread gives up as the stalls-th, of those that Python makes of semaphores, it
 * holds until there was a fork, or for 0.1 s. */
static _Thread_local int stalls;
static _Atomic int inside, forked;
int sem_post(sem_t *semaphore) {
  int (*post)(sem_t *);
  void *symbol = dlsym(RTLD_NEXT, "sem_post");
  memcpy(&post, &symbol, sizeof post);
  if (stalls && --stalls == 0) {
    inside = 1;
    for (int i = 0; i < 100 && !forked; i++) usleep(1000);
  }
  return post(semaphore);
}

typedef struct call_t {
  wia_context_t *context;
  wia_tensor_t tensors[2];
  int stalls;
} call_t;

static void *call_first(void *given) {
  call_t *call = given;
  stalls = call->stalls;
  return wia_relu(call->context, call->tensors[0], call->tensors[1], NULL) ? call : NULL;
}

/* Forks while another thread, on its way into Python and to its end, holds a lock: each in turn. */
static int fork_at_locks(const char *name) {
  const int64_t shape[] = {3};
  static call_t call;
  int32_t id;
  TRY(wia_find_device(name, &id));
  TRY(wia_create_context(&call.context, id));
  for (int i = 0; i < 2; i++)
    TRY(wia_allocate_tensor(call.context, shape, 1, WIA_FLOAT32, &call.tensors[i]));
  TRY(wia_relu(call.context, call.tensors[0], call.tensors[1], NULL));
  int found = 1;
  for (call.stalls = 1; found; call.stalls++) {
    pthread_t thread;
    void *failed = NULL;
    int gone = 0;
    inside = forked = 0;
    if (pthread_create(&thread, NULL, call_first, &call)) return 1;
    while (!inside && !gone) {
      gone = pthread_tryjoin_np(thread, &failed) == 0;
      usleep(1000);
    }
    found = inside;
    const int wrong = fork_some(name, 1);
    forked = 1;
    if (!gone) pthread_join(thread, &failed);
    if (wrong || failed) return 1;
  }
  return call.stalls == 2; /* there was a lock */
}

int main(int argc, char **argv) {
  if (argc > 2 && strcmp(argv[2], "locks") == 0) return work(argv[1], 1) || fork_at_locks(argv[1]);
  if (argc > 2) {
    const int forks = strcmp(argv[2], "fork") == 0;
    pthread_t threads[4];
    void *failed = NULL;
    int wrong = 0;
    if (forks && work(argv[1], 1)) return 2;
    for (int i = 0; i < 4; i++)
      pthread_create(&threads[i], NULL, forks ? in_threads : in_thread, argv[1]);
    if (forks) wrong = fork_some(argv[1], 10);
    stop = 1;
    for (int i = 0; i < 4; i++) {
      void *result;
      pthread_join(threads[i], &result);
      if (result) failed = result;
    }
    return wrong || failed;
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
    command += ["-rdynamic", "-ldl"]
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
    """A C program may fork while its threads run Python drivers; the parent goes on.

    Guards: before_fork in threads.c; wia__fork_pools in pool_life.c.
    """
    result = run("test", "fork")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("1 0 3") > 20


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="its locks are no semaphores")
def test_children_beside_locks(run: Run) -> None:
    """A thread has locks of Python and cffi when it first comes to Python, and when it ends.

    The child takes them, too, so a fork waits for such a thread. Guard: the mutex of threads.c,
    with wia__attach_thread(); PyGILState_Ensure(), and cffi's way to it, hang the child.
    """
    result = run("test", "locks")
    assert result.returncode == 0, result.stderr


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


FAKE = """
const char *Py_GetVersion(void);
const char *Py_GetVersion(void) { return "3.9.1 (of somebody)"; }
int Py_IsInitialized(void);
int Py_IsInitialized(void) { return 0; }
"""
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def other_python(tmp_path: Path) -> Path:
    """A library that says it is Python 3.9."""
    source, library = tmp_path / "fake.c", tmp_path / "libpython3.9.so"
    source.write_text(FAKE)
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    return library


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        ("a text", "can't be loaded"),
        ("a folder", "can't be loaded"),
        ("no Python", "is no Python library: it lacks Py_GetVersion"),
        ("another", f"is Python 3.9.1, and wia is installed for Python {VERSION}"),
    ],
)
def test_a_libpython_that_does_not_fit(
    run: Run, tmp_path: Path, other_python: Path, library: str, expected: str
) -> None:
    """One message with the path and the reason; native drivers go on. Guard: judge_python."""
    text = tmp_path / "text.so"
    text.write_text("no library")
    libraries = {"a text": text, "a folder": tmp_path, "another": other_python}
    path = str(libraries.get(library, "libm.so.6"))
    result = run("test", WIA_LIBPYTHON=path)
    assert result.returncode == 1
    assert result.stderr.startswith("UNAVAILABLE")
    assert f"{path} " in result.stderr
    assert expected in result.stderr
    result = run("sample", WIA_LIBPYTHON=path)
    assert (result.returncode, result.stdout) == (0, "1 0 3\n" * 2), result.stderr


def test_another_python_in_the_process(run: Run, other_python: Path) -> None:
    """A program that has a Python of another version: it is not entered. Guard: judge_python."""
    result = run("test", LD_PRELOAD=str(other_python))
    assert result.returncode == 1
    assert result.stderr.startswith("UNAVAILABLE")
    assert (
        f"the Python of this process is Python 3.9.1, and wia is installed for Python {VERSION}"
        in (result.stderr)
    )


def test_a_python_side_that_is_broken(run: Run, tmp_path: Path) -> None:
    """The traceback of the failed import is in the message."""
    (tmp_path / "_cffi_backend.py").write_text("raise RuntimeError('not the real one')")
    result = run("test")
    assert result.returncode == 1
    assert "RuntimeError: not the real one" in result.stderr
