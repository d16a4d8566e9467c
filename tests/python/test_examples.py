"""What the manual and the README show runs; examples/first gives the same in C and in Python."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from wia._config import prefix

ROOT = Path(__file__).parents[2]
FIRST = ROOT / "examples" / "first"


def output(*command: object) -> str:
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=True, timeout=120
    ).stdout


def test_python() -> None:
    assert output(sys.executable, FIRST / "first.py", "reference:0").split() == [
        *("[[", "5.", "11.]"),
        *("[11.", "25.]]"),
    ]


def test_c(tmp_path: Path) -> None:
    configure = ["cmake", "-S", FIRST, "-B", tmp_path]
    output(
        *configure, "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror", f"-Dwia_DIR={prefix()}/lib/cmake/wia"
    )
    output("cmake", "--build", tmp_path)
    assert output(tmp_path / "first", "reference:0") == "5 11\n11 25\n"
    failed = subprocess.run(
        [tmp_path / "first", "nothing"], capture_output=True, text=True, check=False
    )
    assert failed.returncode == 1
    assert "wia_find_device" in failed.stderr


def test_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert [output(sys.executable, "-c", block).split() for block in blocks] == [
        ["[[", "7.", "10.]", "[15.", "22.]]"]
    ]
