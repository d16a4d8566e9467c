"""The digits network written out by hand in plain numpy, to check the WIA programs against.

Each layer is a loop over the formula, in the precision of its arguments: nothing here is shared
with WIA or with the training code.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

NAMES = (
    "conv1_weight",
    "conv1_bias",
    "conv2_weight",
    "conv2_bias",
    "linear_weight",
    "linear_bias",
)


def load_weights(folder: Path) -> dict[str, Array]:
    """Read the float32 weights by name."""
    return {name: np.load(folder / f"{name}.npy", allow_pickle=False) for name in NAMES}


def logits(images: Array, weights: Mapping[str, Array]) -> Array:
    """Return [batch, 10] for [batch, 8, 8] pixels 0 to 16, in the dtype of the weights."""
    dtype = weights["conv1_weight"].dtype
    x = images[:, None].astype(dtype) / dtype.type(16)
    for name in ("conv1", "conv2"):
        x = conv3x3(x, weights[f"{name}_weight"], weights[f"{name}_bias"])
        x = max_pool2x2(np.maximum(x, 0))
    flat = x.reshape(len(x), -1)
    result: Array = flat @ weights["linear_weight"].T + weights["linear_bias"]
    return result


def conv3x3(x: Array, weight: Array, bias: Array) -> Array:
    """Slide a 3 x 3 window over [batch, channel, row, column], one pixel of zeros around it."""
    batch, _, rows, columns = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    out = np.zeros((batch, len(weight), rows, columns), x.dtype)
    for i in range(3):
        for j in range(3):
            window = padded[:, :, i : i + rows, j : j + columns]
            out += np.einsum("ncyx,oc->noyx", window, weight[:, :, i, j])
    return out + bias[None, :, None, None]


def max_pool2x2(x: Array) -> Array:
    """Return the largest of each 2 x 2 square."""
    top = np.maximum(x[:, :, 0::2, 0::2], x[:, :, 0::2, 1::2])
    bottom = np.maximum(x[:, :, 1::2, 0::2], x[:, :, 1::2, 1::2])
    return np.maximum(top, bottom)
