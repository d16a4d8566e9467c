"""A simulated NPU: the device "npu:0", computed by Numba on all cores of the host.

Its memory lies at addresses that the host can't touch, and its kernels are compiled once and kept
on disk. Needs the extra wia[npu]; numba is imported when the first kernel is prepared, not before.
"""

from __future__ import annotations

from wia_npu._driver import NpuDriver

__all__ = ["NpuDriver"]
