"""Classify the held-out scans on several devices: `python compare.py reference:0 npu:0 ...`.

Prints a table in Markdown with what each device gets right, and how far its logits are from those
of plain numpy (forward_numpy.py). With --output it writes the table, and a picture with the answers
of the first device, into a folder.
"""

from __future__ import annotations

import argparse
import base64
import struct
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path

import digits
import forward_numpy
import numpy as np

import wia

# Four that are easy to read, and all that are taken for others.
SHOWN_RIGHT = 4
SIDE, GAP = 64, 16


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="compare.py", description="Classify the held-out scans on several devices."
    )
    parser.add_argument("devices", nargs="+", metavar="DEVICE", help="for example reference:0")
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="write digits_devices.md and digits.svg there"
    )
    options = parser.parse_args(arguments)
    images = digits.load_images(digits.DATA / "test_images.npy")
    labels = digits.load_labels(digits.DATA / "test_labels.npy", len(images))
    try:
        answers = [classify(device, images) for device in options.devices]
    except wia.WiaError as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 1
    text = table(options.devices, answers, images, labels)
    print(text, end="")
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / "digits_devices.md").write_text(text, encoding="utf-8")
        shown = picture(images, answers[0].argmax(axis=1), labels)
        (options.output / "digits.svg").write_text(shown, encoding="utf-8")
    return 0


def classify(device: str, images: digits.Array) -> digits.Array:
    """Return the logits [n, 10]."""
    with wia.Context(device) as ctx:
        return digits.Network(ctx, digits.DATA).classify(images)[0]


def table(
    devices: Sequence[str],
    answers: Sequence[digits.Array],
    images: digits.Array,
    labels: digits.Array,
) -> str:
    """One row for each device."""
    weights = forward_numpy.load_weights(digits.DATA)
    by_hand = forward_numpy.logits(images, weights)
    rows = ["| device | right | accuracy | logits beside numpy's |", "| --- | --- | --- | --- |"]
    for device, logits in zip(devices, answers, strict=True):
        right = int((logits.argmax(axis=1) == labels).sum())
        accuracy = f"{right / len(labels):.2%}".replace("%", " %")
        difference = difference_text(float(np.abs(logits - by_hand).max()))
        rows.append(f"| `{device}` | {right} of {len(labels)} | {accuracy} | {difference} |")
    return "\n".join(rows) + "\n"


def difference_text(difference: float) -> str:
    """The next power of ten: the digits before it differ from one processor to the next."""
    if difference == 0:
        return "the same bits"
    return f"differ by less than 1e{int(np.floor(np.log10(difference))) + 1}"


def picture(images: digits.Array, answers: digits.Array, labels: digits.Array) -> str:
    """Return scans with their answers, as SVG: some that are right, then all that are wrong."""
    wrong = np.flatnonzero(answers != labels)
    right = np.flatnonzero(answers == labels)[:SHOWN_RIGHT]
    shown = [*map(int, right), *map(int, wrong)]
    width, height = len(shown) * (SIDE + GAP) + GAP, SIDE + 5 * GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        'font-family="sans-serif" font-size="13" text-anchor="middle">',
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    for place, index in enumerate(shown):
        left = GAP + place * (SIDE + GAP)
        parts.append(
            f'<image x="{left}" y="{GAP}" width="{SIDE}" height="{SIDE}" '
            f'style="image-rendering: pixelated" href="{png_address(images[index])}"/>'
        )
        fits = answers[index] == labels[index]
        colour = "#2d6a4f" if fits else "#a4301c"
        lines = [f"it is {labels[index]}", *([] if fits else [f"taken for {answers[index]}"])]
        for row, line in enumerate(lines):
            parts.append(
                f'<text x="{left + SIDE // 2}" y="{SIDE + (2 + row) * GAP + 4}" '
                f'fill="{colour}">{line}</text>'
            )
    return "\n".join([*parts, "</svg>"]) + "\n"


def png_address(image: digits.Array) -> str:
    """Return an image as a PNG in a data address, not compressed; ink is dark."""
    grey = (255 - np.clip(image, 0, 16) / 16 * 255).astype(np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in grey)
    header = struct.pack(">IIBBBBB", *grey.shape[::-1], 8, 0, 0, 0, 0)
    parts = [b"\x89PNG\r\n\x1a\n"]
    for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 0)), (b"IEND", b"")):
        checksum = zlib.crc32(kind + data)
        parts.append(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum))
    return "data:image/png;base64," + base64.b64encode(b"".join(parts)).decode()


if __name__ == "__main__":
    sys.exit(main())
