"""Measures everything in the table and writes the page of the manual: `python benchmarks`.

A budget that is missed is shown, and is no failure: times are not asserted.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

import plots
from page import page
from run import Results, build, run


def main() -> None:
    """Runs the command line."""
    root = Path(__file__).resolve().parents[1]
    summary = "Measures calls, streams, copies, threads and start-up, and writes the page about it."
    parser = argparse.ArgumentParser(prog="python benchmarks", description=summary)
    add = parser.add_argument
    add(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="where benchmarks.md and benchmarks/*.svg go; default: docs, or nowhere with --only",
    )
    add(
        "--build",
        type=Path,
        default=root / "build" / "benchmarks",
        metavar="FOLDER",
        help="where the C programs are built and samples.json goes; default: build/benchmarks",
    )
    add("--only", default="", metavar="TEXT", help="only what has this in its name, as 'copy npu'")
    add(
        "--seconds",
        type=float,
        default=0.5,
        metavar="S",
        help="how long each group of measurements runs, over all passes; default: 0.5",
    )
    add(
        "--passes",
        type=int,
        default=3,
        metavar="N",
        help="how many times all programs run, one after the other; default: 3",
    )
    add("--draw", action="store_true", help="measure nothing: write the last run's page again")
    options = parser.parse_args()
    output = options.output or (None if options.only else root / "docs")
    if output is not None and importlib.util.find_spec("matplotlib") is None:
        parser.error("the page needs matplotlib: pip install 'wia[bench]'")
    samples = options.build / "samples.json"
    if options.draw:
        results = Results.load(samples)
    else:
        build(options.build)
        results = run(
            options.build,
            seconds=options.seconds,
            passes=max(options.passes, 1),
            only=options.only,
            tell=lambda title: print(title, file=sys.stderr, flush=True),
        )
        results.save(samples)
    text = page(results)
    if output is not None:
        folder = output / "benchmarks"
        folder.mkdir(parents=True, exist_ok=True)
        (output / "benchmarks.md").write_text(text + "\n", encoding="utf-8")
        plots.draw(results, folder)
    print(text)


if __name__ == "__main__":
    main()
