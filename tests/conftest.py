"""What all tests share: golden files, devices, and interpreters of their own.

`pytest --update-goldens` rewrites the golden files; `pytest --device npu:0` runs the tests that
take a device on that one.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from slow_driver import Slow
from support import RunPython, install

import wia
from wia._config import prefix

# A program that a shell starts in the background ignores SIGINT, and so would all that tests start:
# those of interrupts would wait without end.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parents[1]
GOLDENS = Path(__file__).parent / "golden"
DEVICES = ("reference:0", "sample:0", "null:0")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-goldens", action="store_true", help="rewrite the golden files")
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
    # Kernels stay from one run to the next, and out of the user's own folder.
    os.environ.setdefault("WIA_NPU_CACHE", str(ROOT / "build" / "npu-cache"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "device" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--device")
        metafunc.parametrize("device", chosen or DEVICES)


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


@pytest.fixture(scope="session")
def _registered() -> None:
    wia.register_driver(Slow)


@pytest.fixture
def slow(_registered: None) -> Iterator[wia.Context]:
    """A device whose relu waits for Slow.gate."""
    Slow.gate.clear()
    with wia.Context("slow") as context:
        yield context
    Slow.gate.set()
