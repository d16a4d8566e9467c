"""`import wia` is cheap."""

from __future__ import annotations

import subprocess
import sys

MODULE = "import time; t = time.process_time(); import {0}; print(time.process_time() - t)"


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_nothing_heavy_is_imported() -> None:
    heavy = ("numpy", "ml_dtypes", "numba", "importlib.metadata", "wia.catalog", "wia.driver")
    loaded = run(f"import sys, wia; print([m for m in {heavy} if m in sys.modules])")
    assert loaded == "[]\n"


def test_it_takes_little_longer_than_cffi() -> None:
    """At most 40 ms more with bytecode; the best of some, as other programs run as well."""
    run("import wia")
    times = {
        module: min(float(run(MODULE.format(module))) for _ in range(9))
        for module in ("cffi", "wia")
    }
    assert times["wia"] - times["cffi"] < 0.04, times
