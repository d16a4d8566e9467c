"""The suite for back ends that comes with the package onnx, run on WIA.

`python onnx_suite.py` runs all 2,033 cases in two processes, and compares what doesn't pass with
golden/onnx_not_passing.txt. `--update` writes that file; `--device npu:0` takes another device than
reference:0, which has a file of its own if there is a difference. `--report` lists where the nodes
of each case ran.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

GOLDEN = Path(__file__).parents[1] / "golden"
DEFAULT = "reference:0"
HEADING = """\
# Cases of the ONNX backend suite that don't pass on the {driver} driver, by reason. Written by
# `python onnx_suite.py --update`. Each raises an error of WIA, or is right for the reason given.
"""

_HALVES = (
    "float16: two elements of 192 are two units in the last place off, since each step here rounds "
    "once and numpy's product, which the case was made with, adds in float16"
)
RANDOM = re.compile(r"test_(training_dropout|bernoulli|random)")
"""Cases with random numbers: compared by shape, dtype and mean."""
_ZEROS = "the transform gives 0, which the case has as 2e-7 and compares with a bound of 1e-7"
NOT_WRONG = {
    "test_dft_inverse": _ZEROS,
    "test_dft_inverse_opset19": _ZEROS,
    "test_attention_4d_causal_fp16_expanded": _HALVES,
    "test_loop16_seq_none": "onnx's comparison takes no rank 0 in a sequence; the values are equal",
}
"""Cases that the comparison fails, though the result is what it should be."""

PLACES = ("device", "reference", "shapes", "host")
_running = [""]
"""The case that runs now."""


class Outcome(NamedTuple):
    """What became of a case; ``reason`` is empty where it passed."""

    name: str
    reason: str
    wrong: bool
    seconds: float
    places: dict[str, int]


@cache
def tests() -> dict[str, Any]:
    """The tests of onnx's own runner by name, those of its CPU."""
    import onnx.backend.test

    import wia.onnx.backend as backend

    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        suite = onnx.backend.test.BackendTest(_Backend, __name__)
        usual = suite.assert_similar_outputs
        setattr(suite, "assert_similar_outputs", _choose_comparison(usual))  # noqa: B010
    assert backend.supports_device("CPU")
    for case in suite.test_cases.values():
        for name in dir(case):
            if name.startswith("test_") and name.endswith("_cpu"):
                found[name.removesuffix("_cpu")] = (case, name)
    return found


def _make_backend() -> type:
    """WIA's back end on the chosen device, which keeps its last session."""
    from wia.onnx.backend import WiaBackend

    class Backend(WiaBackend):
        sessions: tuple[Any, ...] = ()

        @classmethod
        def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> Any:
            chosen = os.environ.get("WIA_ONNX_SUITE_DEVICE", "CPU")
            made = super().prepare(model, chosen, **kwargs)
            cls.sessions = (made.session,)
            return made

    return Backend


def _choose_comparison(usual: Any) -> Any:
    """onnx's comparison, another one for the case that runs now if it is one of random numbers."""

    def compare(ref_outputs: Any, outputs: Any, **more: Any) -> None:
        chosen = _compare_random if RANDOM.match(_running[0]) else usual
        chosen(ref_outputs, outputs, **more)

    return compare


