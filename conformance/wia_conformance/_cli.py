"""The command `wia-conformance`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from wia_conformance._cases import PROFILES, Case, list_cases, select_cases
from wia_conformance._journal import Facts, Journal, read_journal
from wia_conformance._kinds import KINDS, count_kinds
from wia_conformance._outcome import RESULTS
from wia_conformance._pool import DeviceError, Options, run_cases
from wia_conformance._report import Report
from wia_conformance._version import __version__
from wia_conformance._worker import Ready

__all__ = ["main", "make_parser"]

_SHOWN_FAILURES = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.command == "run" and options.resume and options.report is None:
        parser.error("--resume goes on from what --report DIR has; give both")
    cases = list_cases(options.profile)
    selected = select_cases(cases, options.filter)
    if not selected:
        print(
            f"wia-conformance: no case matches {', '.join(options.filter)}; "
            "`wia-conformance list` prints all of them",
            file=sys.stderr,
        )
        return 2
    if options.command == "list":
        print("\n".join(_count_lines(selected) if options.count else (c.id for c in selected)))
        return 0
    return _run(options, cases, selected)


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command line, which the manual's page is made from too."""
    parser = argparse.ArgumentParser(
        prog="wia-conformance",
        description="Shows that a driver computes what the catalog of operations says.",
    )
    parser.add_argument("--version", action="version", version=f"wia-conformance {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser(
        "list", help="print the cases", description="Prints the ids of the cases, one a line."
    )
    listing.add_argument(
        "--count", action="store_true", help="how many of each kind there are, by operation"
    )
    run = commands.add_parser(
        "run",
        help="run the cases on a device",
        description="Runs the cases on a device, each in a process that may crash or hang. The "
        "exit code is 0 if nothing failed and something passed, 1 if not, 2 if the run could not "
        "begin.",
    )
    run.add_argument("--device", required=True, help='the device, such as "npu:0"')
    for command in (listing, run):
        command.add_argument(
            "--profile",
            choices=list(PROFILES),
            default="ops",
            help="; ".join(f"{name}: {text}" for name, text in PROFILES.items()),
        )
        command.add_argument(
            "--filter",
            action="append",
            default=[],
            metavar="PATTERN",
            help="only cases whose id matches, with * and ? ('matmul/float32/*'); may be repeated",
        )
    run.add_argument("--report", type=Path, metavar="DIR", help="write the report into this folder")
    run.add_argument(
        "--resume",
        action="store_true",
        help="go on from where a run with this --report was interrupted",
    )
    run.add_argument(
        "--jobs", type=_positive, default=1, metavar="N", help="processes at a time (1)"
    )
    run.add_argument("--seed", type=_natural, default=0, metavar="N", help="of the inputs (0)")
    run.add_argument(
        "--timeout", type=_seconds, default=30.0, metavar="S", help="seconds for one case (30)"
    )
    run.add_argument(
        "--stop-after",
        type=_natural,
        default=100,
        metavar="N",
        help="end the run at so many crashes and time-outs (100); 0: never",
    )
    run.add_argument(
        "--import",
        dest="modules",
        action="append",
        default=[],
        metavar="MODULE",
        help="import a module, or a file in .py, that registers a driver which nothing announces "
        "yet; may be repeated",
    )
    return parser


def _count_lines(selected: Sequence[Case]) -> Iterator[str]:
    counts = count_kinds(selected)
    width = max(len("operation"), *map(len, counts))
    yield f"{'operation':<{width}}" + "".join(f"  {kind:>8}" for kind in KINDS)
    for op, row in counts.items():
        yield f"{op:<{width}}" + "".join(f"  {count or '-':>8}" for count in row.values())


def _number(text: str, least: float, wanted: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = least - 1
    if not least <= value < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} was given; expected {wanted}")
    return value


def _natural(text: str) -> int:
    return int(_number(text if text.isdigit() else "", 0, "a whole number from 0 up"))


def _positive(text: str) -> int:
    return int(_number(text if text.isdigit() else "", 1, "a whole number from 1 up"))


def _seconds(text: str) -> float:
    return _number(text, 0.001, "a number of seconds above 0")


