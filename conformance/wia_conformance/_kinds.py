"""What kinds of cases each operation has: so that a thin one shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from wia_conformance._cases import Case

__all__ = ["KINDS", "count_kinds"]

_AROUND_VECTORS = {1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1023, 1024, 1025}

KINDS: dict[str, Callable[[Case], bool]] = {
    "cases": lambda case: case.form != "support",
    "widths": lambda case: any(_AROUND_VECTORS & set(shape) for shape in _shapes(case)),
    "empty": lambda case: any(0 in shape for shape in _shapes(case)),
    "rank 0": lambda case: () in case.shapes,
    "NaN, inf": lambda case: _has_nonfinite(case),
    "range": lambda case: bool({"wide", "denormal", "ends"} & set(case.fills)),
    "offset": lambda case: case.form == "offset",
    "gaps": lambda case: case.form in ("gaps", "transposed"),
    "negative": lambda case: case.form == "reversed",
    "stride 0": lambda case: case.form == "repeated",
    "in place": lambda case: case.form == "in-place",
    "calls": lambda case: case.form in ("stream", "again"),
}
"""Kinds by their heading: whether a case is one. Most cases are several."""


def count_kinds(cases: Sequence[Case]) -> dict[str, dict[str, int]]:
    """The number of cases of each kind, by operation."""
    counts: dict[str, dict[str, int]] = {}
    for case in cases:
        row = counts.setdefault(case.op, dict.fromkeys(KINDS, 0))
        for kind, fits in KINDS.items():
            row[kind] += fits(case)
    return counts


def _has_nonfinite(case: Case) -> bool:
    """Among elements; where there are none that go in, among what they are made of."""
    if case.shapes:
        return any(fill == "special" or fill.startswith("nonfinite") for fill in case.fills)
    numbers = [value for value in case.values.values() if isinstance(value, float)]
    return not all(map(math.isfinite, numbers))


def _shapes(case: Case) -> list[tuple[int, ...]]:
    return [shape for shape in (*case.shapes, *case.output_shapes) if shape is not None]
