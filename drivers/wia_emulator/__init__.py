"""The emulator: several devices over one device of another driver.

WIA_EMULATOR says how many and over which: "4xnpu", "2xsample:1"; "2xreference" when it is not set.
"4xnpu,memory=64MiB" gives each so much memory. Kernels and results are the base's. Each emulated
device has allocations, streams and statistics of its own, so that programs for several devices can
be tried with one. Copies between them take as long as their links say.
"""

from __future__ import annotations

from wia_emulator._driver import EmulatorDriver

__all__ = ["EmulatorDriver"]
