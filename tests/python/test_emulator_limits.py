"""What the emulator holds its devices to: their memory, and the links between them."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import numpy as np
import pytest
from test_emulator import allocate, emulate, free

import wia
from wia._native import NULL, ffi, lib

MIB = 1 << 20


def copy(target: wia.Tensor, source: wia.Tensor, size: int, stream: object = NULL) -> int:
    pointers = [ffi.cast("void *", tensor.address) for tensor in (target, source)]
    return int(lib.wia_copy_device_to_device(*pointers, size, stream))


# -- memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", ["reference", "sample"])
def test_memory_limit(monkeypatch: pytest.MonkeyPatch, base: str) -> None:
    """Each device has its own; the message has the figures; what is freed can be had again."""
    name = emulate(monkeypatch, f"2x{base},memory=64MiB")
    with wia.Context(name) as first, wia.Context(f"{name}:1") as second:
        held = [allocate(first, 20 * MIB) for _ in range(3)]
        info = first.device.memory()
        assert (info.total_size, info.free_size, info.live_size) == (64 * MIB, 4 * MIB, 60 * MIB)
        with pytest.raises(wia.ResourceExhaustedError) as caught:
            first.empty(5 * MIB, dtype="uint8")
        for figure in (5 * MIB, 64 * MIB, 60 * MIB, 4 * MIB):
            assert str(figure) in str(caught.value)
        assert f"{name}:0" in str(caught.value)
        assert second.device.memory().free_size == 64 * MIB
        other = allocate(second, 64 * MIB)  # to the last byte
        with pytest.raises(wia.ResourceExhaustedError):
            second.empty(1, dtype="uint8")
        assert first.device.memory().failed_count == second.device.memory().failed_count
        assert all(free(address) == 0 for address in [*held, other])
        for device in (first.device, second.device):
            info = device.memory()
            assert (info.free_size, info.live_size, info.live_count) == (64 * MIB, 0, 0)
        assert free(allocate(first, 64 * MIB)) == 0


def test_limit_with_work_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that allocate and free at once never go beyond, and all is given back."""
    with wia.Context(emulate(monkeypatch, "1xsample,memory=1MiB")) as ctx:
        refused = []

        def work() -> None:
            for _ in range(200):
                try:
                    with closing(ctx.zeros(100_000)) as tensor:
                        tensor.fill(1)
                except wia.ResourceExhaustedError as error:
                    refused.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ctx.trim_memory()
        info = ctx.device.memory()
        assert info.peak_size <= MIB
        assert (info.free_size, info.live_size) == (MIB, 0)
        assert info.failed_count >= len(refused)


# -- links -----------------------------------------------------------------------------------------


def test_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    name = emulate(monkeypatch, "2xnull", bandwidth="16e9", latency="1500")
    first, second = wia.find_device(name), wia.find_device(f"{name}:1")
    assert first.link(second) == wia.LinkInfo(True, 16e9, 1500.0)
    assert first.link("reference") == wia.LinkInfo(False, -1.0, -1.0)
    plain = emulate(monkeypatch, "2xnull")
    link = wia.find_device(plain).link(f"{plain}:1")
    assert link == wia.LinkInfo(True, -1.0, -1.0)
    for figure in ("fast", "-1", "inf", "nan"):
        with pytest.raises(wia.InvalidArgumentError, match="_LATENCY is"):
            wia.Context(emulate(monkeypatch, "2xnull", latency=figure))


def test_direct_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Right to the last byte, at once and on a stream."""
    name = emulate(monkeypatch, "2xsample")
    data = np.random.default_rng(1).integers(0, 256, 3_000_001, np.uint8)
    with wia.Context(name) as first, wia.Context(f"{name}:1") as second:
        source, target = first.tensor(data), second.full(data.size, 7, "uint8")
        assert copy(target, source, data.size) == 0
        np.testing.assert_array_equal(target.numpy(), data)
        with second.stream() as stream:
            assert copy(source, target, 1000, stream._handle) == 0
            stream.synchronize()


def test_slow_link(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy takes at least what the figures say, on its link only."""
    size, seconds = 100_000, 0.1
    name = emulate(monkeypatch, "3xsample", bandwidth="2e6", latency="50e6")
    contexts = [wia.Context(f"{name}:{i}") for i in range(3)]
    first, second, third = (ctx.zeros(size, dtype="uint8") for ctx in contexts)
    start = time.monotonic()
    assert copy(second, first, size) == 0
    assert time.monotonic() - start >= seconds  # 50 ms of 100 kB at 2 MB/s, and 50 ms

    with contexts[0].stream() as one, contexts[0].stream() as two, contexts[2].stream() as three:
        start = time.monotonic()
        assert copy(second, first, size, one._handle) == 0
        assert copy(second, first, size, two._handle) == 0
        assert copy(second, third, size, three._handle) == 0
        enqueued = time.monotonic() - start
        own = contexts[1].zeros(8)
        assert (own + 1).tolist() == [1.0] * 8  # the devices themselves go on
        went_on = time.monotonic() - start
        three.synchronize()
        other_link = time.monotonic() - start
        one.synchronize()
        two.synchronize()
        both = time.monotonic() - start
    assert enqueued < seconds
    assert went_on < seconds
    assert other_link >= seconds
    assert both >= seconds + 0.05  # one after the other, but for the latency
    for ctx in contexts:
        ctx.close()
