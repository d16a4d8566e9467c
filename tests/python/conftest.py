"""Devices that the tests run on, and programs in interpreters of their own.

`pytest --device npu:0` runs the tests on another device.
"""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import wia
from wia._config import prefix
from wia.driver import Driver

ROOT = Path(__file__).parents[2]
DEVICES = ("reference:0", "sample:0", "null:0")

RunPython = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", action="append", help="test this device instead of our own")


def pytest_configure(config: pytest.Config) -> None:
    """Builds the sample driver before the library looks for drivers."""
    folder = Path(tempfile.mkdtemp(prefix="wia-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    source = ROOT / "examples" / "native_driver"
    flags = ["-std=c11", "-O2", "-ffp-contract=off", "-fPIC", "-shared", f"-I{prefix()}/include"]
    command = ["cc", *flags, *map(str, sorted(source.glob("*.c"))), "-lm"]
    subprocess.run([*command, "-o", str(folder / "libwia_sample.so")], check=True)
    shutil.copy(source / "sample.manifest", folder)
    os.environ["WIA_DRIVER_PATH"] = str(folder)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "device" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--device")
        metafunc.parametrize("device", chosen or DEVICES)


_numbers = itertools.count()


def made(**members: Any) -> wia.Context:
    """A context on a new driver with these members."""
    name = f"made{next(_numbers)}"
    wia.register_driver(type("Made", (Driver,), {"name": name, **members}))
    return wia.Context(name)


@pytest.fixture
def ctx(device: str) -> Iterator[wia.Context]:
    """A context on each device in turn."""
    with wia.Context(device) as context:
        yield context


@pytest.fixture
def reference() -> Iterator[wia.Context]:
    """A context on the one device that has every operation."""
    with wia.Context("reference") as context:
        yield context


def need(context: wia.Context, op: str, dtype: str) -> None:
    """Skips the test on a device without a kernel for it."""
    if dtype not in context.device.supports(op):
        pytest.skip(f"{context.device.name} has no kernel for {op} of {dtype}")


@pytest.fixture
def run_python(tmp_path: Path) -> RunPython:
    """A function (code, drivers, environment) that runs code in an interpreter of its own.

    drivers are names of entry points and the sources of their modules, in which the class is
    called Test.
    """

    def run(
        code: str,
        drivers: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
        timeout: float = 60,
    ) -> subprocess.CompletedProcess[str]:
        install(tmp_path, drivers or {})
        given = {**(environment or {})}
        folders = [str(tmp_path), given.pop("PYTHONPATH", ""), os.environ.get("PYTHONPATH", "")]
        path = os.pathsep.join(filter(None, folders))
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            env={**os.environ, "PYTHONPATH": path, **given},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )

    return run


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
