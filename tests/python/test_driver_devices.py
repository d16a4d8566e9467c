"""Devices, memory and names of Python drivers."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support import made

import wia
from wia._native import ffi
from wia.driver import (
    Copy,
    DeviceFlag,
    DeviceMemory,
    Driver,
    Group,
    Kernel,
    MemoryKind,
    Region,
    kernel,
)


def copy_input(values: Any, out: Any) -> None:
    np.copyto(out, values)


class Numbered(DeviceMemory):
    """Memory without addresses: allocations are numbers, data lies in byte arrays."""

    def __init__(self) -> None:
        self.blocks: dict[int, bytearray] = {}
        self.numbers = itertools.count(1)
        self.lock = threading.Lock()
        self.fills = 0

    def kinds(self, device: int) -> Sequence[MemoryKind]:
        return [MemoryKind("device", total_size=1 << 20), MemoryKind("host_visible")]

    def allocate(self, device: int, kind: str, size: int, alignment: int) -> tuple[int, int]:
        if kind != "device" or size > 1 << 20:
            raise MemoryError(f"{size} bytes of {kind}: there is 1 MiB")
        with self.lock:
            number = next(self.numbers)
            self.blocks[number] = bytearray(size)
        return 0, number

    def free(self, device: int, memory: int) -> None:
        del self.blocks[memory]

    def copy(self, device: int, copies: Sequence[Copy]) -> None:
        for copy in copies:
            target, source = (self.view(r, copy.size) for r in (copy.destination, copy.source))
            target[:] = source

    def view(self, region: Region, size: int) -> Any:
        if region.memory == 0:
            return ffi.buffer(ffi.cast("char *", region.address), size)
        return memoryview(self.blocks[region.memory])[region.offset : region.offset + size]


def test_memory_of_its_own() -> None:
    """A device without addresses: the library assigns them, copies go through the driver."""
    memory = Numbered()
    with made(memory=memory, flags=DeviceFlag.OPAQUE_MEMORY) as ctx:
        assert ctx.device.total_memory_size == 1 << 20
        array = np.arange(12, dtype=np.float32).reshape(3, 4)
        tensor = ctx.tensor(array)
        assert len(memory.blocks) == 1
        np.testing.assert_array_equal(tensor.numpy(), array)
        np.testing.assert_array_equal(tensor[::-1, 1::2].numpy(), array[::-1, 1::2])
        tensor[1] = 7
        assert tensor[1].tolist() == [7.0] * 4
        tensor.fill(3)
        assert set(tensor.numpy().flat) == {3.0}
        with pytest.raises(wia.UnimplementedError, match="host addresses"):
            tensor.numpy(copy=False)
        with pytest.raises(wia.ResourceExhaustedError, match="1 MiB"):
            ctx.empty(1 << 20)
        tensor.close()
        ctx.trim_memory()
        assert memory.blocks == {}


def test_devices_come_and_go() -> None:
    """Scenario 9: the number is asked for each time."""

    class Counted(Driver):
        name = "counted"
        description = "Three of them"
        count = 3

        def device_count(self) -> int:
            return self.count

        def describe_device(self, device: int) -> str:
            return f"{self.description}: number {device}"

    driver = Counted()
    wia.register_driver(driver)
    assert [d.name for d in wia.devices() if d.driver_name == "counted"] == [
        "counted:0",
        "counted:1",
        "counted:2",
    ]
    with wia.Context("counted:2") as ctx:
        assert ctx.device.description == "Three of them: number 2"
        driver.count = 1
        assert sum(d.driver_name == "counted" for d in wia.devices()) == 1
        assert ctx.tensor([1.0]).tolist() == [1.0]
    with pytest.raises(wia.NotFoundError, match="has 1 now"):
        wia.find_device("counted:1")
    driver.count = 0
    assert all(d.driver_name != "counted" for d in wia.devices())


@pytest.mark.parametrize("name", ["", "Npu", "1npu", "npu-1", "npu:0", 7])
def test_malformed_names(name: Any) -> None:
    with pytest.raises(wia.InvalidArgumentError, match=r"\.name is"):
        wia.register_driver(type("Made", (Driver,), {"name": name}))


@pytest.mark.parametrize("driver", [None, object(), Driver.prepare, dict])
def test_what_is_no_driver(driver: Any) -> None:
    with pytest.raises(wia.InvalidArgumentError, match=r"wia\.driver\.Driver"):
        wia.register_driver(driver)


def test_a_name_in_use() -> None:
    """Scenario 8."""
    with made() as ctx:
        name = ctx.device.driver_name
        with pytest.raises(wia.AlreadyExistsError, match=name):
            wia.register_driver(type("Again", (Driver,), {"name": name}))
        # A name's prefix is another name.
        wia.register_driver(type("Longer", (Driver,), {"name": f"{name}_plus"}))
        assert wia.find_device(name).name == f"{name}:0"
        assert wia.find_device(f"{name}_plus").name == f"{name}_plus:0"


def test_decorator_mistakes() -> None:
    with pytest.raises(wia.InvalidArgumentError, match="another name"):
        made(prepare=kernel("relu")(lambda self, node: copy_input))
    with pytest.raises(wia.InvalidArgumentError, match="float99"):
        kernel("add", dtypes=["float99"])
    with pytest.raises(wia.InvalidArgumentError, match="at least one operation"):
        kernel()


def test_groups_reach_the_driver() -> None:
    """A driver that fuses sees the whole group; others say UNIMPLEMENTED."""
    seen: list[Group] = []

    class Fusing(Driver):
        name = "fusing"

        def prepare_group(self, device: int, group: Group) -> object:
            seen.append(group)
            return Kernel(copy_input, name="fused")

    wia.register_driver(Fusing)
    with wia.Context("fusing") as ctx, ctx.plan("relu", [ctx.zeros(2)], [ctx.empty(2)]) as plan:
        assert plan.name == "fused"
    (group,) = seen
    assert [node.op for node in group.nodes] == ["relu"]
    assert (group.node_inputs, group.node_outputs) == (((0,),), ((1,),))
    assert (group.candidate, group.workspace_limit, group.reduced_precision) == ("", 0, False)


def test_options_and_log(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("WIA_OPTIONED_SPEED", "11")

    class Optioned(Driver):
        name = "optioned"

        def open_device(self, device: int) -> None:
            self.log(f"speed {self.get_option('speed')}, colour {self.get_option('colour')}")

    wia.register_driver(Optioned)
    wia.Context("optioned").close()
    assert ("wia.driver.optioned", 30, "speed 11, colour None") in caplog.record_tuples


def test_links() -> None:
    """Between devices of one driver as it says, from one to the other; else the host."""

    class Linked(Driver):
        name = "linked"

        def device_count(self) -> int:
            return 3

        def get_link(self, device: int, peer: int) -> wia.LinkInfo | None:
            if device == 2:
                return None
            return wia.LinkInfo(direct=device < peer, bandwidth=1e9 * peer, latency_ns=-5.0)

    wia.register_driver(Linked)
    first, second, third = (wia.find_device(f"linked:{i}") for i in range(3))
    assert first.link(second) == wia.LinkInfo(True, 1e9, -1.0)
    assert second.link("linked:2") == wia.LinkInfo(True, 2e9, -1.0)
    assert second.link(first) == wia.LinkInfo(False, 0.0, -1.0)
    unknown = wia.LinkInfo(False, -1.0, -1.0)
    assert third.link(first) == unknown
    assert first.link("reference") == wia.find_device("reference").link(first) == unknown
    with pytest.raises(wia.InvalidArgumentError, match="expected two devices"):
        first.link(first)
    with pytest.raises(wia.NotFoundError, match="linked:3"):
        first.link("linked:3")
