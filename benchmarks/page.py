"""The page of the manual: a table per section, with the drivers side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from run import Results
from table import ALL, SECTIONS, Finding, Judge, Measurement, Section, find

PLOTS = {
    "budgets": "How much of each budget is used",
    "streams": "Times of launches, streams and events to those of their peers",
    "copies": "Times of copies to that of memcpy",
    "allocation": "Times of allocating and freeing to that of malloc and free",
    "threads": "Calls of 8 added elements by the number of threads",
    "python": "Calls from Python beside their peers",
}
NO_BREAK = "\u00a0"
_TITLES = {"": "measured", "emulator": "emulator over sample"}


def page(results: Results) -> str:
    """The page in Markdown. It says what was measured, and leaves judging to the budgets."""
    parts = [_HEAD, _summary(results)]
    for section in SECTIONS:
        parts += _section(section, results)
    machine = "\n".join(f"- {line}" for line in results.machine)
    return "\n\n".join([*parts, _TAIL.format(machine=machine)])


def _summary(results: Results) -> str:
    budgets = [finding for _, _, finding in budgeted(results)]
    kept = sum((finding.share or 0) <= 1 for finding in budgets)
    return f"{kept} of {len(budgets)} budgets are kept."


def budgeted(results: Results) -> Iterator[tuple[Measurement, str, Finding]]:
    """All findings with a budget, with their measurement and driver."""
    for section in SECTIONS:
        for measurement in section.measurements:
            for driver in ("", *ALL):
                finding = find(measurement, driver, results.groups)
                if finding is not None and finding.budget is not None:
                    yield measurement, driver, finding


def _section(section: Section, results: Results) -> Iterator[str]:
    found = [
        (measurement, {driver: find(measurement, driver, results.groups) for driver in ("", *ALL)})
        for measurement in section.measurements
    ]
    drivers = [d for d in ("", *ALL) if any(row[d] is not None for _, row in found)]
    if not drivers:
        return
    yield f"## {section.title}\n\n{section.text}"
    budgets = any(measurement.budget is not None for measurement, _ in found)
    header = ["what", "beside", *(["budget"] if budgets else [])]
    header += [_TITLES.get(driver, driver) for driver in drivers]
    rows = []
    for measurement, row in found:
        if any(row[driver] for driver in drivers):
            budget = [_budget(measurement)] if budgets else []
            cells = [_cell(measurement, row[driver]) for driver in drivers]
            rows.append([measurement.what, measurement.peer_name, *budget, *cells])
    yield _table(header, rows)
    yield from (f"![{PLOTS[plot]}](benchmarks/{plot}.svg)" for plot in section.plots)
    findings = {driver: [row[driver] for _, row in found if row[driver]] for driver in drivers}
    yield _notes({driver: [f for f in row if f] for driver, row in findings.items()})


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _budget(measurement: Measurement) -> str:
    if measurement.budget is None:
        return ""
    return _value(measurement.judge, measurement.budget)


def _cell(measurement: Measurement, finding: Finding | None) -> str:
    if finding is None:
        return "—"
    value = _value(measurement.judge, finding.value)
    if finding.share is not None and finding.share > 1:
        value = f"**{value}**"
    if measurement.judge is Judge.TIME:
        return f"{value} (peer {time_text(finding.peer_time)})"
    return f"{value} ({time_text(finding.time)} to {time_text(finding.peer_time)})"


def _value(judge: Judge, value: float) -> str:
    if judge is Judge.RATIO:
        return f"{_digits(value)}{NO_BREAK}x"
    sign = "+" if judge is Judge.OVER and value > 0 else ""
    return sign + time_text(value)


def _digits(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def time_text(time_ns: float) -> str:
    """A time for people, with three digits."""
    for unit, size in (("ns", 1.0), ("us", 1e3), ("ms", 1e6)):
        if abs(time_ns) < 999.5 * size:
            return f"{_digits(time_ns / size)}{NO_BREAK}{unit}"
    return f"{_digits(time_ns / 1e9)}{NO_BREAK}s"


def _notes(findings: dict[str, list[Finding]]) -> str:
    """Which kernels ran, and from how many rounds the medians are."""
    notes = []
    for driver, row in findings.items():
        kernels = _once(f"`{finding.kernel}`" for finding in row if finding.kernel)
        kept = sum(finding.kept for finding in row)
        rounds = sum(finding.round_count for finding in row)
        name = f"{driver}: " if driver else ""
        ran = f"kernels {', '.join(kernels)}; " if kernels else ""
        notes.append(f"{name}{ran}{kept:,} of {rounds:,} rounds kept")
    return f"{'. '.join(notes)}."


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


_HEAD = """\
# Benchmarks

What WIA costs beside the work itself, and beside what programs use otherwise. In each cell stand
the relation to the peer and, in brackets, the two times. What has a budget was designed to it;
budgets are for drivers with native kernels, here the sample driver in C (`examples/native_driver`)
and the simulated NPU. Those of `reference` are written in Python and are reported only; `emulator`
hands through those of the device below it. A budget that is missed stands in bold."""

_TAIL = """\
## How it is measured

What is compared runs in turns in one process, in many short rounds that begin with another one each
time, on operands of the same values. The relation is taken within each round, and the median over
the rounds stands here. Of calls and copies only the calmest quarter of the rounds is kept, those in
which all took the least time: a machine that does other things too disturbs the others. Of what
varies by itself (waking threads, starting programs) every round is kept. The rounds are spread over
three passes through all programs, since a virtual machine's neighbours may slow it down for longer
than a program takes. Look at the peer's time before you compare with another run.

Measured on:

{machine}

To measure again, in a clone of the repository with WIA and its extras `bench` and `npu` installed
(and, for the section with OpenCL, Debian's `pocl-opencl-icd` and `ocl-icd-opencl-dev`):

```sh
python benchmarks
```

It takes some minutes, and writes this page and its plots. `--only stream` runs a part and shows it;
`--seconds 2` gives each group of measurements more time.
[Decision 9](decisions/0009-benchmarks.md) says why it is built so. `wia bench DEVICE` measures the
calls and copies of any device in a few seconds."""
