"""The plots of the page, as SVG. The same samples give the same files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from page import budgeted, time_text
from run import Results
from table import (
    ALL,
    ALLOCATIONS,
    CALM,
    DIRECTIONS,
    NATIVE,
    SECTIONS,
    SIZES,
    THREADS,
    Judge,
    Measurement,
    find,
)

COLOURS = ("#2f6690", "#b3402a", "#3b7a57", "#8a5a9e", "#7a7a7a")


def draw(results: Results, folder: Path) -> None:
    """Writes all of them into a folder."""
    import matplotlib

    # Text stays text: small files, and words that can be found.
    matplotlib.rcParams.update({"svg.hashsalt": "wia", "svg.fonttype": "none", "font.size": 9})
    for path in folder.glob("*.svg"):
        path.unlink()
    for name, plot in PLOTS.items():
        figure = plot(results)
        if figure is not None:
            _save(figure, folder / f"{name}.svg")


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"'DejaVu Sans'[^;\"]*", "sans-serif", text)
    text = re.sub(r"\s*\n\s*", " ", text)  # a point of a path has a line of its own
    text = re.sub(r"> *(<g id=\"(?:axes|legend|matplotlib)|</svg>)", r">\n\1", text)
    path.write_text(f"{text.strip()}\n", encoding="utf-8")


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _budgets(results: Results) -> Any:
    shown = list(budgeted(results))[::-1]
    if not shown:
        return None
    figure = _figure(9, 0.27 * len(shown) + 1)
    axes = figure.subplots()
    shares = [finding.share or 0.0 for _, _, finding in shown]
    labels = [f"{_plain(m)}{f' ({driver})' if driver else ''}" for m, driver, _ in shown]
    colours = [COLOURS[2] if share <= 1 else COLOURS[1] for share in shares]
    bars = axes.barh(range(len(shown)), shares, tick_label=labels, color=colours)
    axes.axvline(1, color="black", linewidth=1, zorder=0)
    values = [
        f"{f.value:.3g} x" if m.judge is Judge.RATIO else time_text(f.value) for m, _, f in shown
    ]
    white = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    axes.bar_label(bars, values, padding=4, bbox=white)
    axes.set_xlim(0, max(1.3, *shares) * 1.15)
    axes.set_ylim(-0.7, len(shown) - 0.3)
    axes.set_xlabel("share of the budget")
    return figure


def _plain(measurement: Measurement) -> str:
    what = measurement.what.replace("`", "")
    return f"{what} to {measurement.peer_name}" if measurement.judge is Judge.RATIO else what


def _streams(results: Results) -> Any:
    """What waits, or is there to be waited for, over its peer: a bar for each native driver."""
    sections = ("Graphs", "Streams and events", "Beside OpenCL")
    rows = [
        measurement
        for section in SECTIONS
        if section.title in sections
        for measurement in section.measurements
        if measurement.judge is Judge.RATIO and measurement.subject != "idle"
    ]
    found = [(m, [find(m, driver, results.groups) for driver in NATIVE]) for m in rows[::-1]]
    found = [(m, of_each) for m, of_each in found if any(of_each)]
    if not found:
        return None
    figure = _figure(9, 0.32 * len(found) + 1)
    axes = figure.subplots()
    for i, (driver, colour) in enumerate(zip(NATIVE, COLOURS, strict=False)):
        bars = [
            (row + 0.2 - 0.4 * i, finding.value)
            for row, (_, of_each) in enumerate(found)
            if (finding := of_each[i]) is not None
        ]
        drawn = axes.barh(*zip(*bars, strict=True), height=0.38, color=colour, label=driver)
        axes.bar_label(drawn, fmt="{:.3g} x", padding=3, fontsize=7)
    axes.axvline(1, color="black", linewidth=1, zorder=0)
    labels = [f"{m.what.replace('`', '')} / {m.peer_name}" for m, _ in found]
    axes.set_yticks(range(len(found)), labels)
    axes.set_ylim(-0.7, len(found) - 0.3)
    axes.set_xscale("log")
    axes.margins(x=0.1)
    axes.set_xlabel("time, peer = 1")
    axes.legend(frameon=False)
    return figure


def _copies(results: Results) -> Any:
    return _by_size(results, "copy", DIRECTIONS, "memcpy")


def _allocation(results: Results) -> Any:
    texts = {way: text.replace("`", "") for way, text in ALLOCATIONS.items()}
    return _by_size(results, "allocate", texts, "malloc", log=True)


def _by_size(
    results: Results, group: str, ways: dict[str, str], peer: str, *, log: bool = False
) -> Any:
    """Times over those of the peer, of each device."""
    drivers = [d for d in ALL if ("memory", d, f"{group} {min(SIZES)}") in results.groups]
    if not drivers:
        return None
    figure = _figure(9, 2.8)
    panels = figure.subplots(1, len(drivers), sharey=True, squeeze=False)[0]
    for axes, driver in zip(panels, drivers, strict=True):
        for (way, text), colour in zip(ways.items(), COLOURS, strict=False):
            ratios = [_ratio(results, "memory", driver, f"{group} {s}", way, peer) for s in SIZES]
            axes.plot(range(len(SIZES)), ratios, marker="o", markersize=3, color=colour, label=text)
        axes.axhline(1, color="black", linewidth=0.8, zorder=0)
        axes.set_title(driver)
        axes.set_xticks(range(len(SIZES)), SIZES.values(), rotation=45)
        if log:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
    panels[0].set_ylabel(f"time, {peer} = 1")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False
    )
    return figure


def _ratio(
    results: Results, program: str, driver: str, group: str, subject: str, peer: str
) -> float:
    measurement = Measurement("", program, group, subject, peer, "", keep=CALM)
    finding = find(measurement, driver, results.groups)
    return float("nan") if finding is None else finding.value


def _threads(results: Results) -> Any:
    variants = {"direct": "direct calls", "own": "a context each", "shared": "one context"}
    panels = [(driver, "threads", driver, variants) for driver in NATIVE]
    streams = {"wia": "WIA, a stream each", "OpenCL": "OpenCL, a queue each"}
    panels.append(("enqueued", "opencl", "sample", streams))
    return _by_threads(results, panels)


def _python(results: Results) -> Any:
    variants = {"own": "a context each", "shared": "one context"}
    variants |= {"numpy": "numpy.add", "onnxruntime": "onnxruntime"}
    return _by_threads(results, [(driver, "calls", driver, variants) for driver in NATIVE])


def _by_threads(results: Results, panels: Sequence[tuple[str, str, str, dict[str, str]]]) -> Any:
    """Million calls a second of all threads together."""
    from matplotlib.ticker import LogLocator

    panels = [panel for panel in panels if (panel[1], panel[2], "threads 1") in results.groups]
    if not panels:
        return None
    figure = _figure(9, 3)
    every = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (title, program, driver, variants) in zip(every, panels, strict=True):
        for (variant, text), colour in zip(variants.items(), COLOURS, strict=False):
            speeds = []
            for count in THREADS:
                measurement = Measurement("", program, f"threads {count}", variant, variant, "")
                finding = find(measurement, driver, results.groups)
                speeds.append(float("nan") if finding is None else 1e3 / finding.time)
            axes.plot(THREADS, speeds, marker="o", markersize=3, color=colour, label=text)
        axes.set_title(title)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(THREADS, map(str, THREADS))
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.set_xlabel("threads")
        axes.legend(frameon=False)
    every[0].set_ylabel("million calls a second")
    return figure


PLOTS: dict[str, Callable[[Results], Any]] = {
    "budgets": _budgets,
    "streams": _streams,
    "copies": _copies,
    "allocation": _allocation,
    "threads": _threads,
    "python": _python,
}
