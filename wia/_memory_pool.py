"""The memory that a context keeps to give out again: settings, statistics, a table of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from wia._errors import check
from wia._native import ffi, lib, new_struct

if TYPE_CHECKING:
    from wia._context import Context

__all__ = ["MemoryStats", "configure", "statistics", "summary", "trim"]

_GRANULE = 256
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


class MemoryStats(NamedTuple):
    """Statistics of a context's pool, in bytes and numbers; see wia/memory_pool.h.

    `is_pooled` is False where each tensor's memory comes from the driver and goes back to it.
    `used_classes` and `free_classes` map the least size of a class of blocks, the next of which is
    twice that, to the number of blocks in it.
    """

    is_pooled: bool
    limit_size: int
    keep_size: int
    reserved_size: int
    peak_reserved_size: int
    used_size: int
    peak_used_size: int
    requested_size: int
    free_size: int
    pending_size: int
    largest_free_size: int
    fragmentation: int
    segment_count: int
    used_count: int
    free_count: int
    hit_count: int
    miss_count: int
    wait_count: int
    released_count: int
    failed_count: int
    used_classes: dict[int, int]
    free_classes: dict[int, int]


def configure(context: Context, mode: int, limit: int, keep: int) -> None:
    """Sets what the context may have and keep; 0 is the default of each."""
    config = new_struct("wia_memory_pool_config_t")
    config.mode, config.limit_size, config.keep_size = mode, limit, keep
    check(lib.wia_configure_memory_pool(context._handle, config))


def trim(context: Context, keep: int) -> int:
    """Gives back free segments until at most keep bytes are free; the bytes that went."""
    size = ffi.new("uint64_t *")
    check(lib.wia_trim_memory_pool(context._handle, keep, size))
    return int(size[0])


def statistics(context: Context) -> MemoryStats:
    """What the pool has now."""
    info = new_struct("wia_memory_pool_info_t")
    check(lib.wia_get_memory_pool_info(context._handle, info))
    is_pooled = info.mode == lib.WIA_MEMORY_POOL_ON
    values = [getattr(info, field) for field in MemoryStats._fields[1:-2]]
    classes = [_classes(info.used_classes), _classes(info.free_classes)]
    return MemoryStats._make([is_pooled, *values, *classes])


def _classes(counts: list[int]) -> dict[int, int]:
    return {_GRANULE << i: count for i, count in enumerate(counts) if count}


def summary(context: Context) -> str:
    """A table of the statistics."""
    s = statistics(context)
    limit = _size(s.limit_size) if s.limit_size else "none"
    rows = [
        (
            "in use",
            _size(s.used_size),
            f"{s.used_count} blocks, {_size(s.requested_size)} asked for",
        ),
        ("free", _size(s.free_size), f"{s.free_count} blocks, {_size(s.pending_size)} in flight"),
        ("largest free", _size(s.largest_free_size), f"fragmentation {s.fragmentation} %"),
        ("reserved", _size(s.reserved_size), f"{s.segment_count} segments, limit {limit}"),
        ("peak in use", _size(s.peak_used_size), f"peak reserved {_size(s.peak_reserved_size)}"),
        ("hits", str(s.hit_count), f"{s.miss_count} misses, {s.wait_count} waits"),
        ("given back", str(s.released_count), f"{s.failed_count} allocations refused"),
    ]
    for least in sorted(s.used_classes.keys() | s.free_classes.keys()):
        used, free = s.used_classes.get(least, 0), s.free_classes.get(least, 0)
        rows.append((f"from {_size(least)}", f"{used} used", f"{free} free"))
    title = f"Memory of a context on {context.device.name}"
    return "\n".join([title, *(f"  {name:<14}{value:>12}   {more}" for name, value, more in rows)])


def _size(size: float) -> str:
    """A size to three digits or so: 1.50 MiB."""
    unit = 0
    while size >= 1024 and unit + 1 < len(_UNITS):
        size /= 1024
        unit += 1
    return f"{size:.0f} B" if unit == 0 else f"{size:.2f} {_UNITS[unit]}"
