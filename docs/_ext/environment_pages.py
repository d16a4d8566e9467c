"""A page for each environment variable, and their list: from the map in hal/env.h."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import rst
from header_text import map_rows

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


class Variable(NamedTuple):
    """A row of the map. A maximum of "0" is that of a text."""

    name: str
    default: str
    minimum: str
    maximum: str
    help: str

    @property
    def kind(self) -> str:
        """What values it has."""
        if self.maximum == "0":
            return "a text"
        return f"a whole number from {self.minimum} to {self.maximum}"

    @property
    def default_text(self) -> str:
        """The default as it is shown."""
        return f"``{self.default}``" if self.default else "empty"


def environment_pages() -> dict[str, str]:
    """Return the texts of the pages by file name."""
    table = (ROOT / "hal" / "env.h").read_text(encoding="utf-8")
    variables = [Variable(*row[1:]) for row in map_rows(table, "WIA__ENV_MAP")]
    mentions = _mentions()
    pages = {"environment/index.rst": _index(variables)}
    pages |= {f"environment/{v.name}.rst": _page(v, mentions) for v in variables}
    return {name: "\n".join(lines) for name, lines in pages.items()}


def _index(variables: list[Variable]) -> list[str]:
    lines = rst.title("Environment variables")
    lines += [
        "libwia reads each of them once, when it first needs it. An empty one counts as not set, "
        "and all are ignored in a privileged process (set-user-id and the like). ``wia env`` shows "
        "their values, and ``wia doctor`` what is wrong with them.",
        "",
    ]
    rows = [[f":envvar:`{v.name}`", v.default_text, rst.escape(v.help)] for v in variables]
    lines += rst.table(["variable", "default", "what it does"], rows, "25 15 60")
    lines += rst.title("Options of drivers", "-")
    lines += [
        "A driver reads options of its own through ``get_option``: the option ``threads`` of the "
        "driver ``npu`` is the variable ``WIA_NPU_THREADS``, and the option without a name is "
        "``WIA_NPU``. Its documentation lists them: :doc:`npu </explanation/npu>`, "
        ":doc:`emulator </howto/emulator>`.",
        "",
    ]
    names = [f"   {v.name}" for v in variables]
    return [*lines, ".. toctree::", "   :hidden:", "", *names, ""]


def _page(variable: Variable, mentions: Mapping[str, list[str]]) -> list[str]:
    lines = rst.title(variable.name)
    lines += [f".. envvar:: {variable.name}", "", f"   {rst.escape(variable.help)}", ""]
    lines += rst.table(
        ["", ""],
        [
            ["value", variable.kind],
            ["default", variable.default_text],
            ["read", "once, when libwia first needs it"],
        ],
        "20 80",
    )
    if variable.maximum != "0":
        lines += ["A text that is no such number gives the default, and a warning on the log.", ""]
    pages = mentions.get(variable.name, [])
    if pages:
        lines += rst.title("See also", "-")
        lines += [line for page in pages for line in (f"- :doc:`/{page}`", "")]
    return lines


def _mentions() -> dict[str, list[str]]:
    """The pages of the manual that name a variable, by its name."""
    found: dict[str, list[str]] = {}
    for folder in ("tutorials", "howto", "explanation"):
        for path in sorted((DOCS / folder).glob("*.md")):
            text = path.read_text(encoding="utf-8")
            for name in sorted(set(re.findall(r"\bWIA_[A-Z_]+\b", text))):
                found.setdefault(name, []).append(f"{folder}/{path.stem}")
    return found
