"""`import wia` is cheap: what it costs is measured in benchmarks/."""

from __future__ import annotations

import subprocess
import sys


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_nothing_heavy_is_imported() -> None:
    heavy = ("numpy", "ml_dtypes", "numba", "importlib.metadata", "wia.catalog", "wia.driver")
    loaded = run(f"import sys, wia; print([m for m in {heavy} if m in sys.modules])")
    assert loaded == "[]\n"
