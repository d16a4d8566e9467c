"""The report for continuous integration: JUnit XML, one test suite per operation."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from wia_conformance._report import Report

__all__ = ["junit_xml"]

# XML has no way to write these.
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAGS = {"fail": "failure", "crash": "error", "timeout": "error", "unsupported": "skipped"}


def junit_xml(report: Report) -> str:
    """The text of the file."""
    root = ElementTree.Element("testsuites", name=f"wia-conformance {report.found.device}")
    for op, items in itertools.groupby(report.outcomes, key=lambda item: item[0].op):
        outcomes = list(items)
        results = [outcome.result for _, outcome in outcomes]
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=op,
            tests=str(len(outcomes)),
            failures=str(results.count("fail")),
            errors=str(results.count("crash") + results.count("timeout")),
            skipped=str(results.count("unsupported")),
            time=f"{sum(outcome.seconds for _, outcome in outcomes):.3f}",
        )
        for case, outcome in outcomes:
            test = ElementTree.SubElement(
                suite,
                "testcase",
                classname=f"{case.op}.{case.dtype}",
                name=case.id,
                time=f"{outcome.seconds:.6f}",
            )
            if outcome.result in _TAGS:
                detail = _FORBIDDEN.sub("?", outcome.detail)
                message = detail.partition("\n")[0]
                tag = ElementTree.SubElement(test, _TAGS[outcome.result], message=message)
                tag.set("type", outcome.result)
                tag.text = detail
    ElementTree.indent(root, " ")
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"
