"""Checks of the installed files. It is used without wia too, when that can't be imported: only the
standard library is imported here.
"""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import importlib.util
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "NOTE",
    "OK",
    "REINSTALL",
    "WRONG",
    "Check",
    "check_files",
    "find_compiled",
    "print_plain",
]

OK, NOTE, WRONG = "ok", "note", "wrong"
REINSTALL = "Install wia anew: python -m pip install --force-reinstall wia"


class Check(NamedTuple):
    """What was found: `state` is ok, note (nothing has to be done) or wrong; `remedy` may be ""."""

    name: str
    state: str
    message: str
    remedy: str = ""


def check_files() -> Iterator[Check]:
    """Python, the distribution, the bridge's file and the library beside it."""
    yield Check("python", OK, f"{sys.version.split()[0]}, {sys.executable}")
    yield _check_distributions()
    yield _check_dependencies()
    folder = find_compiled()
    if folder is None:
        yield Check("bridge", WRONG, _missing_bridge(), REINSTALL + ".")
        return
    yield Check("bridge", OK, str(next(_bridges(folder))))
    library = folder / "lib" / "libwia.so.0"
    if not library.is_file():
        yield Check("library", WRONG, f"{library} is missing.", REINSTALL + ".")


def print_plain(checks: Iterable[Check]) -> None:
    """Prints checks without the help of rich, which may be what is missing."""
    for check in checks:
        print(f"{check.state:<6} {check.name}: {check.message}")
        if check.remedy:
            print(f"       {check.remedy}")


def find_compiled() -> Path | None:
    """The folder with the bridge for this Python and lib/; None if there is none.

    In an editable install it is in site-packages, and the sources are elsewhere.
    """
    for folder in _folders():
        if any(_bridges(folder)):
            return folder
    return None


def _check_distributions() -> Check:
    found = importlib.metadata.distributions(name="wia")
    places = sorted({f"{d.version} in {Path(str(d.locate_file(''))).resolve()}" for d in found})
    if not places:
        message = "Python finds a package wia, but no installed distribution of that name."
        return Check("package", WRONG, message, "Install it: python -m pip install wia.")
    if len(places) > 1:
        remedy = "Run python -m pip uninstall wia as often as it finds one, then install it once."
        return Check("package", WRONG, f"wia is installed twice: {'; '.join(places)}.", remedy)
    return Check("package", OK, places[0])


def _check_dependencies() -> Check:
    """Whether the distributions are there that wia asks for, extras left out."""
    try:
        requirements = importlib.metadata.requires("wia") or []
    except importlib.metadata.PackageNotFoundError:
        requirements = []
    names = [re.split(r"[^\w.-]", text)[0] for text in requirements if "extra ==" not in text]
    missing = [name for name in names if not any(importlib.metadata.distributions(name=name))]
    if missing:
        remedy = f"Install them: python -m pip install {' '.join(missing)}."
        return Check("dependencies", WRONG, f"{', '.join(missing)} is missing.", remedy)
    return Check("dependencies", OK, ", ".join(names))


def _folders() -> Iterator[Path]:
    """Where the package is: its sources, and the folders of its distributions."""
    spec = importlib.util.find_spec("wia")
    yield from map(Path, (spec.submodule_search_locations if spec else None) or ())
    for distribution in importlib.metadata.distributions(name="wia"):
        yield Path(str(distribution.locate_file("wia")))


def _bridges(folder: Path) -> Iterator[Path]:
    """The bridge that this Python can import."""
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        path = folder / f"_bridge{suffix}"
        if path.is_file():
            yield path


def _missing_bridge() -> str:
    others = sorted({path.name for folder in _folders() for path in folder.glob("_bridge.*.so")})
    versions = [re.sub(r"_bridge\.cpython-(\d)(\d+)-.*", r"\1.\2", name) for name in others]
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    if versions:
        return f"It was built for Python {', '.join(versions)}; this one needs _bridge{suffix}."
    return f"_bridge{suffix} is missing, looked for in {', '.join(map(str, _folders()))}."
