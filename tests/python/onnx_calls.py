"""What a translation of an ONNX operator gives: a call of a catalog entry."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Call = tuple[str, list[Array | None], dict[str, Any]]
"""Name of the operation, inputs, and attributes and scalars."""


class LeftOutError(Exception):
    """WIA has no operation for this case; the text says why."""
