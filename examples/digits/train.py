"""Retrain the digits network: `python examples/digits/train.py`.

Needs numpy and scikit-learn (for its data set of 1,797 scanned digits and the split). Writes the
weights and the held-out images as .npy files and prints the accuracy on images that training never
saw. The held-out images choose nothing: the number of epochs and all settings are fixed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from layers import Adam, Array, Conv3x3, Layer, Linear, ReluMaxPool2x2, softmax_cross_entropy
from numpy.typing import NDArray

try:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from threadpoolctl import threadpool_limits
except ImportError as error:
    sys.exit(
        f"train.py needs scikit-learn ({error}); install it: python -m pip install scikit-learn"
    )

if TYPE_CHECKING:
    from device import DeviceNetwork

DATA = Path(__file__).resolve().parent / "data"
SEED = 0
HELD_OUT = 360
BATCH = 64
LEARNING_RATE = 3e-3
WEIGHT_DECAY = 1e-2

Split = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, print the accuracies, write the files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=DATA, help="folder for the .npy files")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--device", help="train there, with WIA; writes no weights")
    parser.add_argument(
        "--optimizer", default="adamw", choices=["sgd", "momentum", "adam", "adamw"], help="there"
    )
    parser.add_argument(
        "--checkpoint",
        type=Path,
        metavar="FILE",
        help="there: written after each epoch; if it is there, training goes on from it",
    )
    options = parser.parse_args(arguments)
    if options.device:
        return train_on(options.device, options.epochs, options.optimizer, options.checkpoint)

    train_images, train_labels, test_images, test_labels = load_split()
    rng = np.random.default_rng(SEED)
    network = make_network(rng)
    # With more threads numpy's matmul sums in another order, and the files get other bytes.
    with threadpool_limits(limits=1):
        fit(network, train_images, train_labels, rng, options.epochs)
    print(f"training images: {accuracy(network, train_images, train_labels):.2%}")
    print(f"held-out images: {accuracy(network, test_images, test_labels):.2%}")

    options.output.mkdir(parents=True, exist_ok=True)
    for name, array in named_weights(network).items():
        save(options.output / f"{name}.npy", array)
    save(options.output / "test_images.npy", test_images)
    save(options.output / "test_labels.npy", test_labels.astype(np.uint8))
    return 0


def train_on(device: str, epochs: int, optimizer: str, checkpoint: Path | None) -> int:
    """Train the same network on a WIA device, from the same weights on the same batches."""
    from device import DeviceNetwork

    import wia

    train_images, train_labels, test_images, test_labels = load_split()
    rng = np.random.default_rng(SEED)
    weights = named_weights(make_network(rng))
    try:
        with wia.Context(device) as ctx:
            network = DeviceNetwork(ctx, weights, WEIGHT_DECAY, optimizer=optimizer)
            first = resume(network, rng, checkpoint, optimizer)
            for epoch in range(first, epochs):
                loss = fit_epoch(
                    network.step, train_images, train_labels, rng, epoch / epochs, epochs
                )
                print(f"epoch {epoch + 1:3} of {epochs}: loss {loss:.4f}", flush=True)
                if checkpoint:
                    keep(network.save(), rng, epoch + 1, checkpoint, optimizer)
            found = network.accuracy(scale(test_images), test_labels)
    except (wia.WiaError, CheckpointError) as error:
        print(f"train.py: {device}: {error}", file=sys.stderr)
        if isinstance(error, wia.UnimplementedError):
            print("`wia ops` shows what each device has; reference:0 has all.", file=sys.stderr)
        return 1
    print(f"held-out images: {found:.2%}")
    return 0


class CheckpointError(Exception):
    """A checkpoint that doesn't fit."""


def resume(
    network: DeviceNetwork, rng: np.random.Generator, checkpoint: Path | None, optimizer: str
) -> int:
    """Load a checkpoint, if it is there; return how many epochs are done."""
    if not checkpoint or not checkpoint.is_file():
        return 0
    with np.load(checkpoint) as arrays:
        if str(arrays["optimizer"]) != optimizer:
            raise CheckpointError(
                f"{checkpoint} was written by --optimizer {arrays['optimizer']}; give that one, or "
                "another file"
            )
        network.load(arrays)
        rng.bit_generator.state = json.loads(str(arrays["rng"]))
        return int(arrays["epochs"])


def keep(
    arrays: dict[str, NDArray[Any]],
    rng: np.random.Generator,
    epochs: int,
    checkpoint: Path,
    optimizer: str,
) -> None:
    """Write a checkpoint; one that is cut off leaves the one before."""
    fresh = checkpoint.with_suffix(".new.npz")
    state = json.dumps(rng.bit_generator.state)
    np.savez(fresh, **arrays, rng=state, epochs=epochs, optimizer=optimizer)  # type: ignore[arg-type]
    fresh.replace(checkpoint)


