"""Helpers of the tests: drivers made on the spot, and drivers announced by entry points."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import wia
from wia.driver import Driver

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]
_numbers = itertools.count()


def made(**members: Any) -> wia.Context:
    """A context on a new driver with these members."""
    name = f"made{next(_numbers)}"
    wia.register_driver(type("Made", (Driver,), {"name": name, **members}))
    return wia.Context(name)


def need(context: wia.Context, op: str, dtype: str) -> None:
    """Skips the test on a device without a kernel for it."""
    if dtype not in context.device.supports(op):
        pytest.skip(f"{context.device.name} has no kernel for {op} of {dtype}")


def install(folder: Path, drivers: Mapping[str, str], name: str = "wia-test-drivers") -> None:
    """Puts modules into a folder, and a distribution that announces them."""
    lines = ["[wia.drivers]"]
    for driver, source in drivers.items():
        (folder / f"test_driver_{driver}.py").write_text(source)
        lines.append(f"{driver} = test_driver_{driver}:Test")
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
