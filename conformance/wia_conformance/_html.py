"""The report to read: one page that needs nothing else."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING

from wia_conformance._machine import describe_machine, describe_software
from wia_conformance._outcome import FAILURES, RESULTS
from wia_conformance._version import __version__

if TYPE_CHECKING:
    from wia_conformance._report import Report

__all__ = ["html_page"]

_MAX_FAILURES = 500
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --pass: #1a7f3733; --fail: #d1242f44;
  --none: #8882; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem;
  padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; } .wide { overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .2rem .55rem; text-align: left;
  vertical-align: top; }
.matrix td { text-align: right; font-variant-numeric: tabular-nums; }
.matrix thead th { font-weight: 500; font-size: .85rem; writing-mode: vertical-rl;
  text-align: right; }
.pass { background: var(--pass); } .fail, .crash, .timeout { background: var(--fail); }
.unsupported { background: var(--none); color: #777; }
code, pre { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; margin: .2rem 0 0; }
.verdict { display: inline-block; padding: .1rem .8rem; border-radius: .4rem; }
"""


def html_page(report: Report) -> str:
    """The text of the page."""
    title = f"Conformance of {report.found.device}"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        *_verdict(report),
        *_facts(report),
        *_matrix(report),
        *_failures(report),
        *_reasons(report),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _verdict(report: Report) -> Iterator[str]:
    shade = "pass" if report.verdict == "passed" else "fail"
    counts = ", ".join(f"{report.counts[result]} {result}" for result in RESULTS)
    yield f'<p><strong class="verdict {shade}">{escape(report.verdict)}</strong> {counts}</p>'
    if not report.complete:
        missing = len(report.selected) - len(report.outcomes)
        yield f"<p>The run was ended before its end: {missing} cases were not run.</p>"
    yield (
        "<p>Not certified: this version has the profile "
        f"<code>{escape(report.profile)}</code> only, and its reports are not signed.</p>"
    )


def _facts(report: Report) -> Iterator[str]:
    found, machine, options = report.found, describe_machine(), report.options
    software = ", ".join(f"{name} {version}" for name, version in describe_software().items())
    chosen = f"seed {options.seed}, jobs {options.jobs}, {options.timeout:g} s for a case"
    chosen += "".join(f", filter {pattern}" for pattern in report.patterns)
    chosen += "".join(f", import {module}" for module in options.modules)
    rows = {
        "device": f"{found.device}: {found.description or 'no description'}",
        "driver": f"{found.driver} {found.driver_version}, {found.vendor or 'no vendor'}",
        "library": f"wia {found.library}",
        "suite": f"{__version__}, {len(report.selected)} of {len(report.cases)} cases, "
        f"content sha256:{report.suite_hash}",
        "machine": f"{machine['cpu']} ({machine['architecture']}), {machine['cpu_count']} "
        f"processors, {machine['system']}",
        "software": software,
        "options": chosen,
        "time": f"{report.started:%Y-%m-%d %H:%M} UTC, {report.seconds:.0f} s",
    }
    yield '<div class="wide"><table>'
    for name, value in rows.items():
        yield f"<tr><th>{name}</th><td>{escape(value)}</td></tr>"
    yield "</table></div>"


def _matrix(report: Report) -> Iterator[str]:
    """One row for each operation, one column for each dtype."""
    table = report.table()
    dtypes = list(dict.fromkeys(dtype for _, dtype in table))
    yield "<h2>Operations and dtypes</h2>"
    yield (
        "<p>Cases that passed, with the number of all cases where some of them failed or are not "
        "supported. A dash: none is supported. Empty: the operation doesn't have the dtype.</p>"
    )
    heads = "".join(f"<th>{escape(dtype)}</th>" for dtype in dtypes)
    yield '<div class="wide"><table class="matrix">'
    yield f"<thead><tr><td></td>{heads}</tr></thead>"
    for op in dict.fromkeys(op for op, _ in table):
        cells = "".join(_cell(table.get((op, dtype))) for dtype in dtypes)
        yield f"<tr><th>{escape(op)}</th>{cells}</tr>"
    yield "</table></div>"


def _cell(counts: Counter[str] | None) -> str:
    if counts is None:
        return "<td></td>"
    title = escape(", ".join(f"{counts[result]} {result}" for result in RESULTS))
    total, passed = counts.total(), counts["pass"]
    failed = any(counts[result] for result in FAILURES)
    if counts["unsupported"] == total:
        return f'<td class="unsupported" title="{title}">&ndash;</td>'
    text = f"{passed}" if passed == total else f"{passed}/{total}"
    return f'<td class="{"fail" if failed else "pass"}" title="{title}">{text}</td>'


def _failures(report: Report) -> Iterator[str]:
    failures = report.failures
    if not failures:
        return
    yield f"<h2>Failures: {len(failures)}</h2>"
    yield '<div class="wide"><table>'
    for case, outcome in failures[:_MAX_FAILURES]:
        yield (
            f'<tr><td class="{outcome.result}">{outcome.result}</td><td><code>{escape(case.id)}'
            f"</code><pre>{escape(outcome.detail)}</pre></td></tr>"
        )
    yield "</table></div>"
    if len(failures) > _MAX_FAILURES:
        yield f"<p>The other {len(failures) - _MAX_FAILURES} stand in report.json.</p>"


def _reasons(report: Report) -> Iterator[str]:
    """What the driver doesn't do, by its reasons."""
    reasons = [
        (outcome.detail, case.op)
        for case, outcome in report.outcomes
        if outcome.result == "unsupported"
    ]
    if not reasons:
        return
    yield "<h2>Not supported, in the driver's words</h2>"
    yield '<div class="wide"><table><tr><th>cases</th><th>reason</th></tr>'
    for count, reason in _most_common(reason for reason, _ in reasons):
        yield f"<tr><td>{count}</td><td>{escape(reason)}</td></tr>"
    yield "</table></div>"


def _most_common(reasons: Iterable[str]) -> Iterator[tuple[int, str]]:
    for reason, items in itertools.groupby(sorted(reasons)):
        yield len(list(items)), reason
