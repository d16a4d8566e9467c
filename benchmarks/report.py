"""The numbers beside their budgets: a page of the manual with a table, and a plot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from run import Results


@dataclass(frozen=True)
class Row:
    """One budget. ``limit`` and ``value`` have the same unit; a limit of None is report only."""

    what: str
    beside: str
    value: float
    limit: float | None
    unit: str

    @property
    def measured(self) -> str:
        """The value with three digits, or all before the point, and its unit."""
        text = f"{self.value:.3g}" if self.value < 1000 else f"{self.value:,.0f}"
        return f"{text} {self.unit}"

    @property
    def share(self) -> float | None:
        """How much of the budget is used; above 1 it is missed."""
        return None if self.limit is None else self.value / self.limit


def rows(results: Results) -> list[Row]:
    """The table of the architecture page, measured."""
    dispatch, stream, python = results.dispatch, results.stream, results.python
    found = [
        Row(
            f"{what}, {op}",
            f"direct call, {times['direct']['ns']:.1f} ns",
            times[variant]["over_ns"],
            limit,
            "ns more",
        )
        for variant, what, limit in (
            ("table", "call through the table", 3.0),
            ("plan", "`wia_execute_plan`", 25.0),
            ("call", "`wia_<op>`, kernel in the cache", 40.0),
        )
        for op, times in dispatch.items()
    ]
    wake, signal = stream["wake_round_trip_ns"] / 1e3, stream["signal_round_trip_ns"] / 1e3
    call, signal_call = stream["wake_call_ns"] / 1e3, stream["signal_call_ns"] / 1e3
    matmul, add = python["matmul"], python["add"]
    return [
        *found,
        Row("enqueue on a stream, burst of 1,000", "", stream["burst_ns"], 500.0, "ns a call"),
        Row("enqueue that wakes a worker", f"signal, {signal_call:.1f} us", call, None, "us"),
        Row("the same until it is done", f"signal and answer, {signal:.1f} us", wake, None, "us"),
        Row("worker with nothing to do", "", stream["idle_share"] * 100, None, "% of a core"),
        _ratio("`ctx.matmul(a, b, out=c)`, 8x8", matmul, "numpy", "numpy.matmul", 0.5),
        _ratio("`ctx.matmul(a, b, out=c)`, 8x8", matmul, "onnxruntime", "onnxruntime", 0.1),
        _ratio("`ctx.add(a, b, out=c)`, 8 elements", add, "numpy", "numpy.add", 1.0),
        Row(
            "the same two with a kernel in Python",
            f"add {add['reference'] / 1e3:.1f} us",
            matmul["reference"] / 1e3,
            None,
            "us for matmul",
        ),
        Row(
            "`import wia`",
            f"`import cffi`, {results.import_ms['cffi']:.1f} ms",
            results.import_ms["wia"] - results.import_ms["cffi"],
            40.0,
            "ms more",
        ),
        Row(
            "C program, start to first result",
            f"one without a library, {results.start_ms['bare']:.1f} ms",
            results.start_ms["start"],
            20.0,
            "ms",
        ),
    ]


def _ratio(what: str, times: dict[str, float], peer: str, name: str, limit: float) -> Row:
    beside = f"{name}, {times[peer]:.0f} ns, against {times['wia']:.0f} ns"
    return Row(f"{what}, to {name}", beside, times["wia"] / times[peer], limit, "x")


def page(results: Results) -> str:
    """The page in Markdown. It says what was measured and leaves judging to the last column."""
    table = "\n".join(
        f"| {row.what} | {row.beside} | {row.measured} | {_budget(row)} | {_verdict(row)} |"
        for row in rows(results)
    )
    machine = "\n".join(f"- {line}" for line in results.machine)
    return _PAGE.format(table=table, machine=machine)


def _budget(row: Row) -> str:
    return "report only" if row.limit is None else f"{row.limit:g} {row.unit}"


def _verdict(row: Row) -> str:
    if row.share is None:
        return ""
    return "kept" if row.share <= 1 else f"missed, {row.share:.2f} times"


_PAGE = """\
# Benchmarks

What a call costs beside the kernel that it runs, against the budgets that WIA is built to. The
kernels are real ones of the sample driver (`examples/native_driver`): 8 elements added, 8x8
matrices multiplied, in float32.

| what | beside | measured | budget, at most | |
| --- | --- | --- | --- | --- |
{table}

![How much of each budget is used](benchmarks.svg)

Measured on:

{machine}

What is compared runs in turns, in many short rounds, and the medians stand here. Those of the first
six rows are medians of the differences within a round, over the quarter of the rounds that took the
least time in all: a machine that does other things too disturbs the others. To measure again on
yours, in a clone of the repository with WIA and its extra `bench` installed:

```sh
python benchmarks
```

It writes this page and the plot.
"""


def plot(results: Results, path: Path) -> None:
    """Bars of the used share of each budget, as SVG; the same numbers give the same file."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.hashsalt": "wia", "font.size": 9})
    shown = [row for row in rows(results) if row.share is not None][::-1]
    figure = Figure(figsize=(9, 0.36 * len(shown) + 1), layout="constrained")
    axes = figure.subplots()
    shares = [row.share or 0.0 for row in shown]
    labels = [row.what.replace("`", "") for row in shown]
    bars = axes.barh(
        range(len(shown)),
        shares,
        tick_label=labels,
        color=["#3b7a57" if share <= 1 else "#b3402a" for share in shares],
    )
    axes.axvline(1, color="black", linewidth=1, zorder=0)
    white = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    axes.bar_label(bars, [row.measured for row in shown], padding=4, bbox=white)
    axes.set_xlim(0, max(1.3, *shares) * 1.2)
    axes.set_xlabel("share of the budget")
    figure.savefig(path, metadata={"Date": None})
