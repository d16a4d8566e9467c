"""Checks of the environment variables: names that nothing reads, and values that say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import wia
from wia._cli._installation import NOTE, OK, WRONG, Check
from wia._cli._variables import Variable, closest, driver_option, other_names, variables

__all__ = ["check_variables"]


def check_variables(report: Sequence[wia.LoadRecord]) -> Iterator[Check]:
    """Every set variable that begins with WIA_."""
    known = variables()
    drivers = sorted({record.name for record in report if record.name})
    checks = [_check_value(item, drivers) for item in known if item.value is not None]
    checks += [_check_name(name, value, known, drivers) for name, value in other_names(known)]
    if not checks:
        yield Check("variables", OK, "none is set")
    yield from checks


def _check_value(item: Variable, drivers: Sequence[str]) -> Check:
    value = item.value or ""
    problem, remedy = "", ""
    if item.malformed:
        problem = f"expected a whole number from {item.minimum} to {item.maximum}; "
        problem += f"the default {item.default} is used"
        remedy = f"Set it to such a number, or unset it: unset {item.name}."
    elif item.name in _TEXTS:
        problem, remedy = _TEXTS[item.name](value, drivers)
    if problem:
        return Check(item.name, WRONG, f"{value!r}: {problem}.", remedy)
    return Check(item.name, OK, repr(value))


def _check_name(name: str, value: str, known: Sequence[Variable], drivers: Sequence[str]) -> Check:
    owner = driver_option(name, drivers)
    if owner is not None:
        return Check(name, OK, f"{value!r}, an option of the driver {owner[0]}")
    near = closest(name, [item.name for item in known])
    if near:
        remedy = f"Did you mean {near}? wia env lists all variables."
        return Check(name, WRONG, "Nothing reads a variable of this name.", remedy)
    return Check(name, NOTE, "Nothing of WIA reads a variable of this name, unless a driver does.")


# -- values of the texts: a problem and its remedy, both "" if there is none ----------------------


def _default_device(value: str, drivers: Sequence[str]) -> tuple[str, str]:
    name = re.sub(r":0+$", "", value)
    if name in drivers:
        return "", ""
    if re.fullmatch(r"[a-z][a-z0-9_]*:\d+", value):
        return (
            "a default is a driver, whose first device it is",
            f"Leave out :{value.split(':')[1]}.",
        )
    return "no driver of this name was found", _suggest(name, drivers)


def _drivers(value: str, drivers: Sequence[str]) -> tuple[str, str]:
    for pattern in value.split(","):
        bare = pattern.strip().removeprefix("-")
        if not any(fnmatchcase(name, bare) for name in drivers):
            return f"no driver that was found matches {bare!r}", _suggest(bare, drivers)
    return "", ""


def _driver_path(value: str, drivers: Sequence[str]) -> tuple[str, str]:
    missing = [folder for folder in value.split(":") if folder and not Path(folder).is_dir()]
    if not missing:
        return "", ""
    return f"there is no folder {', '.join(missing)}", "Make it, or leave it out."


def _libpython(value: str, drivers: Sequence[str]) -> tuple[str, str]:
    if Path(value).is_file():
        return "", ""
    return "there is no such file", "Set it to the path of a libpython3.*.so, or unset it."


def _suggest(name: str, drivers: Sequence[str]) -> str:
    near = closest(name, drivers)
    meant = f"Did you mean {near}? " if near else ""
    return f"{meant}The drivers are {', '.join(drivers) or 'none'}."


_TEXTS = {
    "WIA_DEFAULT_DEVICE": _default_device,
    "WIA_DRIVERS": _drivers,
    "WIA_DRIVER_PATH": _driver_path,
    "WIA_LIBPYTHON": _libpython,
}
