"""Which driver of this repository has which operation in which dtype, as the drivers say.

`wia ops --json` asks them, in a process of its own: so the sample driver can be among them, which
is compiled for that.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import rst

import wia
from wia._config import prefix
from wia_conformance import list_cases
from wia_conformance._kinds import count_kinds

__all__ = ["read_support", "support_page", "support_section"]

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "examples" / "native_driver"
_TEXT = """\
What the drivers of this repository have kernels for, as they say themselves when this manual is
made; the conformance suite compares what they say with what they do. ``sample`` is the native
driver of ``examples/native_driver``; ``emulator`` has what the device below it has. The same, for
the devices of your machine: ``wia ops``. As data: :download:`support.json <support.json>`.
"""
_CASES = """\
How many each operation has, in all dtypes; a case may be of several kinds. ``widths``: sizes
around those of vectors; ``range``: large, small and denormal numbers; ``gaps``, ``negative`` and
``stride 0``: strides; ``calls``: on a stream, and a plan that runs twice. The same as text:
``wia-conformance list --count``."""
_GROUPS: Mapping[str, Sequence[str]] = {
    "floats": ("float64", "float32", "float16", "bfloat16"),
    "float8": (
        *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"),
        "float8_e8m0fnu",
    ),
    "integers": (
        *("int64", "int32", "int16", "int8"),
        *("uint64", "uint32", "uint16", "uint8"),
    ),
    "complex": ("complex64", "complex128"),
    "below a byte": ("float4_e2m1fn", "int4", "int2", "uint4", "uint2"),
}


def read_support() -> dict[str, Any]:
    """What `wia ops --json` says, by driver instead of device."""
    with tempfile.TemporaryDirectory() as folder:
        flags = ["-std=c11", "-O1", "-fPIC", "-shared", f"-I{prefix()}/include"]
        library = Path(folder, "libwia_sample.so")
        sources = sorted(SAMPLE.glob("*.c"))
        subprocess.run(["cc", *flags, *sources, "-lm", "-o", library], check=True)
        shutil.copy(SAMPLE / "sample.manifest", folder)
        done = subprocess.run(
            [sys.executable, "-m", "wia._cli", "ops", "--json"],
            env={**os.environ, "WIA_DRIVER_PATH": folder},
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
    found: dict[str, Any] = json.loads(done.stdout)
    drivers = [name.partition(":")[0] for name in found.pop("devices")]
    for row in found["operations"]:
        row["support"] = dict(zip(drivers, row["support"].values(), strict=True))
    counts = count_kinds(list_cases())
    for row in found["operations"]:
        row["cases"] = counts[row["name"]]
    return {"version": wia.__version__, "drivers": drivers, "operations": found["operations"]}


def support_section(operation: Mapping[str, Any]) -> list[str]:
    """The section of an operation's page."""
    rows = [[driver, _words(operation, driver)] for driver in operation["support"]]
    lines = rst.title("Drivers", "-")
    lines += [*rst.table(["Driver", "dtypes"], rows), "All of them: :doc:`support`.", ""]
    cases = operation["cases"]
    lines += [
        "Its cases in the conformance suite, in all dtypes, and how many are of each kind:",
        "",
    ]
    return [*lines, *rst.table([*cases], [[str(count or "-") for count in cases.values()]])]


def support_page(support: Mapping[str, Any]) -> str:
    """The page with the table of all operations."""
    lines = [*rst.title("Operations, dtypes and drivers"), *_TEXT.splitlines(), ""]
    lines += rst.title("How many", "-")
    lines += rst.table(["Driver", "operations", "pairs of operation and dtype"], _counts(support))
    lines += rst.title("All", "-")
    lines += [".. raw:: html", "", *rst.indent(list(_html(support))), ""]
    lines += rst.title("Cases of the conformance suite", "-")
    lines += [_CASES, ""]
    lines += [".. raw:: html", "", *rst.indent(list(_cases_html(support))), ""]
    return "\n".join(lines)


def _cases_html(support: Mapping[str, Any]) -> Iterator[str]:
    kinds = list(support["operations"][0]["cases"])
    heads = "".join(f"<th>{escape(head)}</th>" for head in ("operation", *kinds))
    yield f"<details><summary>{len(support['operations'])} operations</summary>"
    yield '<div class="wide-table"><table class="docutils align-default">'
    yield f"<thead><tr>{heads}</tr></thead><tbody>"
    for row in support["operations"]:
        cells = "".join(f"<td>{count or '-'}</td>" for count in row["cases"].values())
        yield f'<tr><td><a href="{row["name"]}.html">{row["name"]}</a></td>{cells}</tr>'
    yield "</tbody></table></div></details>"


def _counts(support: Mapping[str, Any]) -> list[list[str]]:
    counts = []
    for driver in support["drivers"]:
        sizes = [len(row["support"][driver] or ()) for row in support["operations"]]
        counts.append([driver, str(sum(size > 0 for size in sizes)), str(sum(sizes))])
    pairs = sum(len(row["dtypes"]) for row in support["operations"])
    return [["*the catalog*", str(len(support["operations"])), str(pairs)], *counts]


def _html(support: Mapping[str, Any]) -> Iterator[str]:
    """The table; support.js puts fields to filter it above."""
    drivers = support["drivers"]
    yield '<div class="wide-table"><table class="docutils align-default" id="support">'
    heads = ("operation", "dtypes", *drivers)
    yield f"<thead><tr>{''.join(f'<th>{escape(head)}</th>' for head in heads)}</tr></thead><tbody>"
    for row in support["operations"]:
        name = row["name"]
        told = {driver: row["support"][driver] or [] for driver in drivers}
        data = escape(json.dumps({"dtypes": row["dtypes"], "support": told}), quote=True)
        cells = "".join(_cell(row, driver) for driver in drivers)
        link = f'<a href="{name}.html" title="{escape(row["summary"], quote=True)}">{name}</a>'
        yield f'<tr data-row="{data}"><td>{link}</td><td>{_short(row["dtypes"])}</td>{cells}</tr>'
    yield "</tbody></table></div>"


def _cell(row: Mapping[str, Any], driver: str) -> str:
    found = row["support"][driver]
    if found is None:
        return "<td>not told</td>"
    if not found:
        return '<td class="none">-</td>'
    text = "all" if len(found) == len(row["dtypes"]) else _short(found)
    return f'<td class="{"all" if text == "all" else "some"}">{text}</td>'


def _short(dtypes: Sequence[str]) -> str:
    """dtypes by groups, which show their members."""
    rest, parts = list(dtypes), []
    for name, members in _GROUPS.items():
        if set(members) <= set(rest):
            parts.append(f'<abbr title="{", ".join(members)}">{name}</abbr>')
            rest = [dtype for dtype in rest if dtype not in members]
    return ", ".join([*parts, *rest])


def _words(operation: Mapping[str, Any], driver: str) -> str:
    found = operation["support"][driver]
    if found is None:
        return "it doesn't tell"
    if len(found) == len(operation["dtypes"]):
        return "all"
    return ", ".join(found) or "none"
