"""The table of all measurements: what is measured, beside what, and within which budget.

A new one is a line here, and a group that its program prints; see samples.py.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from samples import Group

NATIVE = ("sample", "npu")
"""The drivers whose kernels are native: budgets are theirs."""
ALL = (*NATIVE, "emulator", "reference")
LAYERS = ((8, 8), (64, 64))
"""Rows and width of the groups of calls.py."""
CALM = 0.25
"""The share of rounds that is kept of what takes the same time whenever nothing disturbs it."""
EVERY = 1.0
"""Of what differs from time to time by itself, as waking a thread does."""

Key = tuple[str, str, str]
"""A program, a device's driver ("" for what has no device) and a group."""


class Judge(Enum):
    """How a subject is set beside its peer, round by round."""

    OVER = "more"
    RATIO = "x"
    TIME = "alone"


@dataclass(frozen=True)
class Measurement:
    """One line: a subject of a group beside a peer in it.

    The budget is the most that is allowed on the drivers that it is for: nanoseconds, or a ratio.
    None: it is reported only.
    """

    what: str
    program: str
    group: str
    subject: str
    peer: str
    peer_name: str
    judge: Judge = Judge.RATIO
    budget: float | None = None
    keep: float = CALM
    budget_for: tuple[str, ...] = NATIVE


@dataclass(frozen=True)
class Section:
    """Measurements that stand together on the page."""

    title: str
    text: str
    measurements: list[Measurement]
    plots: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Finding:
    """A measurement on one device."""

    value: float
    time: float
    peer_time: float
    kept: int
    round_count: int
    kernel: str
    budget: float | None

    @property
    def share(self) -> float | None:
        """How much of the budget is used; above 1 it is missed."""
        return None if self.budget is None else self.value / self.budget


def find(measurement: Measurement, device: str, groups: Mapping[Key, Group]) -> Finding | None:
    """What was found on a device; None if it wasn't measured there."""
    group = groups.get((measurement.program, device, measurement.group))
    if group is None:
        return None
    kept = group.calmest(measurement.keep)
    pairs = [(group.times[measurement.subject][i], group.times[measurement.peer][i]) for i in kept]
    return Finding(
        value=statistics.median(_JUDGES[measurement.judge](*pair) for pair in pairs),
        time=statistics.median(time for time, _ in pairs),
        peer_time=statistics.median(time for _, time in pairs),
        kept=len(kept),
        round_count=group.round_count,
        kernel=group.kernel,
        budget=measurement.budget if device in ("", *measurement.budget_for) else None,
    )


_JUDGES: dict[Judge, Callable[[float, float], float]] = {
    Judge.OVER: lambda time, peer: time - peer,
    Judge.RATIO: lambda time, peer: time / peer,
    Judge.TIME: lambda time, _: time,
}


# -- the table ------------------------------------------------------------------------------------

SIZES = {4 << 10: "4 KiB", 64 << 10: "64 KiB", 1 << 20: "1 MiB", 16 << 20: "16 MiB"}
SIZES[64 << 20] = "64 MiB"
THREADS = (1, 2, 4, 8)
WORKS = {"add": "8 added", "matmul": "8x8 matmul"}
DIRECTIONS = {
    "to device": "host to device",
    "to host": "device to host",
    "between": "on the device",
}
ALLOCATIONS = {
    "wia_malloc": "`wia_malloc` and `wia_free`",
    "wia_malloc_async": "`wia_malloc_async` and `wia_free_async`",
}


def _dispatch() -> list[Measurement]:
    ways = (
        ("table", "through the table", 3.0),
        ("plan", "`wia_execute_plan`", 25.0),
        ("call", "`wia_<op>`, kernel in the cache", 40.0),
    )
    tracing = Measurement(
        "`wia_execute_plan` while it is traced, two events",
        "dispatch",
        "trace",
        "on",
        "off",
        "the same, not traced",
        Judge.OVER,
        200.0,
    )
    calls = [
        Measurement(
            f"{what}, {text}", "dispatch", op, variant, "direct", "direct call", Judge.OVER, budget
        )
        for variant, what, budget in ways
        for op, text in WORKS.items()
    ]
    return [*calls, tracing]


