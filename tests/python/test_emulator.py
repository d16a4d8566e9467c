"""The emulator: several devices over one, each with its own memory, streams and statistics."""

from __future__ import annotations

import gc
import itertools
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support import RunPython

import wia
from wia._native import NULL, ffi, lib
from wia.driver import (
    BaseDevice,
    Driver,
    Group,
    NativeKernel,
    Node,
    kernel,
)
from wia.driver._table import make_table
from wia_emulator import EmulatorDriver

_numbers = itertools.count()
Pair = tuple[wia.Context, wia.Context]


@pytest.fixture(params=["reference", "sample", "null"])
def pair(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    """Contexts on two devices over a base in Python and one in C."""
    name = emulate(monkeypatch, f"2x{request.param}")
    with wia.Context(f"{name}:0") as first, wia.Context(f"{name}:1") as second:
        yield first, second


def emulate(monkeypatch: pytest.MonkeyPatch, setting: str, **options: str) -> str:
    """Registers one more emulator, with that setting; returns its name."""
    name = f"emulator_{next(_numbers)}"
    monkeypatch.setenv(f"WIA_{name.upper()}", setting)
    for option, value in options.items():
        monkeypatch.setenv(f"WIA_{name.upper()}_{option.upper()}", value)
    wia.register_driver(type("Emulator", (EmulatorDriver,), {"name": name}))
    return name


def allocate(context: wia.Context, size: int) -> int:
    pointer = ffi.new("void **")
    assert lib.wia_malloc(pointer, size, context.device.id) == 0
    return int(ffi.cast("uintptr_t", pointer[0]))


def owner(address: int) -> int:
    info = ffi.new("wia_address_info_t *", {"struct_size": ffi.sizeof("wia_address_info_t")})
    assert lib.wia_query_address(ffi.cast("void *", address), info) == 0
    return int(info.device_id)


def free(address: int) -> int:
    return int(lib.wia_free(ffi.cast("void *", address)))


def test_default(run_python: RunPython) -> None:
    """Two devices over the reference, which are never the default ones."""
    code = """
import wia
names = [device.name for device in wia.devices()]
assert names[0] == "reference:0" and names.count("emulator:0") == names.count("emulator:1") == 1
assert "emulator:2" not in names
device = wia.find_device("emulator:1")
assert device.flags == wia.DeviceFlag.SIMULATED | wia.DeviceFlag.HOST_ADDRESSABLE
assert "over reference" in device.description
assert device.supports("add") == wia.find_device("reference").supports("add")
with wia.Context("emulator:1") as ctx:
    assert (ctx.tensor([1.0, 2.0]) + 1).tolist() == [2.0, 3.0]
"""
    result = run_python(code, environment={"WIA_EMULATOR": ""})
    assert result.returncode == 0, result.stderr


def test_setting(run_python: RunPython) -> None:
    code = """
import wia
names = [device.name for device in wia.devices() if device.driver_name == "emulator"]
assert names == ["emulator:0", "emulator:1", "emulator:2"], names
assert "over sample:0" in wia.find_device("emulator:2").description
"""
    result = run_python(code, environment={"WIA_EMULATOR": "3xsample:0"})
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        ("two", wia.InvalidArgumentError, "is 'two'; expected a number of devices from 1 to 256"),
        ("0xreference", wia.InvalidArgumentError, "expected a number of devices"),
        ("257xreference", wia.InvalidArgumentError, "expected a number of devices"),
        ("2xReference", wia.InvalidArgumentError, "expected a number of devices"),
        ("2xnull,memory=0", wia.InvalidArgumentError, "expected a number of devices"),
        ("2xnull,memory=1MB", wia.InvalidArgumentError, "memory=64MiB"),
        ("2xnull,memory=9999999999TiB", wia.InvalidArgumentError, "memory=64MiB"),
        ("2xnull,speed=1", wia.InvalidArgumentError, "memory=64MiB"),
        ("2xnothing", wia.UnavailableError, "no driver named 'nothing' can be used"),
        ("2xnull:7", wia.NotFoundError, 'there is no device "null:7"'),
    ],
)
def test_bad_settings(
    monkeypatch: pytest.MonkeyPatch, setting: str, error: type[wia.WiaError], message: str
) -> None:
    name = emulate(monkeypatch, setting)
    with pytest.raises(error, match=message):
        wia.Context(name)
    monkeypatch.setenv(f"WIA_{name.upper()}", "1xnull")  # read again at the next try
    wia.Context(name).close()


