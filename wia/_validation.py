"""The layer validate: faults of a program that a call alone can't show, and what is live."""

from __future__ import annotations

from typing import Any, NamedTuple

from wia._errors import check
from wia._native import ffi, lib, new_struct, text

__all__ = ["Finding", "clear_findings", "leak_report", "validation_report"]

_KINDS = ("", "race", "overlap", "cyclic wait", "leak")
_HAZARDS = ("", "read after write", "write after read", "write after write")


class Finding(NamedTuple):
    """What the layer validate found."""

    kind: str
    """race, overlap, cyclic wait or leak."""
    hazard: str
    """Of a race: read after write, write after read or write after write; else empty."""
    message: str
    """All of it, in lines."""
    object: str
    """Of a leak: memory, tensor, context, stream, event, plan ...; else empty."""
    operation: str
    function: str
    """The function of the C ABI that was called; of a leak: that made it."""
    site: str
    """Where it was called: "train.py:12 in step", or the frames of a stack of C functions."""
    stream: int
    """As profiles number them, from 1; 0: without a stream."""
    other_operation: str
    other_function: str
    other_site: str
    other_stream: int
    device_id: int
    """Of the memory or object; -1: of the host."""
    address: int
    size: int
    """Bytes that both reach, or that are live."""
    times: int
    """How often it was found; of a leak: how many from that place are live."""


def validation_report() -> list[Finding]:
    """What the layer validate has found so far, leaks left out, in the order of finding.

    >>> import wia
    >>> with wia.enable_layer("validate"), wia.Context("reference") as ctx:
    ...     total = ctx.add(ctx.tensor([1.0]), ctx.tensor([2.0]))
    >>> wia.validation_report()
    []
    """
    return _read(lib.wia_get_validation_report)


def leak_report() -> list[Finding]:
    """What is live now: memory, and contexts, tensors, streams, events, plans and the like.

    Those that were made at one place while the layer validate was on stand as one; those that were
    made while it was off have no place.
    """
    return _read(lib.wia_get_leak_report)


def clear_findings() -> None:
    """Forgets what was found, so that it is found and told again."""
    check(lib.wia_clear_findings())


def _read(get: Any) -> list[Finding]:
    out = ffi.new("wia_validation_report_t **")
    check(get(out))
    report = ffi.gc(out[0], lib.wia_destroy_validation_report)
    info = new_struct("wia_validation_report_info_t")
    check(lib.wia_get_validation_report_info(report, info))
    return [_read_finding(report, index) for index in range(info.finding_count)]


def _read_finding(report: Any, index: int) -> Finding:
    finding = new_struct("wia_finding_t")
    check(lib.wia_get_finding(report, index, finding))
    return Finding(
        kind=_KINDS[finding.kind],
        hazard=_HAZARDS[finding.hazard],
        message=text(finding.message),
        object=text(finding.object),
        operation=text(finding.operation),
        function=text(finding.function),
        site=text(finding.site),
        stream=finding.stream,
        other_operation=text(finding.operation_2),
        other_function=text(finding.function_2),
        other_site=text(finding.site_2),
        other_stream=finding.stream_2,
        device_id=finding.device_id,
        address=finding.address,
        size=finding.size,
        times=finding.count,
    )