def fit_epoch(
    step: Callable[[Array, NDArray[np.int64], float], float],
    images: NDArray[np.uint8],
    labels: NDArray[np.int64],
    rng: np.random.Generator,
    done: float,
    epochs: int,
) -> float:
    """Call step with each batch, images shifted as in fit(), with a cosine learning rate.

    ``done`` is the share of all epochs that came before. Returns the mean of the losses.
    """
    batches = -(-len(images) // BATCH)
    order = rng.permutation(len(images))
    total = 0.0
    for index in range(batches):
        chosen = order[index * BATCH : (index + 1) * BATCH]
        progress = done + index / batches / epochs
        rate = LEARNING_RATE * 0.5 * (1 + float(np.cos(np.pi * progress)))
        total += step(scale(shift(images[chosen], rng)), labels[chosen], rate)
    return total / batches


def load_split() -> Split:
    """Return training images and labels, held-out images and labels; pixels are 0 to 16."""
    digits = load_digits()
    images = digits.images.astype(np.uint8)
    labels = digits.target.astype(np.int64)
    train_x, test_x, train_y, test_y = train_test_split(
        images, labels, test_size=HELD_OUT, random_state=SEED, stratify=labels
    )
    return train_x, train_y, test_x, test_y


def make_network(rng: np.random.Generator) -> list[Layer]:
    """1 x 8 x 8 -> 16 x 4 x 4 -> 32 x 2 x 2 -> 10."""
    return [
        Conv3x3(rng, 1, 16),
        ReluMaxPool2x2(),
        Conv3x3(rng, 16, 32),
        ReluMaxPool2x2(),
        Linear(rng, 32 * 2 * 2, 10),
    ]


def fit(
    network: list[Layer],
    images: NDArray[np.uint8],
    labels: NDArray[np.int64],
    rng: np.random.Generator,
    epochs: int,
) -> None:
    """Train in place, each image shifted by up to one pixel, with a cosine learning rate."""
    optimizer = Adam(network, WEIGHT_DECAY)
    batches = -(-len(images) // BATCH)
    for epoch in range(epochs):
        order = rng.permutation(len(images))
        total = 0.0
        for index in range(batches):
            chosen = order[index * BATCH : (index + 1) * BATCH]
            x = scale(shift(images[chosen], rng))
            loss, grad = softmax_cross_entropy(forward(network, x), labels[chosen])
            for layer in reversed(network):
                grad = layer.backward(grad)
            progress = (epoch + index / batches) / epochs
            optimizer.step(LEARNING_RATE * 0.5 * (1 + np.cos(np.pi * progress)))
            total += loss
        if (epoch + 1) % 10 == 0:
            print(f"epoch {epoch + 1:3}: loss {total / batches:.4f}", flush=True)


def shift(images: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Move each image by -1, 0 or 1 pixels in each direction; zeros come in."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (8, 8), axis=(1, 2))
    rows, columns = rng.integers(0, 3, (2, len(images)))
    shifted: NDArray[np.uint8] = windows[np.arange(len(images)), rows, columns]
    return shifted


def scale(images: NDArray[np.uint8]) -> Array:
    """Pixels 0 to 16 as float32 0 to 1, with a channel axis. 1/16 is exact."""
    return (images.astype(np.float32) * np.float32(1 / 16))[:, None]


def forward(network: list[Layer], x: Array) -> Array:
    """Return the logits, [batch, 10]."""
    for layer in network:
        x = layer.forward(x)
    return x


def accuracy(network: list[Layer], images: NDArray[np.uint8], labels: NDArray[np.int64]) -> float:
    """Return the share of images whose largest logit is that of the label."""
    return float((forward(network, scale(images)).argmax(axis=1) == labels).mean())


def named_weights(network: list[Layer]) -> dict[str, Array]:
    """Name the parameters as their files are named."""
    layers = [layer for layer in network if layer.parameters]
    names = ("conv1", "conv2", "linear")
    return {
        f"{name}_{part}": array
        for name, layer in zip(names, layers, strict=True)
        for part, array in zip(("weight", "bias"), layer.parameters, strict=True)
    }


def save(path: Path, array: NDArray[np.generic]) -> None:
    """Write a .npy file and print its hash, as the README lists it."""
    with path.open("wb") as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array), version=(1, 0))
    print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}")


if __name__ == "__main__":
    sys.exit(main())
