"""Boxes chosen among those that overlap."""

from __future__ import annotations

from typing import Any

from ._cost import elements
from ._forms import flag
from ._model import (
    FLOATS,
    Operand,
    Sample,
    Scalar,
    Standard,
)
from ._moving import count, moving
from ._numeric import widen


def non_max_suppression(
    np: Any,
    boxes: Any,
    scores: Any,
    *,
    max_output: int,
    center_point_box: int,
    iou_threshold: float,
    score_threshold: float,
) -> tuple[Any, Any]:
    """The boxes of the best scores that don't overlap a better one: image, class and box."""
    edges, wide = _edges(np, widen(np, boxes), center_point_box), widen(np, scores)
    images, classes, count = scores.shape
    chosen: list[tuple[int, int, int]] = []
    for image in range(images):
        for kind in range(classes):
            kept: list[int] = []
            row = wide[image, kind]
            for box in np.argsort(-row, kind="stable"):
                if len(kept) == max_output:
                    break
                if row[box] > score_threshold and not any(
                    _overlap(edges[image, box], edges[image, other]) > iou_threshold
                    for other in kept
                ):
                    kept.append(int(box))
            chosen += [(image, kind, box) for box in kept]
    result = np.zeros((images * classes * min(max_output, count), 3), np.int64)
    result[: len(chosen)] = np.array(chosen, np.int64).reshape(-1, 3)
    return result, np.asarray(len(chosen))


def _edges(np: Any, boxes: Any, center_point_box: int) -> Any:
    """Top, left, bottom and right in order."""
    if center_point_box:
        x, y, width, height = np.moveaxis(boxes, -1, 0)
        parts = [y - height / 2, x - width / 2, y + height / 2, x + width / 2]
        return np.stack(parts, axis=-1)
    a, b = boxes[..., :2], boxes[..., 2:]
    return np.concatenate([np.minimum(a, b), np.maximum(a, b)], axis=-1)


def _overlap(a: Any, b: Any) -> float:
    """The common area of two boxes in relation to that of both; 0 where one has none."""
    height = min(a[2], b[2]) - max(a[0], b[0])
    width = min(a[3], b[3]) - max(a[1], b[1])
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    if height <= 0 or width <= 0 or min(areas) <= 0:
        return 0.0
    return float(height * width / (sum(areas) - height * width))


NON_MAX_SUPPRESSION = moving(
    404,
    "non_max_suppression",
    non_max_suppression,
    summary="The boxes of the best scores that don't overlap a better one.",
    formula="output[k] = (image, class, box) of the k-th box that is kept",
    inputs=(
        Operand(name="boxes", summary="[n, m, 4]: two opposite corners, y before x."),
        Operand(name="scores", summary="[n, classes, m]."),
    ),
    outputs=(
        Operand(
            name="output",
            summary="int64, [n * classes * min(max_output, m), 3]; rows behind count are 0.",
            sized=True,
        ),
        Operand(name="count", summary="int64 of rank 0: how many boxes are kept."),
    ),
    count="count",
    dtypes=FLOATS,
    notes=(
        "In each image and class, from the best score down: a box is kept when its score is above "
        "score_threshold and no box kept before overlaps it by more than iou_threshold, their "
        "common area in relation to that of both. Of equal scores the first comes first; NaN is "
        "never above.",
    ),
    standard=Standard(name="NonMaxSuppression", opset=11, note="its three numbers are no inputs"),
    attributes=(
        count("max_output", "How many boxes are kept in each class.", 0, minimum=0),
        flag("center_point_box", "boxes has x and y of the middle, then width and height."),
    ),
    scalars=(
        Scalar(name="iou_threshold", summary="The overlap that is allowed.", default=0.0),
        Scalar(
            name="score_threshold", summary="The score that isn't enough.", default=float("-inf")
        ),
    ),
    flops=lambda shapes, out, values: 10.0 * elements(shapes[1]),
    samples=(
        Sample(
            shapes=((1, 6, 4), (1, 2, 6)),
            values={"max_output": 3, "iou_threshold": 0.3},
        ),
        Sample(
            shapes=((2, 9, 4), (2, 1, 9)),
            values={
                "max_output": 9,
                "center_point_box": 1,
                "iou_threshold": 0.1,
                "score_threshold": -0.5,
            },
            fills=("positive", "special"),
        ),
        Sample(shapes=((1, 3, 4), (1, 1, 3))),
        Sample(shapes=((1, 0, 4), (1, 2, 0)), values={"max_output": 2}),
    ),
    source="ONNX node tests nonmaxsuppression_*; NaN by hand",
    no_gradient="its output is no float",
)


OPERATIONS = (NON_MAX_SUPPRESSION,)
