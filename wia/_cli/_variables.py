"""The environment variables: the library's table, and what else begins with WIA_."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any, NamedTuple

from wia._native import NULL, ffi, lib, text

__all__ = ["Variable", "closest", "driver_option", "is_set", "other_names", "variables"]


class Variable(NamedTuple):
    """A variable of the library. `value` is None where it is not set.

    `maximum` is 0 for a text; a number is from `minimum` to `maximum`.
    """

    name: str
    value: str | None
    default: str
    minimum: int
    maximum: int
    malformed: bool
    help: str


def variables() -> list[Variable]:
    """The library's own table, with the values of this process."""
    found: list[Variable] = []
    item: Any = ffi.new("wia__variable_t *")
    while lib.wia__get_variable(len(found), item) == 0:
        found.append(
            Variable(
                name=text(item.name),
                value=None if item.value == NULL else text(item.value),
                default=text(item.default_text),
                minimum=item.minimum,
                maximum=item.maximum,
                malformed=bool(item.malformed),
                help=text(item.help),
            )
        )
    return found


def is_set(name: str) -> bool:
    """Whether a variable of the library is set to something."""
    return any(variable.name == name and variable.value for variable in variables())


def other_names(known: Iterable[Variable]) -> Iterator[tuple[str, str]]:
    """Names and values of set variables that begin with WIA_ and are not in the table."""
    names = {variable.name for variable in known}
    for name, value in sorted(os.environ.items()):
        if name.startswith("WIA_") and name not in names:
            yield name, value


def driver_option(name: str, drivers: Iterable[str]) -> tuple[str, str] | None:
    """Driver and option of a variable such as WIA_NPU_THREADS; None if it is of no driver."""
    rest = name.removeprefix("WIA_").lower()
    for driver in sorted(drivers, key=len, reverse=True):
        if rest == driver or rest.startswith(f"{driver}_"):
            return driver, rest[len(driver) + 1 :]
    return None


def closest(word: str, words: Iterable[str]) -> str:
    """The word that was probably meant; "" if none is near."""
    near = get_close_matches(word, list(words), n=1, cutoff=0.75)
    return near[0] if near else ""
