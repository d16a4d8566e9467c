"""Checks of what runs: the library in this process, drivers, and the default device."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import wia
from wia._cli._installation import NOTE, OK, REINSTALL, WRONG, Check, find_compiled

__all__ = ["check_default_device", "check_drivers", "check_library"]


def check_library() -> Iterator[Check]:
    """One libwia, the package's own, of the package's version and that of the headers."""
    mapped = _mapped()
    folder = find_compiled()
    own = str((folder / "lib" / "libwia.so.0").resolve()) if folder else ""
    found = list(importlib.metadata.distributions(name="wia"))
    installed = found[0].version if found else wia.__version__
    if len(mapped) > 1:
        yield Check(
            "library",
            WRONG,
            f"This process has loaded {len(mapped)}: {', '.join(mapped)}.",
            "A driver brings a libwia of its own: drivers must not link to libwia at all. Tell "
            "its vendor.",
        )
    elif mapped and mapped[0] != own:
        remedy = "Unset LD_LIBRARY_PATH and LD_PRELOAD, or remove that file."
        yield Check("library", WRONG, f"{mapped[0]} was loaded, and not {own}.", remedy)
    elif wia.__version__ != installed:
        message = f"The library is {wia.__version__}, the package {installed}."
        yield Check("library", WRONG, message, f"{REINSTALL}.")
    else:
        yield Check("library", OK, f"{wia.__version__}, {own}")
    if folder is not None:
        yield _check_headers(folder / "include" / "wia" / "version.h")


def check_drivers(report: Sequence[wia.LoadRecord]) -> Iterator[Check]:
    """The entry points, and every driver that can't be used."""
    # A place that can't be looked through stands in the report without a name.
    places = [record for record in report if record.kind == "python" and not record.name]
    announced = sum(record.kind == "python" and bool(record.name) for record in report)
    if not places:
        yield Check("entry points", OK, f"{announced} announce drivers in Python.")
    for record in report:
        name = f"driver {record.name}" if record.name else "drivers"
        if record in places:
            name = "entry points"
        if record.state == "refused":
            message = f"{record.source}: {record.message}"
            yield Check(name, WRONG, message, _remedy(record))
        elif record.state in ("disabled", "duplicate"):
            yield Check(name, NOTE, record.message or record.state)
        else:
            yield Check(name, OK, f"{record.version}, {record.source}")


def check_default_device() -> Check:
    """Whether the default device can be opened, and copies data in and out."""
    try:
        with wia.Context() as context:
            values = context.tensor([1.0, 2.0]).tolist()
    except wia.WiaError as error:
        return Check("default device", WRONG, str(error), "wia devices lists those that there are.")
    name = context.device.name
    if values != [1.0, 2.0]:
        message = f"{name} gave {values} back for [1.0, 2.0]."
        return Check("default device", WRONG, message, "Tell the driver's vendor.")
    return Check("default device", OK, name)


def _mapped() -> list[str]:
    """The files of libwia that are loaded, by any name of theirs."""
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    paths = {line.split(maxsplit=5)[-1] for line in lines if "/libwia.so" in line}
    return sorted(paths)


def _check_headers(path: Path) -> Check:
    if not path.is_file():
        return Check("headers", WRONG, f"{path} is missing.", f"{REINSTALL}.")
    text = path.read_text(encoding="utf-8")
    version = ".".join(re.findall(r"WIA_VERSION_(?:MAJOR|MINOR|PATCH) = (\d+)", text))
    if version != wia.__version__:
        message = f"{path} is of {version}, the library {wia.__version__}."
        return Check("headers", WRONG, message, f"{REINSTALL}.")
    return Check("headers", OK, f"{version}, {path.parent.parent}")


def _remedy(record: wia.LoadRecord) -> str:
    """What to do about a driver that was refused."""
    cause = record.cause.strip().splitlines()
    last = f" Its last words: {cause[-1].strip()}" if cause else ""
    name = record.name or "NAME"
    return (
        f"Mend or remove it, or switch it off with WIA_DRIVERS='*,-{name}'.{last}"
        if record.name
        else f"Mend or remove it.{last}"
    )
