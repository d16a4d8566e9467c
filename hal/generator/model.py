"""The catalog, imported from its folder as a package of its own.

The package around it needs the library that is being built.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "wia"))

from catalog import OPERATIONS, Attribute, Operand, Operation, Option, Scalar  # path first
from catalog.derivatives import (
    CONSTANT,
    LACKING,
    Program,
    Step,
    Term,
    gradient_of,
    gradient_text,
    why_not,
)

__all__ = [
    "CONSTANT",
    "LACKING",
    "OPERATIONS",
    "Attribute",
    "Operand",
    "Operation",
    "Option",
    "Program",
    "Scalar",
    "Step",
    "Term",
    "gradient_of",
    "gradient_text",
    "why_not",
]
