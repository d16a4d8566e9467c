"""What the page of each operation says is refused, is refused, and told by its name."""

from __future__ import annotations

from typing import Any

import pytest
from catalog_calls import IDS

import wia
from wia.catalog import OPERATIONS, Operation

LARGE = 2**62
"""Limits from here on are those of the type."""


@pytest.mark.parametrize("operation", OPERATIONS, ids=IDS)
def test_values_outside_their_limits(reference: wia.Context, operation: Operation) -> None:
    """One below the least and one above the largest value, beside operands of any shape."""
    x = reference.zeros(1)
    inputs = [x] * max(operation.required, 1 if operation.variadic else 0)
    outputs = [x] * len(operation.outputs)
    for item in (*operation.attributes, *operation.options):
        if item.kind not in ("int", "float") or item.text or item.choices:
            continue
        least, most = item.range
        for value in (least - 1, most + 1):
            if abs(value) >= LARGE:
                continue
            number = int(value) if item.kind == "int" else value
            given: Any = {item.name: [number] * item.length if item.length else number}
            with pytest.raises(wia.InvalidArgumentError, match=rf"\b{item.name}\b"):
                reference.execute(operation.name, inputs, outputs, **given)
