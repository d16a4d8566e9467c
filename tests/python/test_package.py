"""What an installation holds, and that C programs can be built against it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from wia._config import main, prefix

ROOT = Path(__file__).parents[2]
SITE = prefix()
LIBRARY = SITE / "lib" / "libwia.so.0"
BRIDGE = next(SITE.glob("_bridge.*.so"))
# Prints the version of the library that it runs with, and fails unless the headers are of the same.
PROGRAM = """
#include <stdio.h>
#include <wia.h>
int main(void) {
  int32_t version[3];
  if (wia_get_version(&version[0], &version[1], &version[2]) != WIA_STATUS_OK) return 1;
  printf("%d.%d.%d\\n", version[0], version[1], version[2]);
  return version[0] != WIA_VERSION_MAJOR || version[1] != WIA_VERSION_MINOR;
}
"""


def output(*command: str | Path, **environment: str) -> str:
    result = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def dynamic(path: Path, tag: str) -> list[str]:
    """The values of a tag in the dynamic section."""
    return re.findall(rf"\({tag}\).*\[(.*)\]", output("readelf", "--dynamic", "--wide", path))


def declared_in(folder: Path) -> set[str]:
    """The functions that the headers of a folder mark as exported."""
    text = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.h"))
    return set(re.findall(r"^WIA_API[^;(]*?(\w+)\(", text, re.MULTILINE))


def test_the_library_exports_wia_only() -> None:
    symbols = output("nm", "--dynamic", "--defined-only", LIBRARY).split()[2::3]
    assert symbols
    assert [name for name in symbols if not name.startswith("wia_")] == []
    assert {name for name in symbols if name.startswith("wia__")} == declared_in(ROOT / "hal")


def test_every_declared_function_is_exported() -> None:
    symbols = set(output("nm", "--dynamic", "--defined-only", LIBRARY).split()[2::3])
    declared = declared_in(SITE / "include")
    assert len(declared) > 50
    assert declared - symbols == set()


def test_the_library_has_no_python_in_it() -> None:
    undefined = output("nm", "--dynamic", "--undefined-only", LIBRARY)
    assert re.findall(r"\b_?Py\w*", undefined) == []
    assert [name for name in dynamic(LIBRARY, "NEEDED") if "python" in name] == []


def test_the_bridge_brings_no_python_and_finds_the_library() -> None:
    needed = dynamic(BRIDGE, "NEEDED")
    assert "libwia.so.0" in needed
    assert [name for name in needed if "python" in name] == []
    assert dynamic(BRIDGE, "RUNPATH") == ["$ORIGIN/lib"]


def test_soname() -> None:
    assert dynamic(LIBRARY, "SONAME") == ["libwia.so.0"]


def test_files_of_the_distribution() -> None:
    files = {str(path) for path in importlib.metadata.files("wia") or []}
    for name in (
        "wia/include/wia.h",
        "wia/include/wia/ops.h",
        "wia/include/wia_driver.h",
        "wia/lib/libwia.so",
        "wia/lib/libwia.so.0",
        "wia/lib/cmake/wia/wiaConfig.cmake",
        "wia/lib/pkgconfig/wia.pc",
        "wia_drivers.d/README",
    ):
        assert name in files
    assert (SITE.parent / "wia_drivers.d").is_dir()


@pytest.mark.parametrize(
    "package",
    ["wia", "wia_reference", "wia_null", "wia_npu", "wia_emulator", "wia_conformance"],
)
def test_packages_are_typed(package: str) -> None:
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    assert Path(spec.origin).with_name("py.typed").is_file()


def test_drivers_are_announced() -> None:
    points = importlib.metadata.entry_points(group="wia.drivers")
    assert {"reference", "null", "npu", "emulator"} <= {point.name for point in points}


def config(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(options) == 0
    return capsys.readouterr().out.strip()


def test_config_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert config(capsys, "--version") == importlib.metadata.version("wia")


def test_config_without_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "--cflags" in capsys.readouterr().err


def test_the_command_is_installed() -> None:
    assert output(Path(sys.executable).with_name("wia-config"), "--prefix").strip() == str(SITE)


def build_and_run(tmp_path: Path, flags: str) -> None:
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    output("cc", source, *flags.split(), "-o", tmp_path / "program")
    assert output(tmp_path / "program").strip() == importlib.metadata.version("wia")


def test_compile_with_config(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build_and_run(tmp_path, config(capsys, "--cflags", "--libs"))


def test_pkg_config_file(tmp_path: Path) -> None:
    """As pkg-config reads it: pcfiledir is where the file is, names in ${} are replaced."""
    path = SITE / "lib" / "pkgconfig" / "wia.pc"
    values = {"pcfiledir": str(path.parent)}
    for line in path.read_text().splitlines():
        for name, value in values.items():
            line = line.replace(f"${{{name}}}", value)
        if match := re.match(r"(\w+)(?:=|: )(.*)", line):
            values[match[1]] = match[2]
    assert "$" not in values["Cflags"] + values["Libs"]
    assert values["Version"] == importlib.metadata.version("wia")
    build_and_run(tmp_path, f"{values['Cflags']} {values['Libs']}")