def _compare_random(expected: Any, got: Any, **_: Any) -> None:
    """Whether random outputs are such as the expected ones: shape, dtype, and the mean of 60."""
    import numpy as np

    for one, other in zip(expected, got, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        wide, spread = other.astype(np.float64), one.astype(np.float64)
        error = 5 * (spread.std() + wide.std() + 0.1) / np.sqrt(max(wide.size, 1))
        assert abs(wide.mean() - spread.mean()) <= error


_Backend = _make_backend()


def run(name: str) -> Outcome:
    """Runs one case."""
    import numpy as np

    from wia import WiaError

    case, method = tests()[name]
    _Backend.sessions = ()  # type: ignore[attr-defined]
    _running[0] = name
    start = time.perf_counter()
    reason, wrong = "", False
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            getattr(case(method), method)()
        except WiaError as error:
            reason = _short(str(error))
        except Exception as error:
            reason, wrong = _short(f"{type(error).__name__}: {error}"), name not in NOT_WRONG
            reason = NOT_WRONG.get(name, reason)
    places: dict[str, int] = {}
    if not reason:
        for session in _Backend.sessions:  # type: ignore[attr-defined]
            placement = session.placement()
            places = {n: len(getattr(placement, n)) for n in placement._fields[:4]}
    return Outcome(name, reason, wrong, time.perf_counter() - start, places)


def _short(text: str) -> str:
    """A reason that many cases share: without the node's name and the shapes."""
    text = " ".join(text.split())
    found = re.match(r"node '.*?' \((\S+?)-\d+\) with inputs \(.*?\): (.*)", text)
    return (f"{found[1]}: {found[2]}" if found else text)[:200]


def run_all(names: Sequence[str], processes: int = 2) -> list[Outcome]:
    """Runs cases; onnx keeps expected outputs of large models in a folder that goes again."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ONNX_MODELS"] = folder
        with ProcessPoolExecutor(processes) as pool:
            return list(pool.map(run, names, chunksize=16))


def golden(device: str = DEFAULT) -> Path:
    """The file of what doesn't pass on a device."""
    driver = device.partition(":")[0]
    return GOLDEN / f"onnx_not_passing{'' if driver == 'reference' else '_' + driver}.txt"


def not_passing(device: str = DEFAULT) -> dict[str, str]:
    """The reasons that the file has, by case; those of the reference driver without a file."""
    path = golden(device) if golden(device).exists() else GOLDEN / "onnx_not_passing.txt"
    return dict(_read(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _read(text: str) -> Iterator[tuple[str, str]]:
    reason = ""
    for line in text.splitlines():
        if line.startswith("  "):
            yield line.strip(), reason
        elif line and not line.startswith("#"):
            reason = line


def write(outcomes: Sequence[Outcome], device: str) -> None:
    """Writes the file of those that don't pass."""
    groups: dict[str, list[str]] = {}
    for outcome in outcomes:
        if outcome.reason:
            groups.setdefault(outcome.reason, []).append(outcome.name)
    parts = [HEADING.format(driver=device.partition(":")[0])]
    for reason in sorted(groups):
        parts.append("\n".join([reason, *(f"  {name}" for name in sorted(groups[reason]))]) + "\n")
    golden(device).write_text("\n".join(parts), encoding="utf-8")


def write_report(outcomes: Sequence[Outcome], path: Path) -> None:
    """Writes a table of all cases: the nodes by place, or why it doesn't pass."""
    lines = ["case\tdevice\treference\tshapes\thost\treason"]
    for outcome in outcomes:
        counts = [str(outcome.places.get(place, "")) for place in PLACES]
        lines.append("\t".join([outcome.name, *counts, outcome.reason]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def summarize(outcomes: Sequence[Outcome]) -> str:
    """How many cases have their operations on the device, wholly or in part."""
    wholly = sum(1 for o in outcomes if o.places.get("device") and not o.places.get("reference"))
    partly = sum(1 for o in outcomes if o.places.get("device") and o.places.get("reference"))
    return f"{wholly} cases ran on the device, {partly} in part"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the suite and tells the result."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pattern", nargs="?", default="", help="of the names of cases")
    parser.add_argument("--update", action="store_true", help="write the file of what doesn't pass")
    parser.add_argument("--device", default=DEFAULT)
    parser.add_argument("--report", type=Path, metavar="FILE", help="write where each case ran")
    options = parser.parse_args(arguments)
    os.environ["WIA_ONNX_SUITE_DEVICE"] = options.device
    names = [name for name in sorted(tests()) if re.search(options.pattern, name)]
    outcomes = run_all(names)
    failed = [outcome for outcome in outcomes if outcome.reason]
    places = sum((Counter(outcome.places) for outcome in outcomes), Counter[str]())
    known = not_passing(options.device)
    print(f"{len(outcomes) - len(failed)} of {len(outcomes)} pass on {options.device}")
    print("nodes:", ", ".join(f"{count} {place}" for place, count in places.items()))
    print(summarize(outcomes))
    if options.report:
        write_report(outcomes, options.report)
    for outcome in sorted(outcomes, key=lambda item: -item.seconds)[:3]:
        print(f"slow: {outcome.name}, {outcome.seconds:.1f} s")
    bad = [o for o in failed if o.wrong or (not options.update and o.name not in known)]
    for outcome in bad:
        print(f"{'WRONG' if outcome.wrong else 'new'}: {outcome.name}: {outcome.reason}")
    stale = sorted(known.keys() & {o.name for o in outcomes if not o.reason})
    if options.update and not options.pattern:
        write(outcomes, options.device)
    elif stale:
        print(f"pass now, so --update is due: {', '.join(stale)}")
    return 1 if bad or (stale and not options.update) else 0


if __name__ == "__main__":
    sys.exit(main())
