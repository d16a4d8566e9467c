"""Classify handwritten digits on a WIA device: `python digits.py [DEVICE] [options]`.

Every step from the bytes of the scan to the digit is a WIA operation; the C program beside this
file does the same and gets the same bits.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import wia

DATA = Path(__file__).resolve().parent / "data"
SHADES = " .:-=+*#@"
# Images that go through the network at once: bounds the memory for the layers in between.
BATCH = 512
WEIGHT_SHAPES = {
    "conv1_weight": (16, 1, 3, 3),
    "conv1_bias": (16,),
    "conv2_weight": (32, 16, 3, 3),
    "conv2_bias": (32,),
    "linear_weight": (10, 128),
    "linear_bias": (10,),
}

Array = NDArray[Any]


class Network:
    """The digits network on one device."""

    def __init__(self, ctx: wia.Context, weights: Path) -> None:
        self._ctx = ctx
        self._weights = {
            name: ctx.tensor(load_weight(weights / f"{name}.npy", shape))
            for name, shape in WEIGHT_SHAPES.items()
        }
        self._scale = ctx.tensor(np.float32(1 / 16))

    def classify(self, images: Array) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the logits [n, 10] and the digits [n] of images [n, 8, 8], pixels 0 to 16."""
        pixels = self._ctx.tensor(images[:, None])
        batches = [
            self._run(pixels[start : start + BATCH]) for start in range(0, len(images), BATCH)
        ]
        return (
            np.concatenate([logits.numpy() for logits, _ in batches]),
            np.concatenate([digits.numpy() for _, digits in batches]),
        )

    def _run(self, pixels: wia.Tensor) -> tuple[wia.Tensor, wia.Tensor]:
        ctx, w = self._ctx, self._weights
        x = ctx.mul(ctx.cast(pixels, dtype="float32"), self._scale)
        for name in ("conv1", "conv2"):
            x = ctx.conv2d(x, w[f"{name}_weight"], w[f"{name}_bias"], padding=(1, 1, 1, 1))
            x = ctx.max_pool2d(ctx.relu(x, out=x), kernel=(2, 2))
        flat = ctx.reshape(x, shape=(x.shape[0], 128))
        logits = ctx.linear(flat, w["linear_weight"], w["linear_bias"])
        return logits, ctx.argmax(logits, axis=-1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Classify, print the accuracy and draw some digits."""
    options = parse(arguments)
    try:
        images = load_images(options.images)
        labels = load_labels(options.labels, len(images)) if options.labels else None
        with wia.Context(options.device) as ctx:
            logits, digits = Network(ctx, options.weights).classify(images)
        if options.logits:
            np.save(options.logits, logits)
    except (wia.WiaError, OSError, ValueError) as error:
        print(f"digits.py: {error}", file=sys.stderr)
        return 1
    for index in range(min(options.show, len(images))):
        draw(images[index], index, digits, labels)
    print()
    if labels is None:
        print("predictions:", *digits)
    else:
        right = int((digits == labels).sum())
        print(f"{right} of {len(images)} right: {right / len(images):.2%}".replace("%", " %"))
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line; the held-out scans have labels, other images only if given."""
    parser = argparse.ArgumentParser(
        prog="digits.py",
        description="Classify 8 x 8 scans of handwritten digits on a WIA device.",
    )
    add = parser.add_argument
    add("device", nargs="?", help="for example reference:0 (left out: the default device)")
    add("--images", type=Path, help=".npy array [n, 8, 8] or [8, 8], pixels 0 to 16")
    add("--labels", type=Path, help=".npy array [n] of digits, to count what is right")
    add("--weights", type=Path, default=DATA, help="folder with the weights")
    add("--logits", type=Path, help="write the logits there, as .npy [n, 10]")
    add("--show", type=int, default=4, help="draw the first SHOW images (default %(default)s)")
    options = parser.parse_args(arguments)
    if options.show < 0:
        parser.error(f"--show needs a number from 0 on, not {options.show}")
    if options.images is None:
        options.images = DATA / "test_images.npy"
        options.labels = options.labels or DATA / "test_labels.npy"
    return options


def load(path: Path) -> Array:
    """Read a .npy file. Raises ValueError naming the file when it is none."""
    try:
        array = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, MemoryError) as error:
        raise ValueError(f"{path}: this is no .npy file that can be read: {error}") from error
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{path}: expected one array in a .npy file, not an archive")
    return array


def load_images(path: Path) -> Array:
    """Read images [n, 8, 8]; [8, 8] is one image."""
    images = load(path)
    if images.shape == (8, 8):
        images = images[None]
    if images.ndim != 3 or images.shape[1:] != (8, 8) or len(images) == 0:
        raise ValueError(
            f"{path}: expected images [n, 8, 8] with n above 0, or [8, 8]; "
            f"given {list(images.shape)}"
        )
    return images


def load_labels(path: Path, count: int) -> Array:
    """Read one digit for each image."""
    labels = load(path)
    if labels.shape != (count,) or labels.dtype.kind not in "biu":
        raise ValueError(
            f"{path}: expected one whole number for each of {count} images; "
            f"given {labels.dtype} {list(labels.shape)}"
        )
    return labels


def load_weight(path: Path, shape: tuple[int, ...]) -> Array:
    """Read one weight and check it."""
    weight = load(path)
    if weight.dtype != np.float32 or weight.shape != shape:
        raise ValueError(
            f"{path}: expected float32 {list(shape)}, given {weight.dtype} {list(weight.shape)}"
        )
    return weight


def draw(image: Array, index: int, digits: Array, labels: Array | None) -> None:
    """Draw one image with its prediction, two characters for a pixel."""
    truth = "" if labels is None else f", is {labels[index]}"
    print(f"\nimage {index}: predicted {digits[index]}{truth}")
    for row in image.astype(np.float64):
        print("  " + "".join(SHADES[int(min(max(pixel, 0), 16) / 2)] * 2 for pixel in row))


if __name__ == "__main__":
    sys.exit(main())
