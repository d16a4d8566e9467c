"""The reference driver: every operation of the catalog, as its semantics say, on the host.

It is exact and slow: floats are computed in float64 and rounded once, integers in 64 bits, and sums
run in a fixed order without a library of linear algebra. So a result is the same from run to run,
on any number of threads, and for any strides and addresses.
"""

from __future__ import annotations

from wia_reference._driver import ReferenceDriver

__all__ = ["ReferenceDriver"]
