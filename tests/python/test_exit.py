"""The end of a process: without a destroy, with work in flight, with late collection (23)."""

from __future__ import annotations

import signal

import pytest
from support import RunPython

SLOW = """
import atexit
at_the_end = []
atexit.register(lambda: [function() for function in at_the_end])  # hooks run in reverse order
import threading, time, numpy as np, wia
from wia.driver import Driver, kernel

class Test(Driver):
    name = "test"
    @kernel("relu", in_place=True)
    def relu(self, node):
        def run(x, out):
            time.sleep(0.02)
            out[...] = x
        return run

wia.register_driver(Test)
ctx = wia.Context("test")
stream = ctx.stream()
event = wia.Event(ctx)
x = ctx.tensor([1.0, 2.0])
"""
ENDINGS = {
    "nothing destroyed": "ctx.relu(x)",
    "work in flight": """
for _ in range(500):
    ctx.relu(x, out=x, stream=stream)
event.record(stream)
""",
    "a stream collected with work in flight": """
for _ in range(500):
    ctx.relu(x, out=x, stream=stream)
import warnings
warnings.simplefilter("ignore")
del stream
""",
    "copies in flight": """
ctx.relu(x, out=x, stream=stream)
for _ in range(50):
    big = ctx.empty(1_000_000)
    big.write(np.ones(1_000_000, np.float32), stream=stream)
    big.read(np.empty(1_000_000, np.float32), stream=stream)
""",
    "a cycle and a global": """
class Cycle:
    def __init__(self):
        self.me = self
        self.things = [ctx, stream, event, x, x[1:], x.numpy(copy=False)]
cycle = Cycle()
import builtins
builtins.kept = cycle
""",
    "used in an exit hook": """
def late():
    assert ctx.relu(x).tolist() == [1.0, 2.0]
    print("late")
atexit.register(late)
""",
    "used after the gate is closed": """
def too_late():
    try:
        ctx.relu(x)
    except wia.UnavailableError as error:
        print("refused", x.tolist())
at_the_end.append(too_late)
""",
    "used in a finaliser": """
class Late:
    def __del__(self):
        self.ctx.relu(self.x)
        self.x.numpy()
late = Late()
late.ctx, late.x = ctx, x
import builtins
builtins.late = late
""",
    "a daemon thread at work": """
def work():
    while True:
        try:
            ctx.relu(x, out=x)
        except wia.UnavailableError:
            pass
threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
""",
    "another thread's streams": """
def work():
    with wia.Context("test") as mine, mine.stream() as own:
        y = mine.tensor([1.0])
        for _ in range(20):
            mine.relu(y, out=y, stream=own)
threading.Thread(target=work).start()
""",
    "an exit code": """
import sys
ctx.relu(x, stream=stream)
sys.exit(0)
""",
    "at once": """
import os
for _ in range(50):
    ctx.relu(x, out=x, stream=stream)
os._exit(0)
""",
    "an exit in a thread, which ends that alone": """
import sys
def work():
    ctx.relu(x, out=x, stream=stream)
    sys.exit(3)
threading.Thread(target=work).start()
""",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_endings(run_python: RunPython, ending: str) -> None:
    """Exit code 0, at once, nothing on standard error.

    Guards: the gate (close_gate in wia._host._exit) for work in flight and daemon threads, whose
    threads else run into a dead interpreter; _wait_for_all in wia._stream for copies in flight.
    """
    result = run_python(SLOW + ENDINGS[ending], timeout=40)
    assert (result.returncode, result.stderr) == (0, "")
    if ending == "used in an exit hook":
        assert result.stdout == "late\n"
    if ending == "used after the gate is closed":
        assert result.stdout == "refused [1.0, 2.0]\n"


def test_a_signal_that_ends_the_process(run_python: RunPython) -> None:
    """SIGTERM, which Python leaves to the system: at once, with work in flight."""
    code = "for _ in range(500): ctx.relu(x, out=x, stream=stream)\nimport os, signal\n"
    result = run_python(SLOW + code + "os.kill(os.getpid(), signal.SIGTERM)\n", timeout=40)
    assert (result.returncode, result.stderr) == (-signal.SIGTERM, "")


def test_a_kernel_that_never_ends(run_python: RunPython) -> None:
    """The exit waits for it for a while, but not for ever, and says so."""
    code = SLOW.replace("time.sleep(0.02)", "threading.Event().wait()")
    ending = """
ctx.relu(x, out=x, stream=stream)
for _ in range(5):
    x.write(np.ones(2, np.float32), stream=stream)
from wia import _host, _stream
_host._EXIT_TIMEOUT_NS = _stream._EXIT_TIMEOUT_NS = 500_000_000
"""
    result = run_python(code + ending, timeout=30)
    assert result.returncode == 0
    assert result.stderr.startswith("wia: warning: stream: the process is ending, and after 10 s")
    assert result.stderr.count("\n") == 1


def test_a_driver_that_is_collected(run_python: RunPython) -> None:
    """The table, the driver and its devices live as long as the process, whoever forgets them.

    Guard: _kept in wia.driver._table; without it the next call reads freed memory.
    """
    code = """
import gc, wia
from wia.driver import Driver, kernel
def register():
    class Test(Driver):
        name = "test"
        @kernel("relu")
        def relu(self, node):
            def run(x, out):
                out[...] = x
            return run
    wia.register_driver(Test())
register()
gc.collect()
garbage = [object() for _ in range(100_000)]
with wia.Context("test") as ctx:
    gc.collect()
    for n in range(1, 200):
        assert ctx.relu(ctx.full(n, n)).tolist() == [float(n)] * n
    gc.collect()
    print(ctx.relu(ctx.tensor([1.0])).tolist())
"""
    result = run_python(code)
    assert result.stdout == "[1.0]\n", result.stderr
