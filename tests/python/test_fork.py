"""Processes that are forked off from Python: what they inherit is refused, and they start anew."""

from __future__ import annotations

import re
from pathlib import Path

from support import RunPython

CHILD = """
import gc, os, signal, sys, threading, wia
DEVICE = "reference"

def anew():
    with wia.Context(DEVICE) as ctx:
        with ctx.stream() as stream:
            out = ctx.add(ctx.tensor([1.0]), ctx.tensor([2.0]), stream=stream)
            stream.synchronize(timeout=30)
            assert out.tolist() == [3.0]

def in_child(body):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        code = 1
        try:
            body()
            code = 0
        except BaseException as error:
            print(type(error).__name__, error)
        sys.stdout.flush()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def test_child(run_python: RunPython) -> None:
    """Old objects raise ForkedError and go silently; new ones work; the parent is unharmed."""
    code = """
ctx = wia.Context(DEVICE)
a, stream = ctx.tensor([1.0, 2.0]), ctx.stream()
b = ctx.add(a, a, stream=stream)
def body():
    global a, b, stream
    for use in (a.numpy, lambda: ctx.add(a, a), lambda: a.memory, lambda: wia.Event(ctx),
                lambda: stream.synchronize(timeout=1), lambda: ctx.add(a, a, stream=stream)):
        try:
            use()
        except wia.ForkedError as error:
            assert "forked" in str(error)
        else:
            raise AssertionError(use)
    stream.close()
    del a, b, stream
    gc.collect()
    anew()
print(in_child(body), in_child(body))
print(b.tolist(), ctx.add(a, b).tolist())
"""
    result = run_python(CHILD + code.replace("lambda: a.memory, ", ""))
    assert result.stdout == "0 0\n[2.0, 4.0]\n[3.0, 6.0]\n".replace("\n[3", " [3"), result.stderr
    assert result.stderr == ""


def test_child_of_a_kernel(run_python: RunPython) -> None:
    """A driver's Python kernel may fork: the gate counts the calls of this thread only."""
    code = """
from wia.driver import Driver, kernel
class Test(Driver):
    name = "test"
    @kernel("relu")
    def relu(self, node):
        def run(x, out):
            out[...] = in_child(anew)
        return run
wia.register_driver(Test)
other = wia.Context("test")
print(other.relu(other.zeros(1)).tolist())
"""
    result = run_python(CHILD + code)
    assert result.stdout == "[0.0]\n", result.stderr


def test_child_beside_a_kernel(run_python: RunPython) -> None:
    """At its end it waits for no kernel that only its parent runs."""
    code = """
from wia._native import lib
from wia.driver import Driver, kernel
entered, go = threading.Event(), threading.Event()
class Test(Driver):
    name = "test"
    @kernel("relu")
    def relu(self, node):
        def run(x, out):
            entered.set()
            go.wait(60)
        return run
wia.register_driver(Test)
other = wia.Context("test")
x = other.zeros(1)
thread = threading.Thread(target=lambda: other.relu(x))
thread.start()
entered.wait(60)
inside = lib.wia__close_gate
if (child := os.fork()) == 0:
    os._exit(inside(0))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(inside(0))
go.set()
thread.join()
"""
    result = run_python(CHILD + code)
    assert (result.stdout, result.stderr) == ("0\n1\n", "")


def test_children_among_threads(run_python: RunPython) -> None:
    """Whatever other threads are in the middle of, a child finds every list whole."""
    code = """
stop = False
anew()  # so that no thread is in an import, whose locks Python doesn't renew in a child
def busy():
    while not stop:
        anew()
threads = [threading.Thread(target=busy) for _ in range(2)]
for thread in threads: thread.start()
codes = [in_child(anew) for _ in range(20)]
stop = True
for thread in threads: thread.join()
print(set(codes))
"""
    result = run_python(CHILD + code)
    assert result.stdout == "{0}\n", result.stderr


def test_multiprocessing(run_python: RunPython, tmp_path: object) -> None:
    """A pool of forked workers, each with a context of its own."""
    code = """
import multiprocessing
def work(value):
    with wia.Context(DEVICE) as ctx:
        return ctx.add(ctx.tensor([value]), ctx.tensor([1.0])).tolist()
ctx = wia.Context(DEVICE)
ctx.relu(ctx.zeros(4))
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(work, [1.0, 2.0, 3.0]))
"""
    result = run_python(CHILD + code)
    assert result.stdout == "[[2.0], [3.0], [4.0]]\n", result.stderr


HAL = Path(__file__).parents[2] / "hal"
_LOCK = re.compile(r"^(?:static )?pthread_(?:mutex|rwlock)_t (\w+) = PTHREAD", re.MULTILINE)
_PART = re.compile(
    r"^void (wia__fork_\w+)\(wia__fork_t stage\) \{([^\n]* \}$|\n.*?^\})", re.M | re.S
)


def test_every_lock_is_told() -> None:
    """A fork waits for each lock of the library: one that it didn't may be taken in the child.

    Each lock of the whole process is in a function of its file for forks, or, if others see it, of
    any file; and fork.c has all these functions in its list.
    """
    sources = {path.name: path.read_text() for path in HAL.glob("*.c")}
    parts = {name: _PART.findall(text) for name, text in sources.items()}
    everywhere = "".join(body for found in parts.values() for _, body in found)
    missing, count = [], 0
    for name, text in sources.items():
        for lock in _LOCK.findall(text):
            count += 1
            own = "".join(body for _, body in parts[name])
            if not re.search(rf"\b{lock}\b", everywhere if lock.startswith("wia__") else own):
                missing.append(f"{name}: {lock}")
    assert missing == []
    assert count > 20
    listed = sources["fork.c"]
    names = [part for found in parts.values() for part, _ in found]
    assert [part for part in names if f"{part}," not in listed] == []
    assert len(names) > 20
