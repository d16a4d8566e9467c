"""The conformance suite: shows that a driver computes what the catalog of operations says.

The command `wia-conformance` runs it on a device and writes a report; the functions here do the
same for programs.

>>> import wia_conformance
>>> cases = wia_conformance.select_cases(wia_conformance.list_cases(), ["add/float32/*/again"])
>>> [case.id for case in cases]
['add/float32/8,8/again']
"""

from __future__ import annotations

from wia_conformance._cases import Case, list_cases, select_cases
from wia_conformance._outcome import Outcome
from wia_conformance._pool import DeviceError, Options, run_cases
from wia_conformance._report import Report, content_hash
from wia_conformance._version import __version__
from wia_conformance._worker import Ready

__all__ = [
    "Case",
    "DeviceError",
    "Options",
    "Outcome",
    "Ready",
    "Report",
    "__version__",
    "content_hash",
    "list_cases",
    "run_cases",
    "select_cases",
]
