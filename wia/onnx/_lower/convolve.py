"""Convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wia.onnx._errors import ModelError
from wia.onnx._lower.windows import Window, halves, read_sizes, read_window

if TYPE_CHECKING:
    from wia.onnx._call import Call, Result

__all__ = ["col2im", "conv", "conv_integer", "conv_transpose", "deform_conv", "qlinear_conv"]


def _window(call: Call, weight: int = 1) -> dict[str, Any]:
    window = read_window(call, call.tensor(0).shape[2:], call.tensor(weight).shape[2:])
    return {**window.values("kernel"), "groups": call.attribute("group", 1)}


def conv(call: Call) -> Result:
    """Conv; that of images is an operation of its own, which more devices have."""
    name = "conv2d" if call.tensor(0).ndim == 4 else "conv"
    return call.op(name, call.tensor(0), call.tensor(1), call.get(2), **_window(call))


def conv_integer(call: Call) -> Result:
    """ConvInteger."""
    return call.op("conv_integer", *(call.get(i) for i in range(4)), **_window(call))


def qlinear_conv(call: Call) -> Result:
    """QLinearConv."""
    return call.op("qlinear_conv", *(call.get(i) for i in range(9)), **_window(call, 3))


def conv_transpose(call: Call) -> Result:
    """ConvTranspose; output_shape is reached by paddings."""
    x, weight, bias = call.tensor(0), call.tensor(1), call.get(2)
    kernel, sizes = weight.shape[2:], x.shape[2:]
    if len(kernel) != len(sizes):
        raise ModelError(f"the input has {x.ndim} dimensions and the weight {weight.ndim}")
    rank, mode = len(kernel), call.attribute("auto_pad", "NOTSET")
    more = list(read_sizes(call, "output_padding", rank, 0))
    stride, dilation = (read_sizes(call, name, rank, 1) for name in ("strides", "dilations"))
    padding = tuple(call.attribute("pads") or (0,) * (2 * rank))
    wanted = call.attribute("output_shape")
    if mode in ("SAME_UPPER", "SAME_LOWER") and not wanted:
        wanted = [size * step for size, step in zip(sizes, stride, strict=True)]
    if wanted:
        wanted = list(wanted)[-rank:]
        if len(wanted) != rank:
            raise ModelError(f"output_shape has {len(wanted)} sizes; expected {rank}")
        totals = [
            (sizes[i] - 1) * stride[i] + more[i] + (kernel[i] - 1) * dilation[i] + 1 - wanted[i]
            for i in range(rank)
        ]
        more = [extra + max(0, -total) for extra, total in zip(more, totals, strict=True)]
        totals = [max(0, total) for total in totals]
        padding = halves(totals, larger_behind=mode == "SAME_UPPER")
    elif mode == "VALID":
        padding = (0,) * (2 * rank)
    window = Window(kernel, stride, dilation, padding)
    return call.op(
        "conv_transpose",
        x,
        weight,
        bias,
        output_padding=more,
        groups=call.attribute("group", 1),
        **window.values("kernel"),
    )


def deform_conv(call: Call) -> Result:
    """DeformConv."""
    x, weight, offset, bias, mask = (
        call.tensor(0),
        call.tensor(1),
        call.tensor(2),
        *(call.get(i) for i in (3, 4)),
    )
    groups = call.attribute("offset_group", 1)
    return call.op(
        "deform_conv", x, weight, offset, bias, mask, offset_groups=groups, **_window(call)
    )


def col2im(call: Call) -> Result:
    """Col2Im."""
    image, kernel = call.ints(1), call.ints(2)
    if image is None or kernel is None:
        raise ModelError("image_shape or block_shape is not given")
    window = read_window(call, image, kernel)
    return call.op("col2im", call.tensor(0), image=image, **window.values())
