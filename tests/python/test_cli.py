"""The command `wia`: devices, info, env, completion, and what all commands share."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from support import RunPython

import wia
from wia._cli import main, make_parser
from wia.catalog import OPERATIONS

BROKEN = {"xpu": "raise ValueError('broken on purpose')"}
RUN = "import sys; from wia._cli import main; sys.exit(main({arguments!r}))"
COMMANDS = ("devices", "info", "ops", "doctor", "bench", "run", "inspect", "env", "completion")
SIZE = re.compile(r" *\b\d+(\.\d)? [KMGT]?i?B\b")


def call(
    *arguments: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs the command as it is installed, with no WIA_ variable but those given."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WIA_")}
    return subprocess.run(
        [str(Path(sysconfig.get_path("scripts"), "wia")), *arguments],
        env={**kept, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


# -- devices --


def test_devices(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["DEVICE", "DESCRIPTION", "DRIVER", "MEMORY"]
    assert lines[1].startswith("reference:0")
    assert lines[1].endswith("default")
    assert any(line.startswith("null:0") for line in lines)


def test_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--names"]) == 0
    assert capsys.readouterr().out.split() == [device.name for device in wia.devices()]


def test_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "-v"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^  flags +host_addressable, simulated$", text, re.MULTILINE)
    assert re.search(r"^  add +float64, float32", text, re.MULTILINE)
    assert "null 0.1.0: loaded, python, null = wia_null:NullDriver" in text


def test_devices_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["version"] == wia.__version__
    null = next(device for device in found["devices"] if device["name"] == "null:0")
    assert null["flags"] == ["host_addressable", "simulated"]
    assert null["operations"]["relu"] == ["float32"]
    assert {driver["state"] for driver in found["drivers"]} == {"loaded"}


def test_broken_drivers_are_told(run_python: RunPython) -> None:
    result = run_python(RUN.format(arguments=["devices"]), BROKEN)
    assert result.returncode == 0
    assert "reference:0" in result.stdout
    assert "broken on purpose" in result.stderr
    assert "wia devices -v" in result.stderr
    result = run_python(RUN.format(arguments=["devices", "-v"]), BROKEN)
    assert "| Traceback" in result.stdout


# -- info --


def test_info(golden: Callable[[str, str], None]) -> None:
    """In a process of its own: other tests register operations that every device has then."""
    wia_command = Path(sys.executable).with_name("wia")
    result = subprocess.run(
        [wia_command, "info", "null"], capture_output=True, text=True, check=True
    )
    golden("cli_info.txt", SIZE.sub(" SIZE", result.stdout))


def test_info_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "null:0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["name"] == "null:0"
    assert found["operations"]["relu"] == ["float32"]
    assert found["memory"]["device"]["total_size"] == found["total_memory_size"] > 0
    with wia.Context("null") as context:
        pool = context.memory_stats()
    assert found["memory_pool"]["keep_size"] == pool.keep_size
    assert found["plan_cache"]["capacity"] == wia.find_device("null").plan_cache().capacity


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("limit=3G,keep=64M", "may have at most 3 GiB of memory, and keeps up to 64 MiB of freed"),
        ("off", "may have any amount of memory, and keeps none that is freed."),
    ],
)
def test_info_tells_the_settings_of_pools(setting: str, told: str) -> None:
    result = call("info", "null", environment={"WIA_MEMORY_POOL": setting})
    assert told in result.stdout


def test_info_without_a_name_is_of_the_default_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == wia.find_device().name


# -- env --


def test_env(golden: Callable[[str, str], None]) -> None:
    environment = {
        "WIA_DRIVERS": "null,reference",
        "WIA_NULL_DEPTH": "3",
        "WIA_PLAN_CACHE_SIZE": "many",
        "WIA_UNHEARD_OF": "yes",
    }
    result = call("env", environment=environment)
    assert (result.returncode, result.stderr) == (0, "")
    golden("cli_env.txt", result.stdout)


def test_env_json() -> None:
    result = call("env", "--json", environment={"WIA_DRIVER_TIMEOUT": "5", "WIA_NULL_DEPTH": "3"})
    found = json.loads(result.stdout)
    timeout = next(item for item in found["variables"] if item["name"] == "WIA_DRIVER_TIMEOUT")
    assert (timeout["value"], timeout["default"], timeout["malformed"]) == ("5", "30", False)
    assert (timeout["minimum"], timeout["maximum"]) == (1, 86400)
    assert {item["value"] for item in found["variables"]} == {"5", None}
    assert found["others"] == [{"name": "WIA_NULL_DEPTH", "value": "3", "driver": "null"}]


# -- ops --


def test_ops_of_one_device(capsys: pytest.CaptureFixture[str]) -> None:
    """Dtypes are named, those that the driver tells."""
    assert main(["ops", "relu", "conv*", "--device", "null"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["OPERATION", "null:0"]
    rows = {line.split()[0]: line.split(maxsplit=1)[1] for line in lines[1:]}
    assert rows["relu"] == "float32"
    assert rows["conv2d"] == "-"
    assert all(name == "relu" or name.startswith("conv") for name in rows)


def test_ops_of_several_devices(capsys: pytest.CaptureFixture[str]) -> None:
    """Dtypes are counted, one device of each driver."""
    assert main(["ops", "relu"]) == 0
    header, row = (line.split() for line in capsys.readouterr().out.splitlines())
    cells = dict(zip(header, row, strict=True))
    assert (cells["reference:0"], cells["null:0"]) == ("all", "float32")
    drivers = [name.partition(":")[0] for name in header[1:]]
    assert len(set(drivers)) == len(drivers) == len({d.driver_name for d in wia.devices()})


def test_ops_json_is_what_drivers_tell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "--json", "--device", "null", "--device", "reference"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["devices"] == ["null:0", "reference:0"]
    assert [row["name"] for row in found["operations"]] == [entry.name for entry in OPERATIONS]
    for row, entry in zip(found["operations"], OPERATIONS, strict=True):
        assert row["support"]["reference:0"] == row["dtypes"] == list(entry.dtypes)
        assert set(row["support"]["null:0"]) == wia.find_device("null").supports(entry.name)


def test_ops_of_a_dtype(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "--json", "--dtype", "bfloat16", "--device", "null"]) == 0
    rows = json.loads(capsys.readouterr().out)["operations"]
    assert all("bfloat16" in row["dtypes"] and not row["support"]["null:0"] for row in rows)
    assert len(rows) == sum("bfloat16" in entry.dtypes for entry in OPERATIONS)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["reluu"], "no operation matches 'reluu'; did you mean relu"),
        (["--dtype", "float23"], "no operation has the dtype 'float23'; did you mean float32"),
    ],
)
def test_ops_that_are_not_there(
    capsys: pytest.CaptureFixture[str], arguments: list[str], part: str
) -> None:
    assert main(["ops", *arguments]) == 1
    assert part in capsys.readouterr().err


# -- completion --


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_commands(shell: str, tmp_path: Path) -> None:
    result = call("completion", shell)
    assert result.returncode == 0
    assert [name for name in COMMANDS if name not in result.stdout] == []
    assert "wia devices --names" in result.stdout
    if shutil.which(shell):
        script = tmp_path / "script"
        script.write_text(result.stdout)
        subprocess.run([shell, "-n", str(script)], check=True)


def test_bash_completes_commands_and_devices(tmp_path: Path) -> None:
    script = tmp_path / "wia.bash"
    script.write_text(call("completion", "bash").stdout)
    lines = [f"source {script}"]
    for words in (["wia", "d"], ["wia", "info", "nul"], ["wia", "env", "--j"]):
        lines.append(f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}")
        lines.append('_shtab_wia; echo "${COMPREPLY[@]}"')
    path = f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-c", "\n".join(lines)],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert result.stdout.splitlines() == ["devices doctor", "null:0", "--json"]


# -- what all share --


def test_an_error_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "nul"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith('wia: error: no driver is named "nul"')
    assert shown.err.count("\n") == 1


def test_a_cause_is_shown_by_debug_only(run_python: RunPython) -> None:
    result = run_python(RUN.format(arguments=["info", "xpu"]), BROKEN)
    assert result.returncode == 1
    assert result.stderr.startswith("wia: error: ")
    assert "broken on purpose" in result.stderr
    assert result.stderr.endswith("(--debug shows the cause)\n")
    assert result.stderr.count("\n") == 1
    for arguments in (["--debug", "info", "xpu"], ["info", "xpu", "--debug"]):
        result = run_python(RUN.format(arguments=arguments), BROKEN)
        assert result.returncode == 1
        assert "Traceback (most recent call last)" in result.stderr


def test_a_missing_dependency_is_one_line(run_python: RunPython) -> None:
    """The doctor, which tells of it, does without."""
    hidden = "import sys; sys.modules['rich'] = None\n"
    result = run_python(hidden + RUN.format(arguments=["devices"]))
    assert result.returncode == 1
    assert result.stderr.startswith("wia: error: ")
    assert result.stderr.endswith("(wia doctor says how to mend it)\n")
    result = run_python(hidden + RUN.format(arguments=["doctor"]))
    assert (result.returncode, result.stderr) == (0, "")
    assert "ok     library: " in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [["devics"], [], ["devices", "--nmes"], ["completion", "dash"], ["bench", "--rounds", "0"]],
    ids=" ".join,
)
def test_wrong_usage(arguments: list[str]) -> None:
    result = call(*arguments)
    assert result.returncode == 2
    assert "error:" in result.stderr
    assert "Traceback" not in result.stderr


def test_every_command_has_a_parser() -> None:
    text = make_parser().format_help()
    assert tuple(re.findall(r"^    (\w+)\b", text, re.MULTILINE)) == COMMANDS


def test_version_imports_nothing_heavy() -> None:
    code = """
import sys
from wia._cli import main
try:
    main(["--version"])
except SystemExit as end:
    print(end.code, [name for name in ("numpy", "rich", "shtab") if name in sys.modules])
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout == f"wia {wia.__version__}\n0 []\n"


def test_it_is_a_module_too() -> None:
    command = [sys.executable, "-m", "wia._cli", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout == f"wia {wia.__version__}\n"


@pytest.mark.parametrize("option", ["--json", "--verbose"])
def test_a_reader_that_stops_is_no_error(option: str) -> None:
    command = [sys.executable, "-m", "wia._cli", "devices", option]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()  # before the first line is written
        assert process.stderr.read() == b""
    assert process.returncode == 128 + signal.SIGPIPE
