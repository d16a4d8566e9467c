"""`wia bench`: what it measures is there, and an interrupt keeps what was measured. No time is
asserted.
"""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from collections.abc import Callable, Sequence

import pytest

import wia
from wia._cli import main
from wia._cli._measure import Turn, interleave, repeated
from wia.driver import Copy, DeviceFlag, DeviceMemory, Driver, MemoryKind


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "reference", "--rounds", "1"]) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0] == "reference:0 (reference 0.1.0): medians of 1 round"
    assert lines[2].split() == ["OPERATION", "WAY", "TIME"]
    assert [line[:14].rstrip() for line in lines[3:11]] == ["add of 8"] * 4 + ["matmul of 8x8"] * 4
    sizes = ["4 KiB", "64 KiB", "1 MiB", "16 MiB"]
    assert [line.split("  ")[0] for line in lines[13:17]] == sizes
    assert all(line.count("GB/s") == 3 and line.count("%") == 2 for line in lines[13:17])
    assert lines[18].split("  ")[0] == "ALLOCATION"
    assert [line.split("  ")[0] for line in lines[19:]] == sizes
    assert all(len(re.findall(r"[0-9.]+ [num]?s", line)) == 3 for line in lines[19:])
    assert shown.err == ""


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "null", "--rounds", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["device"], found["rounds"], found["interrupted"]) == ("null:0", 2, False)
    ways = ["call", "plan", "enqueue", "enqueue and wait"]
    assert [call["way"] for call in found["calls"]] == ways
    assert {call["operation"] for call in found["calls"]} == {"add"}
    assert all(call["time_ns"] > 0 for call in found["calls"])
    assert [copy["size"] for copy in found["copies"]] == [4096, 65536, 1048576, 16777216]
    for copy in found["copies"]:
        ratio = copy["host_to_device_gb_per_s"] / copy["memcpy_gb_per_s"]
        assert copy["host_to_device_ratio"] == pytest.approx(ratio)
    ways = ["pool", "pool on a stream", "driver"]
    assert [row["way"] for row in found["allocations"]] == ways * 4
    assert [row["size"] for row in found["allocations"][::3]] == [4096, 65536, 1048576, 16777216]
    assert all(row["time_ns"] > 0 for row in found["allocations"])
    assert "matmul" in found["missing"]["matmul"]


def test_a_device_that_can_do_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Each thing that can't be measured is told with the driver's words."""

    class Full(DeviceMemory):
        def kinds(self, device: int) -> Sequence[MemoryKind]:
            return [MemoryKind("device")]

        def allocate(self, device: int, kind: str, size: int, alignment: int) -> tuple[int, int]:
            raise wia.ResourceExhaustedError("there is no memory at all")

        def free(self, device: int, memory: int) -> None:
            raise AssertionError("nothing was allocated")

        def copy(self, device: int, copies: Sequence[Copy]) -> None:
            raise AssertionError("there is nothing to copy")

    class BenchFull(Driver):
        name = "benchfull"
        flags = DeviceFlag.OPAQUE_MEMORY
        memory = Full()

    wia.register_driver(BenchFull)
    assert main(["bench", "benchfull", "--rounds", "1"]) == 0
    text = capsys.readouterr().out
    assert "not measured: add: " in text
    assert "not measured: copies of 16 MiB: " in text
    assert "there is no memory at all" in text


def test_interrupt(capsys: pytest.CaptureFixture[str]) -> None:
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    code = main(["bench", "null", "--rounds", "1000000", "--json"])
    timer.join()
    assert code == 130
    shown = capsys.readouterr().out
    if shown:  # else it came before the first round
        found = json.loads(shown)
        assert found["interrupted"]
        assert found["rounds"] < 1000000


def test_an_interrupt_keeps_whole_rounds() -> None:
    numbers = {"first": iter(range(10)), "second": iter(range(100, 110))}
    rounds: list[int] = []

    def step() -> None:
        rounds.append(len(rounds))
        if len(rounds) == 3:
            raise KeyboardInterrupt

    turns: dict[str, Turn] = {name: values.__next__ for name, values in numbers.items()}
    assert interleave(turns, 10, step) == ({"first": 1, "second": 101}, 3)


def test_an_interrupt_inside_a_turn_drops_its_round() -> None:
    calls: list[str] = []

    def turn(name: str) -> Callable[[], float]:
        def run() -> float:
            calls.append(name)
            if len(calls) == 4:
                raise KeyboardInterrupt
            return float(len(calls))

        return run

    medians, rounds = interleave({"a": turn("a"), "b": turn("b")}, 10, lambda: None)
    assert calls == ["a", "b", "b", "a"]  # each round begins with another one
    assert (medians, rounds) == ({"a": 1.0, "b": 2.0}, 1)


def test_an_interrupt_before_the_first_round_leaves_nothing() -> None:
    def turn() -> float:
        raise KeyboardInterrupt

    assert interleave({"a": turn}, 10, lambda: None) == ({}, 0)


def test_what_is_repeated_is_followed_by_the_wait() -> None:
    calls: list[str] = []
    turn = repeated(lambda: calls.append("call"), lambda: calls.append("wait"))
    assert calls == ["call", "wait", "call", "call", "call", "wait"]
    calls.clear()
    assert turn() > 0
    assert calls.count("wait") == 1
    assert calls[-1] == "wait"
