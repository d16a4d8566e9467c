"""`wia bench`: what calls, copies and allocations of a device cost."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import wia
from wia._cli._info import add_device
from wia._cli._measure import Turn, interleave, repeated
from wia._cli._output import (
    Commands,
    add_json,
    print_heading,
    print_json,
    print_table,
    size_text,
)
from wia._errors import check
from wia._native import NULL, ffi, lib

if TYPE_CHECKING:
    from wia._context import Context

__all__ = ["add_parser"]

ROUNDS = 20
SIZES = (4 << 10, 64 << 10, 1 << 20, 16 << 20)
CALLS = {"add": (8,), "matmul": (8, 8)}
WAYS = ("call", "plan", "enqueue", "enqueue and wait")
COPIES = ("host to device", "device to host", "memcpy")
ALLOCATIONS = ("pool", "pool on a stream", "driver")


class Subject(NamedTuple):
    """What is measured: turns by name, what they use, and why some are missing."""

    turns: dict[str, Turn]
    used: ExitStack
    missing: dict[str, str]


def add_parser(commands: Commands, debug: argparse.ArgumentParser) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "bench",
        parents=[debug],
        help="measure what calls, copies and allocations of a device cost",
        description="Measures small operations from Python, by a call, by a plan and enqueued on a "
        "stream, copies between host and device beside memcpy, and allocating and freeing memory "
        "of a context's pool beside the driver's. All of them take turns in each round, and the "
        "medians over the rounds are shown. Ctrl-C shows those of the rounds so far, with exit "
        "code 130.",
    )
    add_device(parser)
    parser.add_argument(
        "--rounds",
        type=_positive,
        default=ROUNDS,
        metavar="N",
        help=f"number of rounds; default: {ROUNDS}",
    )
    add_json(parser)
    parser.set_defaults(run=_run)


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} was given; expected a whole number above 0")
    return number


def _run(options: argparse.Namespace) -> int:
    with (
        wia.Context(options.device) as context,
        context.stream() as stream,
        ExitStack() as used,
    ):
        subject = Subject({}, used, {})
        for op, shape in CALLS.items():
            _add_calls(subject, context, stream, op, shape)
        for size in SIZES:
            _add_copies(subject, context, size)
            _add_allocations(subject, context, stream, size)
        with _progress(options.rounds) as step:
            times, rounds = interleave(subject.turns, options.rounds, step)
        stream.synchronize()
        result = _result(context.device, times, subject.missing)
    result["rounds"] = rounds
    result["interrupted"] = rounds < options.rounds
    if options.json:
        print_json(result)
    else:
        _print(result)
    return 130 if result["interrupted"] else 0


# -- what is measured -----------------------------------------------------------------------------


def _add_calls(
    subject: Subject, context: Context, stream: wia.Stream, op: str, shape: tuple[int, ...]
) -> None:
    """The ways to run an operation, unless the device can't."""
    try:
        a, b, c = context.full(shape, 1.0), context.full(shape, 2.0), context.empty(shape)
        plan = subject.used.enter_context(context.plan(op, [a, b], [c]))
        method = getattr(context, op)

        def enqueue() -> None:
            plan(a, b, c, stream=stream)

        def enqueue_and_wait() -> None:
            plan(a, b, c, stream=stream)
            stream.synchronize()

        turns: dict[str, Turn] = {
            "call": repeated(lambda: method(a, b, out=c)),
            "plan": repeated(lambda: plan(a, b, c)),
            "enqueue": repeated(enqueue, stream.synchronize),
            "enqueue and wait": repeated(enqueue_and_wait),
        }
    except wia.WiaError as error:
        subject.missing[op] = str(error)
        return
    subject.turns.update({f"{op}, {way}": turn for way, turn in turns.items()})


def _add_copies(subject: Subject, context: Context, size: int) -> None:
    """Both directions and memcpy on the same amount, unless the device can't."""
    host: Any = ffi.new("char[]", size)
    other: Any = ffi.new("char[]", size)
    try:
        memory = context.empty(size, "uint8")

        device = ffi.cast("void *", memory.address)
        subject.used.callback(memory.close)

        def to_device() -> None:
            check(lib.wia_copy_host_to_device(device, host, size, NULL))

        def to_host() -> None:
            check(lib.wia_copy_device_to_host(host, device, size, NULL))

        turns: dict[str, Turn] = {
            "host to device": repeated(to_device),
            "device to host": repeated(to_host),
            "memcpy": repeated(lambda: ffi.memmove(other, host, size)),
        }
    except wia.WiaError as error:
        subject.missing[f"copies of {size_text(size)}"] = str(error)
        return
    subject.turns.update({f"{name} {size}": turn for name, turn in turns.items()})