def test_over_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """No endless way round, of one emulator or of two."""
    name = emulate(monkeypatch, "2xnull")
    monkeypatch.setenv(f"WIA_{name.upper()}", f"2x{name}")
    with pytest.raises(wia.InvalidArgumentError, match="asked for its own device"):
        wia.Context(f"{name}:1")
    other = emulate(monkeypatch, f"1x{name}")
    monkeypatch.setenv(f"WIA_{name.upper()}", f"1x{other}")
    with pytest.raises(wia.FailedPreconditionError, match="was asked for while it was opened"):
        wia.Context(name)


def test_emulated_over_emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = emulate(monkeypatch, "1xsample")
    with wia.Context(emulate(monkeypatch, f"2x{inner}")) as ctx:
        assert (ctx.tensor([1.0, 2.0]) + ctx.tensor([3.0, 4.0])).tolist() == [4.0, 6.0]


def test_addresses(pair: Pair) -> None:
    """An address is on one device, ranges never overlap, and free finds the device by it."""
    places = [(ctx, allocate(ctx, 1000)) for _ in range(20) for ctx in pair]
    ranges = sorted(address for _, address in places)
    assert all(a + 1000 <= b for a, b in itertools.pairwise(ranges))
    assert all(owner(address) == ctx.device.id for ctx, address in places)
    before = [ctx.device.memory() for ctx in pair]
    assert [info.live_size for info in before] == [20_000, 20_000]
    address = places[1][1]
    assert free(address) == 0
    assert [ctx.device.memory().live_count for ctx in pair] == [20, 19]
    assert free(address) == lib.WIA_STATUS_INVALID_ARGUMENT
    assert all(free(rest) == 0 for _, rest in places if rest != address)
    assert [ctx.device.memory().live_size for ctx in pair] == [0, 0]
    assert pair[0].device.memory().total_count == 20


def test_wrong_device(pair: Pair) -> None:
    """A tensor of the other device is refused; the message names both."""
    first, second = pair
    a, b = first.tensor([1.0, 2.0]), second.tensor([3.0, 4.0])
    with pytest.raises(wia.InvalidArgumentError) as caught:
        first.execute("add", [a, b])
    assert first.device.name in str(caught.value)
    assert second.device.name in str(caught.value)
    with pytest.raises(wia.InvalidArgumentError, match=second.device.name):
        first.execute("add", [a, a], outputs=[second.empty(2)])
    with second.stream() as stream, pytest.raises(wia.InvalidArgumentError, match="stream"):
        a.write(np.zeros(2, np.float32), stream=stream)
    assert a.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("size", [1, 4096, 3_000_001])
def test_peer_copies(pair: Pair, size: int) -> None:
    first, second = pair
    data = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    source, target = first.tensor(data), second.full(size, 7, "uint8")
    pointers = [ffi.cast("void *", tensor.address) for tensor in (target, source)]
    assert lib.wia_copy_device_to_device(*pointers, size, NULL) == 0
    np.testing.assert_array_equal(target.numpy(), data)
    np.testing.assert_array_equal(source.numpy(), data)
    beyond = lib.wia_copy_device_to_device(*pointers, size + 1, NULL)
    assert beyond == lib.WIA_STATUS_INVALID_ARGUMENT
    moved = source[::-1].to(second)
    assert moved.device == second.device
    np.testing.assert_array_equal(moved.numpy(), data[::-1])


def test_events_across_devices(pair: Pair) -> None:
    """A stream of one device waits for an event of the other."""
    first, second = pair
    source, target = first.tensor(np.zeros(64, np.float32)), second.zeros(64)
    with (
        wia.Event(first) as gate,
        wia.Event(first) as written,
        first.stream() as producer,
        second.stream() as consumer,
    ):
        producer.wait(gate)
        source.write(np.arange(64, dtype=np.float32), stream=producer)
        written.record(producer)
        consumer.wait(written)
        pointers = [ffi.cast("void *", tensor.address) for tensor in (target, source)]
        handle = consumer._handle
        assert lib.wia_copy_device_to_device(*pointers, 256, handle) == 0
        assert not consumer.done
        gate.signal()
        consumer.synchronize()
    assert target.tolist() == list(range(64))