def _graphs() -> list[Measurement]:
    over, ratio = Judge.OVER, Judge.RATIO
    budget, one_by_one = 20.0, "enqueued one by one"
    return [
        *(
            Measurement(
                f"a node, {text}", "graph", op, "launch", "direct", "direct call", over, budget
            )
            for op, text in WORKS.items()
        ),
        *(
            Measurement(
                f"a node on a stream, {text}", "graph", op, "stream", "enqueue", one_by_one, ratio
            )
            for op, text in WORKS.items()
        ),
    ]


def _streams() -> list[Measurement]:
    def line(what: str, group: str, subject: str, peer: str, name: str) -> Measurement:
        return Measurement(what, "stream", group, subject, peer, name, keep=EVERY)

    enqueue = "enqueue, in a burst of 1,000"
    return [
        Measurement(enqueue, "stream", "burst", "enqueue", "direct", "call", Judge.TIME, 500.0),
        line("the same until all are done, for each", "burst", "done", "direct", "direct call"),
        line("enqueue that wakes a worker", "wake", "enqueue", "signal", "signal"),
        line("the same until it is done", "done", "stream", "answer", "signal and answer"),
        line("the same, waited for by an event", "event", "event", "answer", "signal and answer"),
        line("two streams in a row by events", "chain", "events", "answers", "two such answers"),
        line("`wia_record_event`", "record", "record", "lock", "lock and unlock"),
        line("`wia_query_event`", "record", "query", "lock", "lock and unlock"),
        line("processor time of idle workers", "idle", "idle", "sleep", "time that passes"),
    ]


def _copies() -> list[Measurement]:
    return [
        Measurement(f"{text}, {size_text}", "memory", f"copy {size}", way, "memcpy", "memcpy")
        for way, text in DIRECTIONS.items()
        for size, size_text in SIZES.items()
    ]


def _allocation() -> list[Measurement]:
    measured = [
        Measurement(
            f"{text}, {size_text}", "memory", f"allocate {size}", way, "malloc", "malloc and free"
        )
        for way, text in ALLOCATIONS.items()
        for size, size_text in SIZES.items()
    ]
    empty = "`ctx.empty` of 1 MiB"
    return [*measured, Measurement(empty, "calls", "allocate", "wia", "numpy", "numpy.empty")]


def _threads_text(count: int) -> str:
    return f"{count} thread{'s' if count > 1 else ''}"


def _threads() -> list[Measurement]:
    whose = {"own": "a context each", "shared": "one context"}
    return [
        Measurement(
            f"{_threads_text(count)}, {text}",
            "threads",
            f"threads {count}",
            subject,
            "direct",
            "direct calls",
            Judge.OVER,
        )
        for subject, text in whose.items()
        for count in THREADS
    ]


def _python() -> list[Measurement]:
    def line(op: str, peer: str, name: str, budget: float | None) -> Measurement:
        shape = {"add": "8 elements", "matmul": "8x8"}[op]
        what = f"`ctx.{op}(a, b, out=c)`, {shape}"
        return Measurement(what, "calls", op, "wia", peer, name, Judge.RATIO, budget)

    whose = {"own": "a context each", "shared": "one context"}
    new = "`ctx.add(a, b)`, 8 elements, with a new output"
    return [
        line("matmul", "numpy", "numpy.matmul", 0.5),
        line("matmul", "onnxruntime", "onnxruntime", 0.1),
        line("add", "numpy", "numpy.add", 1.0),
        Measurement(new, "calls", "add", "wia new", "numpy new", "numpy.add"),
        line("add", "onnxruntime", "onnxruntime", None),
        *(
            Measurement(
                f"`plan(a, w, b, out)` of matmul, add and relu, {rows}x{width}",
                "calls",
                f"layer {rows}x{width}",
                "group",
                "calls",
                "three calls",
            )
            for rows, width in LAYERS
        ),
        *(
            Measurement(
                f"`ctx.add` from {count} threads, {text}",
                "calls",
                f"threads {count}",
                subject,
                peer,
                name,
                keep=EVERY,
            )
            for peer, name in (("numpy", "numpy.add"), ("onnxruntime", "onnxruntime"))
            for subject, text in whose.items()
            for count in THREADS[1:]
        ),
    ]