def _add_allocations(subject: Subject, context: Context, stream: wia.Stream, size: int) -> None:
    """Memory allocated and freed: of the pool, the same in a stream's order, of the driver."""
    handle, device_id = context._handle, context.device.id
    out: Any = ffi.new("void **")

    def from_pool(on: Any) -> None:
        check(lib.wia_malloc_async(handle, size, NULL, on, out))
        check(lib.wia_free_async(out[0], on))

    def from_driver() -> None:
        check(lib.wia_malloc(out, size, device_id))
        check(lib.wia_free(out[0]))

    try:
        turns: dict[str, Turn] = {
            "pool": repeated(lambda: from_pool(NULL)),
            "pool on a stream": repeated(lambda: from_pool(stream._handle), stream.synchronize),
            "driver": repeated(from_driver),
        }
    except wia.WiaError as error:
        subject.missing[f"allocation of {size_text(size)}"] = str(error)
        return
    subject.turns.update({f"allocation, {name} {size}": turn for name, turn in turns.items()})


@contextmanager
def _progress(rounds: int) -> Iterator[Callable[[], object]]:
    """A bar on standard error, if that is a terminal; gives what to call after each round."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    # A thread that draws would run beside what is measured.
    with Progress(console=Console(stderr=True), transient=True, auto_refresh=False) as progress:
        task = progress.add_task("measuring", total=rounds)
        yield lambda: progress.update(task, advance=1, refresh=True)


# -- what is shown --------------------------------------------------------------------------------


def _result(device: wia.Device, times: dict[str, float], missing: dict[str, str]) -> dict[str, Any]:
    calls = [
        {"operation": op, "shape": list(shape), "way": way, "time_ns": times[f"{op}, {way}"]}
        for op, shape in CALLS.items()
        for way in WAYS
        if f"{op}, {way}" in times
    ]
    copies = []
    for size in SIZES:
        names = {name: f"{name} {size}" for name in COPIES}
        if not all(name in times for name in names.values()):
            continue
        speeds = {name: size / times[key] for name, key in names.items()}
        copies.append(
            {
                "size": size,
                "host_to_device_gb_per_s": speeds["host to device"],
                "device_to_host_gb_per_s": speeds["device to host"],
                "memcpy_gb_per_s": speeds["memcpy"],
                "host_to_device_ratio": speeds["host to device"] / speeds["memcpy"],
                "device_to_host_ratio": speeds["device to host"] / speeds["memcpy"],
            }
        )
    allocations = [
        {"size": size, "way": way, "time_ns": times[f"allocation, {way} {size}"]}
        for size in SIZES
        for way in ALLOCATIONS
        if f"allocation, {way} {size}" in times
    ]
    return {
        "version": wia.__version__,
        "device": device.name,
        "driver": f"{device.driver_name} {device.driver_version}",
        "calls": calls,
        "copies": copies,
        "allocations": allocations,
        "missing": missing,
    }


def _print(result: dict[str, Any]) -> None:
    rounds = f"{result['rounds']} round{'' if result['rounds'] == 1 else 's'}"
    stopped = ", interrupted" if result["interrupted"] else ""
    print_heading(f"{result['device']} ({result['driver']}): medians of {rounds}{stopped}")
    if result["calls"]:
        print()
        rows = [
            (
                f"{call['operation']} of {'x'.join(map(str, call['shape']))}",
                call["way"],
                _time_text(call["time_ns"]),
            )
            for call in result["calls"]
        ]
        print_table(("OPERATION", "WAY", "TIME"), rows, right=("TIME",))
    if result["copies"]:
        print()
        header = ("COPY", "TO DEVICE", "OF MEMCPY", "TO HOST", "OF MEMCPY", "MEMCPY")
        rows_of_copies = [
            (
                size_text(copy["size"]),
                f"{copy['host_to_device_gb_per_s']:.2f} GB/s",
                f"{copy['host_to_device_ratio']:.0%}",
                f"{copy['device_to_host_gb_per_s']:.2f} GB/s",
                f"{copy['device_to_host_ratio']:.0%}",
                f"{copy['memcpy_gb_per_s']:.2f} GB/s",
            )
            for copy in result["copies"]
        ]
        print_table(header, rows_of_copies, right=header[1:])
    if result["allocations"]:
        print()
        found = {(row["size"], row["way"]): row["time_ns"] for row in result["allocations"]}
        rows_of_allocations = [
            (size_text(size), *(_time_text(found[size, way]) for way in ALLOCATIONS))
            for size in SIZES
            if (size, ALLOCATIONS[0]) in found
        ]
        ways = [way.upper() for way in ALLOCATIONS]
        print_table(("ALLOCATION", *ways), rows_of_allocations, right=ways)
    for what, why in result["missing"].items():
        print(f"\nnot measured: {what}: {why}")


def _time_text(time_ns: float) -> str:
    """A time for people, with three digits."""
    for unit, size in (("ns", 1.0), ("us", 1e3), ("ms", 1e6)):
        if time_ns < 999.5 * size:
            return f"{time_ns / size:.3g} {unit}"
    return f"{time_ns / 1e9:.3g} s"
