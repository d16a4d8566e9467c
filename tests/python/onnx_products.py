"""ONNX's products, windows, normalisations, attention and recurrent layers as calls of entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onnx_calls import Call, LeftOutError

_ACTIVATIONS = (
    *("sigmoid", "tanh", "relu", "affine", "leakyrelu", "thresholdedrelu", "scaledtanh"),
    *("hardsigmoid", "elu", "softsign", "softplus"),
)


def _window(shape: tuple[int, ...], kernel: Any, attributes: dict[str, Any]) -> dict[str, Any]:
    """Stride, padding and dilation, with auto_pad worked out."""
    count = len(shape) - 2
    if count > 3:
        raise LeftOutError("WIA has windows over one to three dimensions")
    stride = tuple(attributes.get("strides", (1,) * count))
    dilation = tuple(attributes.get("dilations", (1,) * count))
    padding = list(attributes.get("pads", (0,) * (2 * count)))
    mode = attributes.get("auto_pad", b"NOTSET").decode()
    if mode.startswith("SAME"):
        for i in range(count):
            out = -(-shape[2 + i] // stride[i])
            span = (kernel[i] - 1) * dilation[i] + 1
            total = max(0, (out - 1) * stride[i] + span - shape[2 + i])
            less, more = total // 2, total - total // 2
            padding[i], padding[count + i] = (less, more) if mode == "SAME_UPPER" else (more, less)
    return {"stride": stride, "padding": tuple(padding), "dilation": dilation}


def _conv(name: str) -> Callable[..., Call]:
    def make(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
        weight = inputs[3] if name == "qlinear_conv" else inputs[1]
        values = _window(inputs[0].shape, weight.shape[2:], attributes)
        values["groups"] = attributes.get("group", 1)
        if name == "deform_conv":
            values["offset_groups"] = attributes.get("offset_group", 1)
        return name, inputs, values

    return make


def _conv_transpose(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    shape, kernel = inputs[0].shape, inputs[1].shape[2:]
    count = len(kernel)
    plain = {key: value for key, value in attributes.items() if key != "auto_pad"}
    values = _window(shape, kernel, plain)
    more = list(attributes.get("output_padding", (0,) * count))
    mode = attributes.get("auto_pad", b"NOTSET").decode()
    wanted = attributes.get("output_shape")
    if wanted is None and mode.startswith("SAME"):
        wanted = [size * step for size, step in zip(shape[2:], values["stride"], strict=True)]
    if wanted is not None:
        padding = list(values["padding"])
        for i, size in enumerate(wanted[-count:]):
            span = (kernel[i] - 1) * values["dilation"][i] + 1
            extra = (shape[2 + i] - 1) * values["stride"][i] + span + more[i] - size
            if extra < 0:
                more[i] -= extra
                extra = 0
            less = extra // 2
            sides = (extra - less, less) if mode != "SAME_UPPER" else (less, extra - less)
            padding[i], padding[count + i] = sides
        values["padding"] = tuple(padding)
    values.update(output_padding=tuple(more), groups=attributes.get("group", 1))
    return "conv_transpose", inputs, values


def _pool(name: str) -> Callable[..., Call]:
    def make(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
        kernel = tuple(attributes["kernel_shape"])
        values = _window(inputs[0].shape, kernel, attributes)
        values.update(kernel=kernel, ceil_mode=attributes.get("ceil_mode", 0))
        own = {
            "max_pool": ("storage_order", 0),
            "avg_pool": ("count_include_pad", 0),
            "lp_pool": ("p", 2),
        }
        key, default = own[name]
        values[key] = attributes.get(key, default)
        return name, inputs, values

    return make


def _max_unpool(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    x, indices, shape = [*inputs, None][:3]
    values = _window(x.shape, attributes["kernel_shape"], attributes)
    del values["dilation"]
    size = () if shape is None else tuple(int(item) for item in shape[2:])
    return (
        "max_unpool",
        [x, indices],
        {
            **values,
            "kernel": tuple(attributes["kernel_shape"]),
            "size": size,
        },
    )


def _global(name: str) -> Callable[..., Call]:
    def make(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
        return name, inputs, {"p": attributes.get("p", 2)} if name == "global_lp_pool" else {}

    return make


def _col2im(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    x, image, block = inputs
    shape = (1, 1, *(int(size) for size in image))
    values = _window(shape, tuple(block), attributes)
    return "col2im", [x], {**values, "image": shape[2:], "kernel": tuple(int(b) for b in block)}


def _gemm(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    scalars = {name: attributes.get(name, 1.0) for name in ("alpha", "beta")}
    swaps = (attributes.get("transA", 0), attributes.get("transB", 0))
    a, b, c = [*inputs, None][:3]
    if swaps == (0, 1) and set(scalars.values()) == {1.0} and c is not None:
        if c.shape == (b.shape[0],):
            return "linear", [a, b, c], {}
        if c.shape == (1, b.shape[0]):
            return "linear", [a, b, c[0]], {}
    if swaps == (0, 0) and c is not None:
        return "addmm", [c, a, b], scalars
    return "gemm", inputs, {"transpose_a": swaps[0], "transpose_b": swaps[1], **scalars}


def _einsum(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    return "einsum", inputs, {"equation": tuple(attributes["equation"])}


def _batch_norm(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    x, weight, bias, mean, variance = inputs
    values = {"epsilon": attributes.get("epsilon", 1e-5)}
    if attributes.get("training_mode"):
        values["momentum"] = attributes.get("momentum", 0.9)
        return "batch_norm_training", [x, mean, variance, weight, bias], values
    return "batch_norm", [x, mean, variance, weight, bias], values


def _layer_norm(name: str) -> Callable[..., Call]:
    def make(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
        axis, epsilon = attributes.get("axis", -1), attributes.get("epsilon", 1e-5)
        return name, inputs, {"axis": axis, "epsilon": epsilon}

    return make


def _group_norm(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    if opset < 21:
        raise LeftOutError("before opset 21 group norms had a weight for each group")
    epsilon = attributes.get("epsilon", 1e-5)
    return "group_norm", inputs, {"groups": attributes["num_groups"], "epsilon": epsilon}


def _lrn(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    defaults = {"alpha": 1e-4, "beta": 0.75, "bias": 1.0}
    values = {name: attributes.get(name, default) for name, default in defaults.items()}
    return "lrn", inputs, {**values, "size": attributes["size"]}


def _softmax(name: str) -> Callable[..., Call]:
    def make(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
        axis = attributes.get("axis", 1 if opset < 13 else -1)
        if opset < 13 and axis % inputs[0].ndim != inputs[0].ndim - 1:
            raise LeftOutError("before opset 13 softmax flattened from the axis on")
        return name, inputs, {"axis": axis}

    return make


def _attention(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    values = {
        "causal": attributes.get("is_causal", 0),
        "heads": attributes.get("q_num_heads", 0),
        "kv_heads": attributes.get("kv_num_heads", 0),
        "scale": attributes.get("scale", 0.0),
        "softcap": attributes.get("softcap", 0.0),
        "shown": attributes.get("qk_matmul_output_mode", 0),
        "left": attributes.get("left_window_size", -1),
        "right": attributes.get("right_window_size", -1),
    }
    return "attention", inputs, values


def _rotary(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    values = {
        "interleaved": attributes.get("interleaved", 0),
        "heads": attributes.get("num_heads", 0),
        "width": attributes.get("rotary_embedding_dim", 0),
    }
    return "rotary_embedding", inputs, values


def _cache(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
    circular = attributes.get("mode", b"linear") == b"circular"
    values = {"axis": attributes.get("axis", -2), "mode": int(circular)}
    return "kv_cache_update", inputs, values


def _recurrent(name: str) -> Callable[..., Call]:
    def make(inputs: list[Any], attributes: dict[str, Any], opset: int) -> Call:
        directions = (b"forward", b"reverse", b"bidirectional")
        names = [item.decode().lower() for item in attributes.get("activations", ())]
        values = {
            "direction": directions.index(attributes.get("direction", b"forward")),
            "layout": attributes.get("layout", 0),
            "clip": attributes.get("clip", 0.0),
            "activations": tuple(1 + _ACTIVATIONS.index(item) for item in names),
        }
        for own in ("linear_before_reset", "input_forget"):
            if own in attributes:
                values[own] = attributes[own]
        return name, inputs, values

    return make


TRANSLATIONS: dict[str, Callable[[list[Any], dict[str, Any], int], Call]] = {
    "Attention": _attention,
    "AveragePool": _pool("avg_pool"),
    "BatchNormalization": _batch_norm,
    "Col2Im": _col2im,
    "Conv": _conv("conv"),
    "ConvInteger": _conv("conv_integer"),
    "ConvTranspose": _conv_transpose,
    "DeformConv": _conv("deform_conv"),
    "Einsum": _einsum,
    "GRU": _recurrent("gru"),
    "Gemm": _gemm,
    "GlobalAveragePool": _global("global_avg_pool"),
    "GlobalLpPool": _global("global_lp_pool"),
    "GlobalMaxPool": _global("global_max_pool"),
    "GroupNormalization": _group_norm,
    "Hardmax": _softmax("hardmax"),
    "InstanceNormalization": lambda i, a, o: (
        "instance_norm",
        i,
        {"epsilon": a.get("epsilon", 1e-5)},
    ),
    "LRN": _lrn,
    "LSTM": _recurrent("lstm"),
    "LayerNormalization": _layer_norm("layer_norm_with_stats"),
    "LogSoftmax": _softmax("log_softmax"),
    "LpNormalization": lambda i, a, o: (
        "lp_norm",
        i,
        {"axis": a.get("axis", -1), "p": a.get("p", 2)},
    ),
    "LpPool": _pool("lp_pool"),
    "MatMulInteger": lambda i, a, o: ("matmul_integer", i, {}),
    "MaxPool": _pool("max_pool"),
    "MaxUnpool": _max_unpool,
    "MeanVarianceNormalization": lambda i, a, o: (
        "mean_variance_norm",
        i,
        {"axes": tuple(a.get("axes", (0, 2, 3)))},
    ),
    "QLinearConv": _conv("qlinear_conv"),
    "QLinearMatMul": lambda i, a, o: ("qlinear_matmul", i, {}),
    "RMSNormalization": _layer_norm("rms_norm"),
    "RNN": _recurrent("rnn"),
    "RotaryEmbedding": _rotary,
    "Softmax": _softmax("softmax"),
    "TensorScatter": _cache,
}
"""By operator: inputs, attributes and opset to a call."""