def _models() -> list[Measurement]:
    works = {
        "conv2d": "`ctx.conv2d`, 64 channels to 64, 3x3 of 56x56",
        "model": "`session.run` of open-nsfw, a network of 53 convolutions",
    }
    return [
        Measurement(what, "models", group, "wia", "onnxruntime", "onnxruntime", keep=EVERY)
        for group, what in works.items()
    ]


def _opencl() -> list[Measurement]:
    works = {
        "burst": "enqueue, in a burst of 200",
        "done": "enqueue, and wait until it is done",
        "event": "the same, waited for by an event",
        "allocate": "1 MiB allocated and freed",
        "allocate async": "the same from the pool, on a stream",
    }
    works |= {f"threads {count}": f"{_threads_text(count)} with a stream each" for count in THREADS}
    return [
        Measurement(what, "opencl", group, "wia", "OpenCL", "OpenCL", keep=EVERY)
        for group, what in works.items()
    ]


SECTIONS = [
    Section(
        "Calls from C",
        "What a call costs beside the kernel that it runs: the time over that of calling the same "
        "kernel directly, on the same memory.",
        _dispatch(),
        ["budgets"],
    ),
    Section(
        "Graphs",
        "Launches of a graph of 64 nodes, for each node: without a stream over calls of the same "
        "kernel, and on a stream until it is done, beside the same calls enqueued one by one.",
        _graphs(),
    ),
    Section(
        "Streams and events",
        "The peer of what waits is a thread that waits on a condition variable and answers by "
        "another one. Before each of these turns there is a pause of 0.2 ms, in which the threads "
        "fall asleep; nobody spins.",
        _streams(),
        ["streams"],
    ),
    Section(
        "Copies",
        "Times of a copy without a stream, to that of memcpy between two buffers of the host.",
        _copies(),
        ["copies"],
    ),
    Section(
        "Allocation",
        "Memory that is freed at once, and that nobody has touched: from the driver, and from the "
        "pool of a context in a stream's order. Large blocks of malloc are mapped and unmapped "
        "each time.",
        _allocation(),
        ["allocation"],
    ),
    Section(
        "Threads",
        "Additions of 8 elements, each thread on operands of its own: the time that passes per "
        "call of any thread, over that of as many threads that call the kernel directly.",
        _threads(),
        ["threads"],
    ),
    Section(
        "Calls from Python",
        "Beside numpy with `out=`, and a session of onnxruntime with one node and one thread. Of "
        "threads it is the time that passes per call of any of them.",
        _python(),
        ["python"],
    ),
    Section(
        "Layers and models",
        "Beside a session of onnxruntime with as many threads as there are processors, which "
        "`npu` uses too. The model is the one of `examples/models/nsfw.py`.",
        _models(),
    ),
    Section(
        "Beside OpenCL",
        "The same work through PoCL, OpenCL on the processors of the host: a kernel that adds 8 "
        "elements, each thread with a queue and buffers of its own.",
        _opencl(),
    ),
    Section(
        "Start",
        "From the start of a process to its first result, and the import.",
        [
            Measurement(
                "C program that adds two numbers",
                "start",
                "program",
                "start",
                "bare",
                "one without a library",
                Judge.TIME,
                20e6,
                EVERY,
                budget_for=("sample",),  # the driver is native too: no Python is started
            ),
            Measurement(
                "`import wia`, processor time",
                "start",
                "import",
                "wia",
                "cffi",
                "`import cffi`",
                Judge.OVER,
                40e6,
            ),
        ],
    ),
]
