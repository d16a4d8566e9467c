"""The guards of the library that tests/mutants.toml lists are where it says.

Taking them away, and seeing a test fail, takes longer: `python tests/mutate.py`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests"))

from mutate import Mutant, change, read_mutants  # noqa: E402


@pytest.mark.parametrize("mutant", read_mutants(), ids=lambda mutant: mutant.guard)
def test_guard_stands_in_the_source(mutant: Mutant) -> None:
    """Its change fits one place, and changes it."""
    source = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert change(source, mutant) != source
    name = f"{mutant.test}.c"
    assert any((ROOT / "tests" / folder / name).is_file() for folder in ("c", "fuzz")), name
