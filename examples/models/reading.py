"""RapidOCR: where the lines of a page are, and what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
from running import Answer, Array, Model, Run, Runner, picture

_PAGE = "page.png"
_FILES = "rapidocr_onnxruntime/models/ch_PP-OCRv4_"
Box = tuple[int, int, int, int]
"""Left, top, right and bottom, in pixels of the page."""


def mark(run: Run) -> Array:
    """How sure the detector is that a pixel is of a line; the page is twice as large there."""
    page = picture(_PAGE)
    width, height = (size * 2 // 32 * 32 for size in page.size)
    pixels = np.asarray(page.resize((width, height)), np.float32) / 127.5 - 1
    (marks,) = run({"x": pixels.transpose(2, 0, 1)[None]}).values()
    found: Array = marks[0, 0]
    return found


def find_lines(marks: Array) -> list[Box]:
    """The lines of the page: stretches of rows with marks, from the first column to the last."""
    page = picture(_PAGE)
    strong = marks > 0.3
    rows = strong.mean(axis=1) > 0.1
    edges = np.flatnonzero(np.diff(np.concatenate([[0], rows.astype(np.int8), [0]])))
    across, down = page.size[0] / marks.shape[1], page.size[1] / marks.shape[0]
    pad, found = 3, []
    for begin, end in edges.reshape(-1, 2):
        columns = np.flatnonzero(strong[begin:end].any(axis=0)) * across
        found.append(
            (
                max(0, int(columns[0]) - pad),
                max(0, int(begin * down) - pad),
                min(page.size[0], int(columns[-1]) + pad),
                min(page.size[1], int(end * down) + pad),
            )
        )
    return found


def ask_lines(run: Run) -> Answer:
    """Where the lines of a page are, as the detector marks them."""
    marks = mark(run)
    lines = find_lines(marks)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        width, height = picture(_PAGE).size
        axes.imshow(marks[::2, ::2], cmap="Greys", extent=(0, width, height, 0))
        _draw_boxes(axes, lines)
        axes.set_title("How sure the detector is of lines, and their boxes")

    return Answer(f"{len(lines)} lines", len(lines) >= 5, draw)


def ask_text(run: Run) -> Answer:
    """The text of the page: its lines by the detector, their letters by the recogniser."""
    page = picture(_PAGE)
    letters = ["", *run.metadata["character"].splitlines(), " "]
    detector = Runner(LINES.path, run.device)
    lines, texts = find_lines(mark(detector)), []
    detector.close()
    for _, top, _, bottom in lines:
        line = page.crop((0, top, page.size[0], bottom))  # it reads worse without a margin
        width = round(line.size[0] * 48 / line.size[1])
        pixels = np.asarray(line.resize((width, 48), 3), np.float32) / 127.5 - 1
        (shares,) = run({"x": pixels.transpose(2, 0, 1)[None]}).values()
        best = shares[0].argmax(axis=1)
        kept = [n for n, before in zip(best, [0, *best[:-1]], strict=True) if n != before and n]
        texts.append("".join(letters[n] for n in kept))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        _draw_boxes(axes, lines)
        for (left, top, _, bottom), text in zip(lines, texts, strict=True):
            axes.text(left + 2, (top + bottom) / 2, text, va="center", fontsize=6)
        axes.set_xlim(0, page.size[0])
        axes.set_ylim(page.size[1], 0)
        axes.set_title("What stands in the boxes")

    text = " / ".join(texts)
    right = all(word in text for word in ("segmentation", "markers", "coins"))
    return Answer(text, right, draw)


def _draw_boxes(axes: Any, lines: list[Box]) -> None:
    from matplotlib.patches import Rectangle

    for left, top, right, bottom in lines:
        size = (right - left, bottom - top)
        axes.add_patch(Rectangle((left, top), *size, fill=False, edgecolor="#b3402a", linewidth=1))
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])


LINES = Model("rapidocr-onnxruntime==1.4.4", f"{_FILES}det_infer.onnx", 1e-3, ask_lines)
TEXT = Model("rapidocr-onnxruntime==1.4.4", f"{_FILES}rec_infer.onnx", 1e-3, ask_text)
