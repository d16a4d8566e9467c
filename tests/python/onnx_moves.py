"""ONNX's operators that move, pick, sort and resample, as calls of catalog entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Call = tuple[str, list[Any], dict[str, Any]]
Translation = Callable[[list[Any], dict[str, Any], int], Call]

_REDUCTIONS = (b"none", b"add", b"mul", b"max", b"min")


def _given(inputs: list[Any], count: int) -> list[Any]:
    """So many inputs; those that are left out or empty are None."""
    padded = [*inputs, *[None] * count][:count]
    return [None if item is None or item.size == 0 else item for item in padded]


def _number(array: Any, default: float = 0.0) -> float:
    return default if array is None else float(array.reshape(-1)[0])


def _numbers(array: Any) -> tuple[int, ...]:
    return () if array is None else tuple(int(item) for item in array)


def _which(attributes: dict[str, Any], name: str, *choices: bytes) -> int:
    """The number of a choice; the first is the default."""
    return choices.index(attributes.get(name, choices[0]))


def _axis(name: str, default: int) -> Translation:
    return lambda i, a, o: (name, i, {"axis": a.get("axis", default)})


def _scatter(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    reduction = _which(attributes, "reduction", *_REDUCTIONS)
    return (
        "scatter_elements",
        inputs,
        {"axis": attributes.get("axis", 0), "reduction": reduction},
    )


def _top_k(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    values = {name: attributes.get(name, 1) for name in ("largest", "sorted")}
    k = int(inputs[1][0]) if len(inputs) > 1 else attributes["k"]
    return "top_k", inputs[:1], {**values, "k": k, "axis": attributes.get("axis", -1)}


def _along(attributes: dict[str, Any]) -> tuple[int, ...]:
    return (attributes["axis"],) if "axis" in attributes else ()


def _block(name: str) -> Translation:
    return lambda i, a, o: (
        name,
        i,
        {"block_size": a["blocksize"], "mode": _which(a, "mode", b"DCR", b"CRD")},
    )


def _one_hot(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    indices, depth, values = inputs
    scalars = {"off_value": float(values[0]), "on_value": float(values[1])}
    more = {"depth": int(_number(depth)), "axis": attributes.get("axis", -1), "dtype": values.dtype}
    return "one_hot", [indices.astype(np.int64)], {**scalars, **more}


def _center_crop_pad(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    x, sizes = inputs
    pads = [0] * (2 * x.ndim)
    axes = attributes.get("axes", range(x.ndim))
    for axis, wanted in zip(axes, sizes, strict=True):
        more = int(wanted) - x.shape[axis]
        begin = axis % x.ndim
        pads[begin] = more // 2 if more > 0 else -(-more // 2)
        pads[x.ndim + begin] = more - pads[begin]
    return "pad", [x], {"pads": tuple(pads)}


def _resize(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    x, roi, scales, sizes = _given(inputs, 4)
    coordinates = _which(
        attributes,
        "coordinate_transformation_mode",
        b"half_pixel",
        b"half_pixel_symmetric",
        b"pytorch_half_pixel",
        b"align_corners",
        b"asymmetric",
        b"tf_crop_and_resize",
    )
    nearest = (b"round_prefer_floor", b"round_prefer_ceil", b"floor", b"ceil")
    aspects = (b"stretch", b"not_larger", b"not_smaller")
    return (
        "resize",
        [x],
        {
            "sizes": _numbers(sizes),
            "scales": () if scales is None else tuple(float(item) for item in scales),
            "axes": tuple(attributes.get("axes", ())),
            "roi": () if roi is None else tuple(float(item) for item in roi),
            "mode": _which(attributes, "mode", b"nearest", b"linear", b"cubic"),
            "coordinates": coordinates,
            "nearest_mode": _which(attributes, "nearest_mode", *nearest),
            "antialias": attributes.get("antialias", 0),
            "exclude_outside": attributes.get("exclude_outside", 0),
            "cubic_a": attributes.get("cubic_coeff_a", -0.75),
            "keep_aspect": _which(attributes, "keep_aspect_ratio_policy", *aspects),
            "extrapolation": attributes.get("extrapolation_value", 0.0),
        },
    )


def _upsample(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    scales = tuple(float(item) for item in inputs[1])
    mode = _which(attributes, "mode", b"nearest", b"linear")
    return (
        "resize",
        inputs[:1],
        {"scales": scales, "mode": mode, "coordinates": 4, "nearest_mode": 2},
    )


def _grid_sample(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    modes = {b"linear": 0, b"bilinear": 0, b"nearest": 1, b"cubic": 2, b"bicubic": 2}
    paddings = (b"zeros", b"border", b"reflection")
    return (
        "grid_sample",
        inputs,
        {
            "mode": modes[attributes.get("mode", b"linear")],
            "padding_mode": _which(attributes, "padding_mode", *paddings),
            "align_corners": attributes.get("align_corners", 0),
        },
    )


def _affine_grid(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    corners = attributes.get("align_corners", 0)
    return "affine_grid", inputs[:1], {"size": _numbers(inputs[1]), "align_corners": corners}


def _roi_align(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    names = {"output_height": "height", "output_width": "width"}
    values = {names.get(key, key): value for key, value in attributes.items()}
    values["mode"] = _which(attributes, "mode", b"avg", b"max")
    default = b"half_pixel" if opset >= 16 else b"output_half_pixel"
    given = values.pop("coordinate_transformation_mode", default)
    return "roi_align", inputs, {**values, "coordinates": int(given != b"half_pixel")}


def _suppress(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    boxes, scores, most, overlap, score = _given(inputs, 5)
    return (
        "non_max_suppression",
        [boxes, scores],
        {
            "max_output": int(_number(most)),
            "center_point_box": attributes.get("center_point_box", 0),
            "iou_threshold": _number(overlap),
            "score_threshold": _number(score, float("-inf")),
        },
    )


def _dft(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    x, length, axis = _given(inputs, 3)
    place = attributes.get("axis", 1) if opset < 20 else int(_number(axis, -2))
    flags = {name: attributes.get(name, 0) for name in ("inverse", "onesided")}
    return "dft", [x], {**flags, "axis": place, "length": int(_number(length))}


def _stft(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    x, step, window, length = _given(inputs, 4)
    values = {"frame_step": int(_number(step)), "frame_length": int(_number(length))}
    return "stft", [x, window], {**values, "onesided": attributes.get("onesided", 1)}


def _bitcast(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    return "bitcast", inputs, {"dtype": _dtype(attributes["to"])}


def _dtype(number: int) -> Any:
    from onnx import helper

    return np.dtype(helper.tensor_dtype_to_np_dtype(number))


def _fill(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    from onnx import numpy_helper

    value = np.zeros(1, np.float32)
    if "value" in attributes:
        value = numpy_helper.to_array(attributes["value"])
    values = {"shape": _numbers(inputs[0]), "dtype": value.dtype, "value": float(value[0])}
    return "fill", [], values


def _range(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    start, limit, delta = (float(item) for item in inputs)
    length = max(int(np.ceil((limit - start) / delta)), 0)
    values = {"shape": (length,), "dtype": inputs[0].dtype, "start": start, "step": delta}
    return "iota", [], values


def _eye(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    (x,) = inputs
    dtype = _dtype(attributes["dtype"]) if "dtype" in attributes else x.dtype
    return "eye", [], {"shape": x.shape, "dtype": dtype, "k": attributes.get("k", 0)}


def _window(name: str) -> Translation:
    return lambda i, a, o: (
        name,
        [],
        {
            "shape": (int(i[0]),),
            "dtype": _dtype(a.get("output_datatype", 1)),
            "periodic": a.get("periodic", 1),
        },
    )


def _mel(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    names = ("bins", "dft_length", "sample_rate", "lower_edge", "upper_edge")
    values = {name: item.item() for name, item in zip(names, inputs, strict=True)}
    dtype = _dtype(attributes.get("output_datatype", 1))
    return "mel_weight_matrix", [], {**values, "dtype": dtype}


MOVES: dict[str, Translation] = {
    "AffineGrid": _affine_grid,
    "BitCast": _bitcast,
    "CenterCropPad": _center_crop_pad,
    "BlackmanWindow": _window("blackman_window"),
    "ConstantOfShape": _fill,
    "EyeLike": _eye,
    "HammingWindow": _window("hamming_window"),
    "HannWindow": _window("hann_window"),
    "MelWeightMatrix": _mel,
    "Range": _range,
    "Compress": lambda i, a, o: ("compress", i, {"axis": _along(a)}),
    "DFT": _dft,
    "DepthToSpace": _block("depth_to_space"),
    "Det": lambda i, a, o: ("determinant", i, {}),
    "GatherElements": _axis("gather_elements", 0),
    "GatherND": lambda i, a, o: ("gather_nd", i, {"batch_dims": a.get("batch_dims", 0)}),
    "GridSample": _grid_sample,
    "NonMaxSuppression": _suppress,
    "NonZero": lambda i, a, o: ("nonzero", i, {}),
    "OneHot": _one_hot,
    "Resize": _resize,
    "ReverseSequence": lambda i, a, o: (
        "reverse_sequence",
        i,
        {"time_axis": a.get("time_axis", 0), "batch_axis": a.get("batch_axis", 1)},
    ),
    "RoiAlign": _roi_align,
    "STFT": _stft,
    "Scatter": _scatter,
    "ScatterElements": _scatter,
    "ScatterND": lambda i, a, o: (
        "scatter_nd",
        i,
        {"reduction": _which(a, "reduction", *_REDUCTIONS)},
    ),
    "SpaceToDepth": _block("space_to_depth"),
    "Tile": lambda i, a, o: ("tile", i[:1], {"repeats": _numbers(i[1])}),
    "TopK": _top_k,
    "Trilu": lambda i, a, o: (
        "trilu",
        i[:1],
        {"k": int(_number(i[1] if len(i) > 1 else None)), "upper": a.get("upper", 1)},
    ),
    "Unique": lambda i, a, o: ("unique", i, {"axis": _along(a), "sorted": a.get("sorted", 1)}),
    "Upsample": _upsample,
}


def _rows_back(results: tuple[Any, ...], attributes: dict[str, Any]) -> tuple[Any, ...]:
    """Found slices, cut, along the axis that they were numbered by."""
    found = results[0][: int(results[1])]
    along = _along(attributes)
    return (np.moveaxis(found, 0, along[0]) if along else found,)


def _unique_back(results: tuple[Any, ...], attributes: dict[str, Any]) -> tuple[Any, ...]:
    _, count, first, inverse, counts = results
    kept = slice(int(count))
    return (*_rows_back(results, attributes), first[kept], inverse, counts[kept])


RESULTS: dict[str, Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...]]] = {
    "Compress": _rows_back,
    "NonMaxSuppression": _rows_back,
    "NonZero": lambda results, attributes: (_rows_back(results, attributes)[0].T,),
    "Unique": _unique_back,
}
"""The outputs as ONNX has them, where they have another form here."""
