"""The machine and the software of a run. Nothing here tells whose machine it is."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

__all__ = ["describe_machine", "describe_software"]


def describe_machine() -> dict[str, str | int]:
    """Processor, architecture, number of processors, operating system."""
    return {
        "cpu": _cpu_model(),
        "architecture": platform.machine(),
        "cpu_count": os.cpu_count() or 0,
        "system": f"{platform.system()} {platform.release()}",
    }


def describe_software() -> dict[str, str]:
    """Versions of what expected values are computed with."""
    versions = {name: importlib.metadata.version(name) for name in ("numpy", "ml_dtypes")}
    return {"python": platform.python_version(), **versions}


def _cpu_model() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or "not known"
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip().lower() in ("model name", "cpu model", "hardware"):
            return value.strip()
    return platform.processor() or "not known"
