"""Measures the budgets of the architecture page and writes the page of the manual.

    python benchmarks [--output FOLDER] [--build FOLDER]

Prints the table too. A budget that is missed is shown, and is no failure: times are not asserted.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import report
import run


def main() -> None:
    """Runs the command line."""
    root = Path(__file__).resolve().parents[1]
    summary = "Measures the budgets and writes the page of the manual."
    parser = argparse.ArgumentParser(prog="python benchmarks", description=summary)
    parser.add_argument(
        "--output",
        type=Path,
        default=root / "docs",
        metavar="FOLDER",
        help="where benchmarks.md and benchmarks.svg go (docs)",
    )
    parser.add_argument(
        "--build",
        type=Path,
        default=root / "build" / "benchmarks",
        metavar="FOLDER",
        help="where the C programs are built (build/benchmarks)",
    )
    arguments = parser.parse_args()
    results = run.run(run.build(arguments.build))
    text = report.page(results)
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "benchmarks.md").write_text(text, encoding="utf-8")
    report.plot(results, arguments.output / "benchmarks.svg")
    print(text)


if __name__ == "__main__":
    main()
