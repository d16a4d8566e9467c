"""What all tests share: golden files, rewritten with `pytest --update-goldens`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

GOLDENS = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-goldens", action="store_true", help="rewrite the golden files")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """A function (name, text) that fails when text isn't what the golden file holds."""

    def check(name: str, text: str) -> None:
        path = GOLDENS / name
        if request.config.getoption("--update-goldens"):
            path.write_text(text, encoding="utf-8")
        expected = path.read_text(encoding="utf-8") if path.exists() else ""
        assert text == expected, f"{path.name} differs; if that is meant: pytest --update-goldens"

    return check