def _run(options: argparse.Namespace, cases: Sequence[Case], selected: Sequence[Case]) -> int:
    chosen = Options(
        device=options.device,
        jobs=options.jobs,
        seed=options.seed,
        timeout=options.timeout,
        modules=tuple(options.modules),
        stop_after=options.stop_after,
    )
    old_facts, done = read_journal(options.report) if options.resume else ({}, {})
    waiting = [case for case in selected if case.id not in done]
    report = journal = None
    progress = _Progress(len(selected), len(selected) - len(waiting))
    try:
        for item in run_cases(waiting, chosen):
            if isinstance(item, Ready):
                report = Report(
                    profile=options.profile,
                    options=chosen,
                    patterns=options.filter,
                    cases=cases,
                    selected=selected,
                    found=item,
                )
                if options.report is not None:
                    facts = _facts(report)
                    if old_facts and old_facts != facts:
                        _tell_difference(options.report, old_facts, facts)
                        return 2
                    journal = Journal(options.report, facts, go_on=bool(old_facts))
                for case in selected if done else ():
                    if case.id in done:
                        report.add(case, done[case.id])
            elif report is not None:
                report.add(*item)
                if journal is not None:
                    journal.add(*item)
                progress.show(report.counts)
    except DeviceError as error:
        print(f"wia-conformance: {options.device} can't be opened: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        progress.clear()
        print(f"wia-conformance: the report can't be written: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        progress.clear()
        hint = "; --resume goes on from here" if journal is not None else ""
        print(f"wia-conformance: interrupted; no report is written{hint}", file=sys.stderr)
        return 130
    finally:
        if journal is not None:
            journal.close()
    progress.clear()
    assert report is not None  # run_cases() yields it first or raises
    report.finish()
    _print_summary(report)
    if journal is not None:
        try:
            paths = report.write(options.report)
        except OSError as error:
            print(f"wia-conformance: the report can't be written: {error}", file=sys.stderr)
            return 2
        print(f"report: {', '.join(map(str, paths))}")
        if report.complete:
            journal.remove()
    return 0 if report.verdict == "passed" else 1


def _facts(report: Report) -> Facts:
    found = report.found
    return {
        "suite": report.suite_hash,
        "device": found.device,
        "driver": f"{found.driver} {found.driver_version}",
        "library": found.library,
        "seed": str(report.options.seed),
    }


def _tell_difference(folder: Path, old: Facts, new: Facts) -> None:
    key = next(key for key in new if old.get(key) != new[key])
    print(
        f"wia-conformance: the run in {folder} can't go on: its {key} was {old.get(key)}, and now "
        f"it is {new[key]}; without --resume all cases are run anew",
        file=sys.stderr,
    )


class _Progress:
    """A line on a terminal that tells how far the run is; nothing elsewhere.

    `before` cases are those of an earlier run, which took no time now.
    """

    def __init__(self, total: int, before: int) -> None:
        self._total = total
        self._before = before
        self._started = time.monotonic()
        self._shown = sys.stderr.isatty()
        self._next = 0.0

    def show(self, counts: Counter[str]) -> None:
        """Writes the line again, but not too often."""
        now = time.monotonic()
        if not self._shown or now < self._next:
            return
        self._next = now + 0.1
        told = ", ".join(f"{counts[result]} {result}" for result in RESULTS if counts[result])
        done, left = counts.total() - self._before, self._total - counts.total()
        seconds = round((now - self._started) * left / max(done, 1))
        ends = f"{seconds // 60}:{seconds % 60:02} left"
        sys.stderr.write(f"\r\x1b[K{counts.total()} of {self._total}, {ends}: {told}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Removes the line."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _print_summary(report: Report) -> None:
    rows: dict[str, Counter[str]] = {}
    for (op, _), counts in report.table().items():
        rows.setdefault(op, Counter()).update(counts)
    rows["all"] = report.counts
    width = max(map(len, rows))
    print(f"{'operation':<{width}}" + "".join(f"  {result:>11}" for result in RESULTS))
    for op, counts in rows.items():
        cells = "".join(f"  {counts[result] or '-':>11}" for result in RESULTS)
        print(f"{op:<{width}}{cells}")
    failures = report.failures
    for case, outcome in failures[:_SHOWN_FAILURES]:
        print(
            f"{outcome.result}: {case.id}\n    {outcome.detail.replace(chr(10), chr(10) + '    ')}"
        )
    if len(failures) > _SHOWN_FAILURES:
        print(f"and {len(failures) - _SHOWN_FAILURES} more: --report writes all of them")
    if not report.complete:
        missing = len(report.selected) - len(report.outcomes)
        print(
            f"{missing} cases were not run: the run ended after {report.options.stop_after} "
            "crashes and time-outs"
        )
    found = report.found
    print(
        f"{found.device}, driver {found.driver} {found.driver_version}: {report.verdict} "
        f"({len(report.outcomes)} of {len(report.cases)} cases of the profile {report.profile}, "
        f"{report.seconds:.0f} s)"
    )


if __name__ == "__main__":
    sys.exit(main())
