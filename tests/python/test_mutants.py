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
    name, _, function = mutant.test.partition("::")
    if function:
        text = (ROOT / "tests" / "python" / name).read_text(encoding="utf-8")
        assert f"\ndef {function}(" in text, mutant.test
    else:
        folders = (ROOT / "tests" / "c", ROOT / "tests" / "fuzz")
        assert any((folder / f"{name}.c").is_file() for folder in folders), name
