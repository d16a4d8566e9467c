"""A few fixed cases of the fuzzers in Python; those in C are tests of CTest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = str(Path(__file__).resolve().parents[1] / "fuzz")


@pytest.mark.parametrize(("name", "cases"), [("dlpack", 300), ("entry_points", 3)])
def test_fixed_cases(name: str, cases: int) -> None:
    """They pass, each made from its seed."""
    command = [sys.executable, FUZZ, name, "--seed", "20261202", "--cases", str(cases)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_unknown_name() -> None:
    """There is a list of those that there are."""
    command = [sys.executable, FUZZ, "nothing"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "there are calls, threads" in result.stderr
