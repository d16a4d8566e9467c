"""`wia run`: runs an ONNX model on inputs from files."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import wia
from wia._cli._output import Commands, add_json, print_fields, print_json
from wia._cli._run_inputs import add_options, read_inputs, read_labels
from wia._cli._run_outputs import check_writable, print_outputs, save, summarize
from wia._cli._run_profile import print_profile, summarize_profile

__all__ = ["add_parser"]

_TOP = 5


def add_parser(commands: Commands, debug: argparse.ArgumentParser) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "run",
        parents=[debug],
        help="run an ONNX model on a device",
        description="Runs an ONNX model on inputs from files, and tells the outputs, where the "
        "nodes ran, and the time. Needs the extra wia[onnx].",
    )
    parser.add_argument("model", metavar="MODEL", help="a file in the format ONNX")
    add_options(parser)
    parser.add_argument(
        "--device", default="", metavar="DEVICE", help="for example npu:1; none: the default device"
    )
    parser.add_argument(
        "--strict", action="store_true", help="fail where the device lacks an operation"
    )
    parser.add_argument(
        "--labels",
        metavar="FILE",
        help="names for the numbers of the last dimension, one a line; shows the largest",
    )
    parser.add_argument(
        "--top",
        type=_positive,
        metavar="N",
        help=f"how many of the largest numbers to show; default: {_TOP} with --labels",
    )
    parser.add_argument("--save", metavar="FILE", help="write the outputs to a .npz file")
    parser.add_argument(
        "--repeat", type=_positive, default=1, metavar="N", help="run N times and show the times"
    )
    parser.add_argument(
        "--profile",
        metavar="FILE",
        help="write a trace of all runs for ui.perfetto.dev, with a range for each node, and show "
        "the kernels and nodes that took longest",
    )
    add_json(parser)
    parser.set_defaults(run=_run)


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} was given; expected a whole number above 0")
    return number


def _run(options: argparse.Namespace) -> int:
    from wia import onnx

    # What can't be written is told before the model runs, which may take long.
    for path in (options.save, options.profile):
        check_writable(path)
    labels = read_labels(options.labels)
    top = options.top or (_TOP if labels else 0)
    report = wia.profile(options.profile) if options.profile else None
    times, results, records = list[float](), dict[str, Any](), []
    with onnx.load(options.model, options.device, strict=options.strict) as session:
        inputs = read_inputs(session.inputs, options)
        with report or nullcontext():
            for number in range(options.repeat):
                start = time.perf_counter()
                results = session.run(inputs)
                times.append(time.perf_counter() - start)
                records.append(session.records())
                _tell(number + 1, options.repeat)
        placement = session.placement()
        device = session.device.name
    if options.save:
        save(options.save, results)
    answer = {
        "model": options.model,
        "device": device,
        "outputs": {name: summarize(value, labels, top) for name, value in results.items()},
        "placement": {
            place: list(getattr(placement, place))
            for place in ("device", "reference", "shapes", "host")
        },
        "seconds": _statistics(times),
    }
    if report:
        answer["profile"] = summarize_profile(report, records)
    if options.json:
        print_json(answer)
    else:
        _print(answer)
    return 0


def _tell(done: int, total: int) -> None:
    """Progress of many runs, on a terminal only."""
    if total > 1 and sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\rrun {done} of {total}", end=end, file=sys.stderr, flush=True)


def _statistics(times: Sequence[float]) -> dict[str, float]:
    """The first run prepares kernels, so the others stand for themselves where there are any."""
    later = times[1:] or times
    return {
        "count": len(times),
        "first": times[0],
        "min": min(later),
        "median": statistics.median(later),
        "mean": statistics.fmean(later),
        "max": max(later),
    }


def _print(answer: dict[str, Any]) -> None:
    print_outputs(answer["outputs"])
    print()
    placed = answer["placement"]
    nodes = ", ".join(f"{len(names)} {place}" for place, names in placed.items() if names)
    fields = {"device": answer["device"], "nodes": nodes}
    seconds = answer["seconds"]
    fields["time"] = f"{seconds['first']:.3f} s"
    if seconds["count"] > 1:
        fields["time"] = (
            f"first {seconds['first']:.3f} s, then {seconds['min']:.3f} to {seconds['max']:.3f} s, "
            f"median {seconds['median']:.3f} s, mean {seconds['mean']:.3f} s of "
            f"{seconds['count'] - 1}"
        )
    print_fields(fields, indent=0)
    if "profile" in answer:
        print()
        print_profile(answer["profile"])
