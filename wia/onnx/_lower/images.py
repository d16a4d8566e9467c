"""Operators on images: resizing, sampling, regions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wia.onnx._errors import ModelError, UnsupportedError

if TYPE_CHECKING:
    from wia.onnx._call import Call, Result

_CHANNELS = {"RGB": "RGB", "BGR": "RGB", "Grayscale": "L"}

__all__ = [
    "affine_grid",
    "grid_sample",
    "image_decoder",
    "max_roi_pool",
    "non_max_suppression",
    "resize",
    "roi_align",
]

_COORDINATES = {"tf_crop_and_resize": "crop", "tf_half_pixel_for_nn": "tf_half_pixel"}


def resize(call: Call) -> Result:
    """Resize, and Upsample before it: to sizes or by scales."""
    x = call.tensor(0)
    mode = call.attribute("mode", "nearest")
    values: dict[str, Any] = {"mode": "linear" if mode == "bilinear" else mode}
    if call.version < 11:
        given = call.attribute("scales")
        if "height_scale" in call.attributes:  # opset 1
            given = (1.0, 1.0, *(call.required(f"{side}_scale") for side in ("height", "width")))
        given = call.host(1).reshape(-1) if given is None else given
        # As it was done before there was a choice.
        values.update(coordinates="asymmetric", nearest_mode="floor", scales=_floats(given))
        return call.op("resize", x, **values)
    coordinates = call.attribute("coordinate_transformation_mode", "half_pixel")
    values["coordinates"] = _COORDINATES.get(coordinates, coordinates)
    values["nearest_mode"] = call.attribute("nearest_mode", "round_prefer_floor")
    values["axes"] = call.attribute("axes", ())
    values["antialias"] = call.attribute("antialias", 0)
    values["exclude_outside"] = call.attribute("exclude_outside", 0)
    values["cubic_a"] = call.attribute("cubic_coeff_a", -0.75)
    values["keep_aspect"] = call.attribute("keep_aspect_ratio_policy", "stretch")
    values["extrapolation"] = call.attribute("extrapolation_value", 0.0)
    if values["coordinates"] == "crop":
        values["roi"] = _floats(call.host(1).reshape(-1))
    sizes = call.ints(3)
    if sizes:
        values["sizes"] = sizes
    elif call.get(2) is not None and call.tensor(2).size:
        values["scales"] = _floats(call.host(2).reshape(-1))
    else:
        raise ModelError("neither scales nor sizes are given")
    return call.op("resize", x, **values)


def _floats(items: Any) -> tuple[float, ...]:
    return tuple(float(item) for item in items)


def grid_sample(call: Call) -> Result:
    """GridSample."""
    mode = call.attribute("mode", "bilinear" if call.version < 20 else "linear")
    return call.op(
        "grid_sample",
        *call.tensors(),
        mode={"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode),
        padding_mode=call.attribute("padding_mode", "zeros"),
        align_corners=call.attribute("align_corners", 0),
    )


def affine_grid(call: Call) -> Result:
    """AffineGrid."""
    corners = call.attribute("align_corners", 0)
    return call.op("affine_grid", call.tensor(0), size=call.ints(1), align_corners=corners)


def roi_align(call: Call) -> Result:
    """RoiAlign."""
    default = "half_pixel" if call.version >= 16 else "output_half_pixel"
    return call.op(
        "roi_align",
        *call.tensors(),
        mode=call.attribute("mode", "avg"),
        height=call.attribute("output_height", 1),
        width=call.attribute("output_width", 1),
        sampling_ratio=call.attribute("sampling_ratio", 0),
        spatial_scale=call.attribute("spatial_scale", 1.0),
        coordinates=call.attribute("coordinate_transformation_mode", default),
    )


def max_roi_pool(call: Call) -> Result:
    """MaxRoiPool."""
    sizes = call.required("pooled_shape")
    if len(sizes) != 2:
        raise ModelError(f"pooled_shape is {list(sizes)}; expected height and width")
    height, width = sizes
    scale = call.attribute("spatial_scale", 1.0)
    return call.op("max_roi_pool", *call.tensors(), height=height, width=width, spatial_scale=scale)


def non_max_suppression(call: Call) -> Result:
    """NonMaxSuppression: as many boxes as the data has, which the host has to wait for."""
    if call.attribute("center_point_box", 0) not in (0, 1):
        raise UnsupportedError("center_point_box is 0 or 1")
    scalars = {
        name: float(call.item(i))
        for name, i in (("iou_threshold", 3), ("score_threshold", 4))
        if call.get(i) is not None
    }
    most = call.integer(2, 0)
    boxes, count = call.ops(
        "non_max_suppression",
        call.tensor(0),
        call.tensor(1),
        count=2,
        max_output=most,
        center_point_box=call.attribute("center_point_box", 0),
        **scalars,
    )
    return call.op("slice", boxes, starts=(0,), ends=(call.number(count),), axes=(0,))


def image_decoder(call: Call) -> Result:
    """ImageDecoder: on the host, by Pillow, which the extra brings."""
    import io

    import numpy as np
    from PIL import Image

    form = call.attribute("pixel_format", "RGB")
    if form not in _CHANNELS:
        raise ModelError(f"pixel_format is {form!r}; expected one of {', '.join(_CHANNELS)}")
    try:
        with Image.open(io.BytesIO(call.host(0).tobytes())) as picture:
            pixels = np.atleast_3d(np.asarray(picture.convert(_CHANNELS[form])))
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise ModelError(f"the picture can't be read: {error}") from None
    return call.put(np.ascontiguousarray(pixels[:, :, ::-1] if form == "BGR" else pixels))