def test_statistics_are_apart(pair: Pair) -> None:
    """Prepared kernels too."""
    first, second = pair
    before = [ctx.device.plan_cache().miss_count for ctx in pair]
    a = second.tensor(np.ones(5, np.float32))
    for _ in range(3):
        second.execute("add", [a, a])
    after = [ctx.device.plan_cache().miss_count for ctx in pair]
    assert (after[0] - before[0], after[1] - before[1]) == (0, 1)
    assert first.device.memory().live_count == 0


def test_fill_without_the_base_having_it(monkeypatch: pytest.MonkeyPatch) -> None:
    base = f"unfilled_{next(_numbers)}"
    table = make_table(type("Unfilled", (Driver,), {"name": base})())
    table.fill = NULL
    assert lib.wia_register_driver(table, lib.WIA_DRIVER_ABI_MAJOR, lib.WIA_DRIVER_ABI_MINOR) == 0
    with wia.Context(emulate(monkeypatch, f"2x{base}")) as ctx:
        tensor = ctx.zeros(50_001)
        tensor[1:].fill(2.5)
        assert tensor[:2].tolist() == [0.0, 2.5]
        assert set(tensor[1:].numpy().flat) == {2.5}


def test_no_python_on_the_way(run_python: RunPython) -> None:
    """Over a native base kernels and memory work when nobody gets into Python any more."""
    code = """
import wia
from wia._native import ffi, lib
with wia.Context("emulator:1") as ctx, wia.Context("reference") as reference:
    a = ctx.tensor([1.0, 2.0])
    b = reference.tensor([1.0, 2.0])
    assert (a + a).tolist() == (b + b).tolist() == [2.0, 4.0]
    assert lib.wia__close_gate(0) == 0
    assert (a + a).tolist() == [2.0, 4.0]
    a.fill(3)
    assert a.to(reference).tolist() == [3.0, 3.0]
    try:
        b + b
    except wia.UnavailableError:
        pass
    else:
        raise AssertionError("the gate is open")
"""
    result = run_python(code, environment={"WIA_EMULATOR": "2xsample"})
    assert result.returncode == 0, result.stderr


class State:
    """What a kernel of the base keeps alive."""


def count_ones(monkeypatch: pytest.MonkeyPatch) -> tuple[str, list[weakref.ref[State]]]:
    """A base whose kernels keep a State alive, which the list tells of."""
    from test_native_kernels import fail

    states: list[weakref.ref[State]] = []
    name = f"counted_{next(_numbers)}"

    class Counted(Driver):
        @kernel("relu")
        def relu(self, node: Node) -> object:
            state = State()
            states.append(weakref.ref(state))
            return NativeKernel(fail, keepalive=state, state=1000 + len(states), name="counted")

    wia.register_driver(type("Named", (Counted,), {"name": name}))
    return name, states


def test_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """The base's kernel lives as long as ours, and its name and cost are the base's."""
    base, states = count_ones(monkeypatch)
    with wia.Context(emulate(monkeypatch, f"1x{base}")) as ctx:
        size = 1025
        for i in range(size):
            with ctx.plan("relu", [ctx.empty(i + 1)], [ctx.empty(i + 1)]) as plan:
                assert plan.name == "counted"
        assert len(states) == size
        evicted = ctx.device.plan_cache().eviction_count
        assert evicted >= 1
        ctx.empty(1).close()
        gc.collect()
        assert sum(state() is None for state in states) == evicted


def test_base_device_in_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that the driver drops is released; a group is good during prepare only."""
    base, states = count_ones(monkeypatch)
    groups: list[Group] = []
    found: list[BaseDevice] = []

    class Dropping(Driver):
        name = "dropping"

        def open_device(self, device: int) -> None:
            found.append(self.find_base(base))

        def prepare_group(self, device: int, group: Group) -> Any:
            if group.nodes[0].op == "relu":
                found[0].prepare(group)
                groups.append(group)
                raise wia.UnimplementedError("after all not")
            return found[0].prepare(group)

    wia.register_driver(Dropping)
    with wia.Context("dropping") as ctx:
        with pytest.raises(wia.UnimplementedError, match="after all not"):
            ctx.execute("relu", [ctx.zeros(2)])
        gc.collect()
        assert [state() for state in states] == [None]
        with pytest.raises(wia.InvalidArgumentError, match="earlier call"):
            found[0].prepare(groups[0])
        with pytest.raises(wia.UnimplementedError, match=f"{base} has no kernel for add"):
            ctx.execute("add", [ctx.zeros(2), ctx.zeros(2)])
    assert found[0].get_support("add") == frozenset()
    assert (found[0].name, found[0].memory_kind_count) == (base, 1)
