"""The tables of `wia run --profile`: which kernels and nodes took the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import wia
from wia._cli._output import print_table

if TYPE_CHECKING:
    from wia._profile import Profile
    from wia.onnx._run import NodeRecord

__all__ = ["print_profile", "summarize_profile"]

_SHOWN = 10


def summarize_profile(report: Profile, runs: Sequence[Sequence[NodeRecord]]) -> dict[str, Any]:
    """Times of kernels by operation and device, and of nodes, over all runs; largest first."""
    names = {device.id: device.name for device in wia.devices()}
    kernels: dict[tuple[str, str], dict[str, Any]] = {}
    inside: dict[int, int] = {}
    for event in report.events:
        if event.kind != "kernel":
            continue
        span = event.end_ns - event.begin_ns
        key = (event.name, names.get(event.device_id, ""))
        entry = kernels.setdefault(key, {"launches": 0, "seconds": 0.0})
        entry["launches"] += 1
        entry["seconds"] += span / 1e9
        inside[event.range_id] = inside.get(event.range_id, 0) + span
    nodes = []
    for number, records in enumerate(zip(*runs, strict=True), 1):
        places = sorted({place for record in records for place in record.places})
        nodes.append(
            {
                "name": records[0].name,
                "operator": records[0].operator,
                "places": places,
                "seconds": sum(record.seconds for record in records),
                "kernel_seconds": inside.get(number, 0) / 1e9,
            }
        )
    return {
        "lost": report.lost,
        "kernels": _ranked(
            [{"name": n, "device": d, **entry} for (n, d), entry in kernels.items()]
        ),
        "nodes": _ranked(nodes),
    }


def _ranked(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    whole = sum(entry["seconds"] for entry in entries) or 1.0
    for entry in entries:
        entry["share"] = entry["seconds"] / whole
    return sorted(entries, key=lambda entry: -entry["seconds"])


def print_profile(found: Mapping[str, Any]) -> None:
    """Prints the first lines of both tables."""
    kernels = [
        (e["name"], e["device"], str(e["launches"]), _milliseconds(e["seconds"]), _share(e))
        for e in found["kernels"][:_SHOWN]
    ]
    print_table(
        ("KERNEL", "DEVICE", "LAUNCHES", "MS", "SHARE"), kernels, right=("LAUNCHES", "MS", "SHARE")
    )
    print()
    nodes = [
        (
            e["name"],
            e["operator"],
            ", ".join(e["places"]),
            _milliseconds(e["seconds"]),
            _share(e),
            _milliseconds(e["kernel_seconds"]),
        )
        for e in found["nodes"][:_SHOWN]
    ]
    print_table(
        ("NODE", "OPERATOR", "RAN ON", "MS", "SHARE", "IN KERNELS"),
        nodes,
        right=("MS", "SHARE", "IN KERNELS"),
    )
    if found["lost"]:
        print(f"\n{found['lost']} of the oldest events didn't fit: profile fewer runs.")


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3f}"


def _share(entry: Mapping[str, Any]) -> str:
    return f"{entry['share']:.1%}"
