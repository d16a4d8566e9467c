"""Pools of contexts from Python: statistics, limits, trimming, reuse."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

import wia

MIB = 1 << 20


@pytest.fixture
def pooled(ctx: wia.Context) -> wia.Context:
    """A context of the device with a pool, whatever WIA_MEMORY_POOL says."""
    ctx.configure_memory(pool=True)
    ctx.trim_memory()
    ctx.reset_memory_peaks()
    return ctx


def test_reuse(pooled: wia.Context) -> None:
    before = pooled.memory_stats()
    addresses = set()
    for i in range(20):
        with closing(pooled.tensor(np.full(1000, i, "float32"))) as t:
            addresses.add(t.address)
    after = pooled.memory_stats()
    assert len(addresses) == 1
    assert (after.used_size, after.miss_count - before.miss_count) == (before.used_size, 1)
    assert after.peak_used_size == before.used_size + 4096
    assert pooled.trim_memory() == after.free_size
    assert pooled.memory_stats().free_size == 0


def test_limit(pooled: wia.Context) -> None:
    used = pooled.memory_stats().reserved_size
    pooled.configure_memory(pool=True, limit=used + MIB)
    t = pooled.empty(MIB, "uint8")
    with pytest.raises(wia.ResourceExhaustedError, match="raise the limit"):
        pooled.empty(1)
    t.close()
    with closing(pooled.empty(MIB, "uint8")):
        assert pooled.memory_stats().reserved_size == used + MIB
    pooled.configure_memory(pool=True)


def test_keep_and_off(pooled: wia.Context) -> None:
    used = pooled.memory_stats().reserved_size
    pooled.configure_memory(pool=True, keep=0)
    pooled.empty(1000).close()
    assert pooled.memory_stats().reserved_size == used
    pooled.configure_memory(pool=False)
    with closing(pooled.empty(1000)):
        stats = pooled.memory_stats()
        assert stats.reserved_size == used + 4000
        assert stats.segment_count <= 1
    assert pooled.memory_stats().reserved_size == used
    pooled.configure_memory()


def test_summary(pooled: wia.Context) -> None:
    with closing(pooled.empty(100)), closing(pooled.empty(MIB, "uint8")):
        text = pooled.memory_summary()
    assert text.startswith(f"Memory of a context on {pooled.device.name}\n")
    for part in ("in use", "fragmentation", "limit none", "1 used", "from 512 B", "from 1.00 MiB"):
        assert part in text


def test_tensors_in_flight(pooled: wia.Context) -> None:
    """What is freed while a stream still writes to it is nobody else's until then."""
    with pooled.stream() as stream:
        kept = []
        for i in range(200):
            with closing(pooled.tensor(np.full(5000, i, "float32"))) as a:
                a.write(np.full(5000, i + 1, "float32"), stream=stream)
            kept.append(pooled.tensor(np.full(5000, -i, "float32")))
        stream.synchronize()
    for i, t in enumerate(kept):
        assert (t.numpy() == -i).all()
