"""Asks trained models from packages something that a person can check, on WIA beside onnxruntime.

`python ask.py` installs the packages of the models, and nothing else, into a folder, and runs each
model on reference:0 (`--device` takes others). It fails where an answer is wrong, or outputs are
further from onnxruntime's than is stated. With `--output` it also writes a picture of each answer
and a table with a row for each device. Needs the extra wia[models].
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import filetypes
import nsfw
import pitch
import reading
import similarity
import voice
from running import Answer, Model, Runner

MODELS = {
    "nsfw": nsfw.MODEL,
    "filetypes": filetypes.MODEL,
    "pitch": pitch.MODEL,
    "voice": voice.MODEL,
    "similarity": similarity.MODEL,
    "lines": reading.LINES,
    "text": reading.TEXT,
}
SIZES = {"nsfw": (8, 3), "filetypes": (8, 3.6), "similarity": (7, 3.2), "lines": (6, 3.4)}


class Finding(NamedTuple):
    """What came of a model on a device; ``ratio`` is the time beside that of the first device."""

    device: str
    answer: Answer
    difference: float
    places: dict[str, int]
    seconds: float
    ratio: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Asks the models and tells their answers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--device", action="append", metavar="DEVICE", help="may be repeated")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="write pictures and tables")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in MODELS]
    if unknown:
        parser.error(f"there is no model {', '.join(unknown)}; there are {', '.join(MODELS)}")
    wrong = 0
    for name in options.names or MODELS:
        model = MODELS[name]
        findings = ask(model, options.device or ["reference:0"], again=bool(options.output))
        wrong += sum(not tell(name, model, finding) for finding in findings)
        if options.output:
            options.output.mkdir(parents=True, exist_ok=True)
            text = table(findings)
            (options.output / f"{name}_devices.md").write_text(text, encoding="utf-8")
            save(findings[0].answer, options.output / f"{name}.svg", SIZES.get(name, (7, 3.6)))
    return 1 if wrong else 0


def ask(model: Model, devices: Sequence[str], *, again: bool) -> list[Finding]:
    """Asks a model on each device; again: twice, and the time is the second, nothing prepared."""
    found: list[Finding] = []
    for device in devices:
        run = Runner(model.path, device)
        answer = model.ask(run)
        if again:
            run.seconds = 0.0
            answer = model.ask(run)
        ratio = run.seconds / found[0].seconds if found else 1.0
        found.append(Finding(device, answer, run.difference, run.places, run.seconds, ratio))
        run.close()
    return found


def tell(name: str, model: Model, found: Finding) -> bool:
    """Prints an answer, and says whether it is right."""
    close = found.difference <= model.tolerance
    verdict = "" if found.answer.right and close else "  WRONG" if close else "  TOO FAR OFF"
    off = f"{found.difference:.1e} of {model.tolerance:.0e} off onnxruntime"
    print(f"{name} on {found.device}: {found.answer.text}")
    print(f"    {off}, {found.seconds:.1f} s{verdict}", flush=True)
    return not verdict


def table(findings: Sequence[Finding]) -> str:
    """A table in Markdown with a row for each device."""
    lines = [
        f"| device | answer | furthest from onnxruntime | nodes | time / {findings[0].device} |",
        "| --- | --- | --- | --- | --- |",
    ]
    for found in findings:
        places = ", ".join(f"{count} {place}" for place, count in found.places.items() if count)
        cells = (found.answer.text, f"{found.difference:.0e}", places, f"{found.ratio:.2g}")
        lines.append(f"| `{found.device}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def save(answer: Answer, path: Path, size: tuple[float, float]) -> None:
    """Draws an answer. The same answer gives the same file."""
    import matplotlib
    from matplotlib.figure import Figure

    # Text stays text: small files, and words that can be found.
    matplotlib.rcParams.update({"svg.hashsalt": "wia", "svg.fonttype": "none", "font.size": 8})
    figure: Any = Figure(figsize=size, layout="constrained")
    answer.draw(figure)
    none = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that no font here has stay letters in the file
        figure.savefig(path, metadata=none)
    text = path.read_text(encoding="utf-8")
    path.write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
