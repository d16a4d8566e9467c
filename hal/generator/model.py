"""The catalog, imported from its folder as a package of its own.

The package around it needs the library that is being built.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "wia"))

from catalog import OPERATIONS, Attribute, Operand, Operation, Option, Scalar  # path first

__all__ = ["OPERATIONS", "Attribute", "Operand", "Operation", "Option", "Scalar"]
