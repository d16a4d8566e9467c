"""Malformed entry points and metadata: one process of `python tests/fuzz entry_points`.

Distributions with anything in them are put on the path beside a good one. Whatever they are, the
good driver works, what is broken is in the load report with a message, and asking for it is an
error of WIA.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

import wia

DISTRIBUTIONS = 25
GOOD = """
from wia.driver import Driver

class Test(Driver):
    name = "fuzz_good"
"""
# What an import of it does, besides giving no driver.
MODULES = {
    "fuzz_raising": "raise ValueError('\\udcff is no text')",
    "fuzz_ending": "raise SystemExit(3)",
    "fuzz_deep": "def f():\n    f()\nf()",
    "fuzz_broken": "this is no Python",
    "fuzz_odd": "class Test:\n    name = 5\nclass Dict(dict): pass\nvalue = None\n",
    "fuzz_names": (
        "from wia.driver import Driver\n"
        "class A(Driver):\n    name = 'fuzz_a'\n"
        "class B(Driver):\n    name = None\n"
        "class C(Driver):\n    name = 'C\\x00'\n"
        "class D(Driver):\n    name = 'fuzz_d'\n"
        "    def __init__(self): raise KeyboardInterrupt\n"
    ),
}
VALUES = (
    "fuzz_raising:Test",
    "fuzz_ending:Test",
    "fuzz_deep:Test",
    "fuzz_broken:Test",
    "fuzz_odd:Test",
    "fuzz_odd:Dict",
    "fuzz_odd:value",
    "fuzz_names:A",
    "fuzz_names:B",
    "fuzz_names:C",
    "fuzz_names:D",
    "fuzz_absent:Test",
    "sys:exit",
    "os.path",
    "wia.driver:Driver",
    ":",
    "fuzz_odd:Test [extra]",
    "fuzz-odd:Test",
    "",
)
PIECES = (
    "=",
    "\n",
    "[",
    "]",
    "[wia.drivers]\n",
    ":",
    " ",
    "\x00",
    "\ufeff",
    "é",
    "\udcff",
    ".",
    "#",
)


def mutate(pick: random.Random, text: str) -> str:
    """A change or two at random places."""
    for _ in range(pick.choice((0, 1, 1, 2, 4))):
        at = pick.randrange(len(text) + 1)
        how = pick.randrange(3)
        if how == 0:
            text = text[:at] + text[at + pick.randrange(1, 6) :]
        else:
            text = text[:at] + pick.choice(PIECES) + text[at:]
    return text


def write(path: Path, text: str) -> None:
    """A file with what is no text, too."""
    path.write_bytes(text.encode("utf-8", "surrogatepass"))


def make(pick: random.Random, folder: Path) -> list[str]:
    """Put distributions into a folder; return the names that their entry points were made with."""
    names = []
    for module, source in MODULES.items():
        write(folder / f"{module}.py", source)
    for number in range(DISTRIBUTIONS):
        info = folder / f"fuzz_{number}-1.0.dist-info"
        info.mkdir()
        names.append(pick.choice((f"fuzz_{number}", "fuzz_a", "fuzz_d", "Fuzz", "")))
        metadata = f"Metadata-Version: 2.1\nName: fuzz-{number}\nVersion: 1.0\n"
        listed = f"[wia.drivers]\n{names[-1]} = {pick.choice(VALUES)}\n"
        if pick.random() < 0.9:
            write(info / "METADATA", metadata if pick.random() < 0.6 else mutate(pick, metadata))
        write(info / "entry_points.txt", mutate(pick, listed))
    info = folder / "fuzz_good-1.0.dist-info"
    info.mkdir()
    write(folder / "fuzz_good.py", GOOD)
    write(info / "METADATA", "Metadata-Version: 2.1\nName: fuzz-good\nVersion: 1.0\n")
    write(info / "entry_points.txt", "[wia.drivers]\nfuzz_good = fuzz_good:Test\n")
    return names


def expect(holds: bool, what: object) -> None:
    """End the process with what was wrong."""
    if not holds:
        raise AssertionError(what)


def check_driver(name: str) -> None:
    """It works, or there is an error that says why not."""
    try:
        wia.Context(name).close()
    except wia.WiaError as error:
        expect(len(str(error)) > 10, repr(error))


def check_reports() -> None:
    """What is refused says why; asked for, each record is a driver or an error."""
    for record in wia.load_report():
        if record.state == "refused":
            expect(bool(record.message), record)
    for record in wia.load_report():
        if record.name:
            check_driver(record.name)
    states = {record.name: record.state for record in wia.load_report()}
    expect(states["fuzz_good"] == "loaded", states)
    expect(states["reference"] == "loaded", states)


def main() -> None:
    """Run one case: `entry_points.py SEED 1`. A process looks for drivers once."""
    seed, _ = map(int, sys.argv[1:])
    print(f"case {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="wia-fuzz-") as folder:
        names = make(random.Random(seed), Path(folder))
        sys.path.insert(0, folder)
        wia.Context("fuzz_good").close()
        expect(wia.Context("reference").tensor([1.0]).tolist() == [1.0], "a wrong tensor")
        for name in filter(None, names):
            check_driver(name)
        check_reports()


if __name__ == "__main__":
    main()
