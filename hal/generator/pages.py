"""Pages of the manual: an index and one page per operation."""
from __future__ import annotations
def make(operations): return {}
