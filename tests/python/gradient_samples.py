"""Calls whose gradients are checked beside the samples of the catalog, and which attributes are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wia.catalog import BY_NAME, Operation, Sample
from wia.catalog._model import Attribute, Scalar
from wia.catalog.derivatives import gradient_of

LIMIT = 300
"""Elements of the largest sample: each is moved twice."""
STEPPING = {"mod", "remainder"}
"""Those that step where quotients are whole, which those of halves often are."""


def is_good(operation: Operation, sample: Sample) -> bool:
    """Whether a sample is in float64, has no NaN, and is small enough."""
    elements = sum(int(np.prod(shape)) for shape in sample.shapes if shape is not None)
    fits = "float64" in (sample.dtypes or operation.dtypes) and elements <= LIMIT
    tame = not {"special", "wide"} & set(sample.fills)
    tame = tame and (operation.name not in STEPPING or "halves" not in sample.fills)
    tame = tame and not any(value in (np.inf, -np.inf) for value in sample.values.values())
    return fits and tame and not operation.outputs_read({**operation.defaults(), **sample.values})


def with_more(operation: Operation) -> Operation:
    """An operation with only the samples whose gradients are compared with differences."""
    every = (*operation.samples, *MORE.get(operation.name, ()))
    return replace(operation, samples=tuple(s for s in every if is_good(operation, s)))


def _like(name: str, **values: Any) -> Sample:
    """The first good sample of an operation with other values."""
    operation = BY_NAME[name]
    first = next(sample for sample in operation.samples if is_good(operation, sample))
    return Sample(shapes=first.shapes, values={**first.values, **values}, fills=first.fills)


def _one(*shapes: Any, fills: tuple[str, ...] = (), **values: Any) -> Sample:
    return Sample(shapes=shapes, values=values, fills=fills)


_LSTM = ((1, 16, 3), (1, 16, 4), (1, 32))
_BOTH = ((2, 8, 3), (2, 8, 2), (2, 16))
_HEADS = ((1, 3, 8), (1, 4, 4), (1, 4, 6))
_STEPS: dict[str, Any] = {
    "padding": (1, 1, 0, 2),
    "stride": (2, 1),
    "dilation": (1, 2),
    "groups": 2,
}
MORE: dict[str, tuple[Sample, ...]] = {
    "matmul": (
        _one((2, 3), (4, 3), transpose_b=1),
        _one((3, 2), (4, 3), transpose_a=1, transpose_b=1, alpha=0.5),
    ),
    "conv2d": (
        _one(
            (1, 2, 4, 5),
            (2, 1, 2, 3),
            (2,),
            padding=(1, 0, 2, 1),
            stride=(2, 1),
            dilation=(1, 2),
            groups=2,
        ),
    ),
    "max_pool2d": (
        _one((1, 1, 5, 5), kernel=(2, 2), stride=(2, 2), padding=(1, 1, 0, 0), ceil_mode=1),
    ),
    "gather": (_one((2, 8), (3,), fills=("normal", "index8"), axis=1),),
    "pad": (_like("pad", mode=3), _like("pad", value=1.5)),
    "mod": (_like("mod", fmod=1),),
    "add_scaled": (_like("add_scaled", alpha=0.5),),
    "addcmul": (_like("addcmul", value=-0.5),),
    "addcdiv": (_like("addcdiv", value=-2.0),),
    "nan_to_num": (_like("nan_to_num", nan=1.0, posinf=2.0, neginf=-2.0),),
    "logit": (_like("logit", epsilon=0.25),),
    "hard_sigmoid": (_like("hard_sigmoid", alpha=0.3, beta=0.4),),
    "shrink": (_like("shrink", lambd=0.25, bias=0.125),),
    "glu": (_like("glu", activation=2), _like("glu", activation=4)),
    "gemm": (_like("gemm", alpha=0.5, beta=2.0),),
    "deform_conv": (
        _one(
            (1, 4, 3, 4), (2, 2, 2, 2), (1, 16, 2, 3), (2,), (1, 8, 2, 3), groups=2, offset_groups=2
        ),
    ),
    "col2im": (_one((1, 4, 9), image=(4, 4), kernel=(2, 2), stride=(2,), padding=(1,)),),
    "avg_pool": (_one((1, 2, 9), kernel=(2,), dilation=(2,)),),
    "lp_pool": (_one((1, 2, 9), kernel=(2,), dilation=(2,)),),
    "group_norm": (_like("group_norm", epsilon=0.5),),
    "gather_nd": (_one((2, 8), (2, 3, 1), fills=("normal", "index8"), batch_dims=1),),
    "scatter_elements": tuple(_like("scatter_elements", reduction=i) for i in (1, 2, 3, 4)),
    "scatter_nd": tuple(_like("scatter_nd", reduction=i) for i in (1, 2, 3, 4)),
    "index_add": (_one((2, 8), (3,), (2, 3), fills=("normal", "index8"), axis=1),),
    "sort": (_like("sort", descending=1),),
    "top_k": (_like("top_k", sorted=0),),
    "depth_to_space": (_like("depth_to_space", mode=1),),
    "space_to_depth": (_like("space_to_depth", mode=1),),
    "reverse_sequence": (_one((3, 4), (3,), fills=("normal", "0..5"), time_axis=1, batch_axis=0),),
    "resize": (
        *(_one((3, 4), scales=(1.5, 2.0), mode=1, coordinates=i) for i in (1, 3, 4)),
        *(_one((3, 4), scales=(1.5, 2.0), nearest_mode=i) for i in (1, 2, 3)),
        _one((7,), sizes=(4,), mode=1, antialias=1),
        _one((7,), sizes=(9,), mode=2, cubic_a=-0.5),
        *(_one((4, 6), sizes=(6, 6), mode=1, keep_aspect=i) for i in (1, 2)),
    ),
    "huber_loss": (_like("huber_loss", delta=0.25),),
    "smooth_l1_loss": (_like("smooth_l1_loss", beta=0.25),),
    "hinge_loss": (_like("hinge_loss", margin=0.25),),
    "attention": (
        _one(*_HEADS, (3, 4), None, None, None, heads=4, kv_heads=2, scale=0.3, shown=3),
        _one(*_HEADS, (3, 3), None, None, None, heads=4, kv_heads=2, right=1, shown=1, softcap=1.5),
        _one(
            (1, 2, 3, 4),
            (1, 2, 3, 4),
            (1, 2, 3, 5),
            (2, 3, 5),
            (1, 2, 2, 4),
            (1, 2, 2, 5),
            None,
            shown=2,
            causal=1,
        ),
    ),
    "embedding_bag": tuple(
        _one((5, 3), (7,), (3,), None, fills=("normal", "0..5", "rising7"), mode=i) for i in (1, 2)
    ),
    "rnn": (
        *(
            _one(
                (3, 2, 3),
                (1, 2, 3),
                (1, 2, 2),
                (1, 4),
                None,
                (1, 2, 2),
                activations=(code,),
                alpha=(0.4,),
                beta=(0.6,),
            )
            for code in range(1, 12)
        ),
    ),
    "gru": (
        _one(
            (2, 2, 3),
            (2, 6, 3),
            (2, 6, 2),
            (2, 12),
            None,
            (2, 2, 2),
            direction=2,
            activations=(8, 7, 1, 2),
            alpha=(0.3, 0.7, 1.0, 1.0),
            beta=(0.5, 0.8, 0.0, 0.0),
        ),
    ),
    "lstm": (
        _one((2, 2, 3), *_BOTH, None, (2, 2, 2), (2, 2, 2), (2, 6), direction=2, clip=0.6),
        _one(
            (2, 2, 3),
            *_LSTM,
            None,
            (1, 2, 4),
            (1, 2, 4),
            (1, 12),
            activations=(1, 7, 10),
            alpha=(1.0, 0.7, 1.0),
            beta=(0.0, 0.8, 0.0),
        ),
        _one((2, 2, 3), *_LSTM, None, (1, 2, 4), (1, 2, 4), (1, 12), input_forget=1),
    ),
    "grid_sample": (_like("grid_sample", padding_mode=1),),
    "roi_align": (_like("roi_align", height=3, coordinates=1), _like("roi_align", mode=0)),
    "max_roi_pool": (_like("max_roi_pool", height=3, spatial_scale=1.5),),
    "conv2d_input_gradient": (_one((1, 2, 2, 4), (2, 1, 2, 3), shape=(1, 2, 4, 5), **_STEPS),),
    "conv2d_weight_gradient": (_one((1, 2, 2, 4), (1, 2, 4, 5), shape=(2, 1, 2, 3), **_STEPS),),
    "max_pool2d_gradient": (
        _one((1, 1, 3, 3), (1, 1, 4, 5), kernel=(2, 3), stride=(2, 2), padding=(1, 1, 1, 1)),
    ),
    "roi_align_gradient": (
        _like("roi_align_gradient", mode=0, coordinates=1),
        _one(
            (2, 2, 3, 1),
            (1, 2, 6, 6),
            (2, 4),
            (2,),
            fills=("normal", "normal", "0..12", "0..1"),
            height=3,
            width=1,
            sampling_ratio=2,
        ),
    ),
    "resize_gradient": (
        _one((4, 8), shape=(3, 4), scales=(1.5, 2.0), mode=1, coordinates=3),
        _one((4,), shape=(7,), sizes=(4,), mode=1, antialias=1),
        _one((9,), shape=(7,), sizes=(9,), mode=2, cubic_a=-0.5),
    ),
    "polygamma": (_one((3,), order=8),),
    "dft": (
        _one((2, 5, 2), axis=1, inverse=1, onesided=1),
        _one((2, 5, 2), axis=1, inverse=1, onesided=1, length=7),
        _one((2, 3, 2), axis=1, inverse=1, onesided=1, length=9),
    ),
    "adaptive_avg_pool": (_one((1, 2, 3, 4, 5), size=(2, 3, 2)),),
}
"""For attributes that the samples of the catalog leave as they are, by operation."""


def unchecked(operation: Operation) -> Iterator[str]:
    """Attributes, scalars and inputs of which no value but one is in a sample that is checked.

    Of an enum and a flag every value has to be.
    """
    samples = with_more(operation).samples
    read = {output.read_with for output in operation.outputs}
    calls = [{**operation.defaults(), **sample.values} for sample in samples]
    items: tuple[Attribute | Scalar, ...] = (*operation.attributes, *operation.scalars)
    for item in items:
        if item.name == "dtype" or item.name in read:  # no gradient where an output is read first
            continue
        seen = {_key(values[item.name]) for values in calls}
        wanted = {choice.value for choice in getattr(item, "choices", ())}
        if not wanted and _is_flag(item):
            wanted = {0, 1}
        if wanted - seen or len(seen) < 2:
            yield f"{item.name}: {sorted(seen, key=str)}"
    program = gradient_of(operation)
    made = {step.to for step in program.steps} if program else set()
    for i, operand in enumerate(operation.inputs):
        given = any(i < len(sample.shapes) and sample.shapes[i] is not None for sample in samples)
        if f"d_{operand.name}" in made and not given:
            yield f"{operand.name}: left out"


def _is_flag(item: Attribute | Scalar) -> bool:
    if not isinstance(item, Attribute):
        return False
    return (item.minimum, item.maximum, item.length) == (0, 1, 0)


def _key(value: Any) -> Any:
    return tuple(value) if isinstance(value, Sequence) else value
