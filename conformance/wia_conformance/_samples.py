"""Samples beside those of the catalog: sizes around vector widths, more ranks, odd numbers."""

from __future__ import annotations

from dataclasses import replace

from wia.catalog import Operation, Sample
from wia_conformance._values import SPOILT

__all__ = ["more_samples"]

_SIZES = (1, 7, 9, 31, 32, 33, 1025)
_RANK_8 = (2, 1, 3, 1, 2, 1, 1, 2)
_FLOATS = ("float64", "float32", "float16", "bfloat16")


def more_samples(operation: Operation) -> tuple[Sample, ...]:
    """The suite's own samples of an operation: by its name, or what fits its form.

    Floats for which the catalog has no sample with NaN and infinities get one.
    """
    return (*_of_form(operation), *_with_nonfinite(operation))


def _of_form(operation: Operation) -> tuple[Sample, ...]:
    if operation.name in _OWN or operation.variadic:
        return _OWN.get(operation.name, ())
    if operation.family in ("elementwise", "compare"):
        count = len(operation.inputs)
        return tuple(Sample(shapes=(shape,) * count) for shape in ((31,), (1025,), _RANK_8))
    if operation.family == "reduce":
        return _REDUCED
    return ()


def _with_nonfinite(operation: Operation) -> tuple[Sample, ...]:
    """The first good sample whose leading input can have NaN and infinities, with them there."""
    lead = operation.lead
    known = any("special" in sample.fills for sample in operation.samples)
    if known or lead < 0:
        return ()
    for sample in operation.samples:
        dtypes = tuple(d for d in sample.dtypes or operation.dtypes if d in _FLOATS)
        fills = [*sample.fills, *["normal"] * (len(sample.shapes) - len(sample.fills))]
        empty = any(shape is not None and 0 in shape for shape in sample.shapes)
        if dtypes and not empty and fills[lead] in SPOILT:
            fills[lead] = SPOILT[fills[lead]]
            return (replace(sample, fills=tuple(fills), dtypes=dtypes),)
    return ()


def _shapes(*shapes: tuple[tuple[int, ...] | None, ...]) -> tuple[Sample, ...]:
    return tuple(Sample(shapes=items) for items in shapes)


def _denormal(*fills: str) -> Sample:
    return Sample(shapes=((33,),) * len(fills), fills=fills, dtypes=_FLOATS)


_PAIRS = (
    *_shapes(*(((size,), (size,)) for size in _SIZES), (_RANK_8, _RANK_8), ((5, 9), ())),
    *_shapes(((), (2, 7)), ((33, 1), (1, 31))),
)
_ROWS = _shapes(*(((3, size),) for size in _SIZES))
_REDUCED = (
    *(Sample(shapes=((3, size),), values={"axes": (1,)}) for size in _SIZES),
    Sample(shapes=((33, 5),), values={"axes": (0,)}),
    Sample(shapes=((2, 3, 4),), values={"axes": (0, 2)}),
    Sample(shapes=(_RANK_8,), values={"axes": (0, 2, -1), "keepdims": 1}),
)
_PRODUCTS = tuple(
    (m, k, n) for m, k, n in zip(_SIZES, _SIZES[1:], (9, 33, 8, 1, 7, 2), strict=False)
)

_NO_IMAGES = {"grad": (0, 3, 2, 2), "images": (0, 2, 4, 4), "weight": (3, 2, 3, 3)}

_OWN: dict[str, tuple[Sample, ...]] = {
    "cholesky": tuple(
        Sample(shapes=((size, size),), fills=("definite",)) for size in (1, 7, 8, 9, 17)
    ),
    "gru_cell": (Sample(shapes=((9, 31), (9, 33), (99, 31), (99, 33), (198,))),),
    "conv2d_input_gradient": (
        Sample(
            shapes=(_NO_IMAGES["grad"], _NO_IMAGES["weight"]),
            values={"shape": _NO_IMAGES["images"]},
        ),
        Sample(shapes=((1, 9, 31, 7), (9, 8, 3, 3)), values={"shape": (1, 8, 33, 9)}),
    ),
    "conv2d_weight_gradient": (
        Sample(
            shapes=(_NO_IMAGES["grad"], _NO_IMAGES["images"]),
            values={"shape": _NO_IMAGES["weight"]},
        ),
        Sample(shapes=((1, 9, 31, 7), (1, 8, 33, 9)), values={"shape": (9, 8, 3, 3)}),
    ),
    "max_pool2d_gradient": (
        Sample(shapes=((0, 2, 2, 2), (0, 2, 4, 4)), values={"kernel": (2, 2)}),
        Sample(shapes=((1, 7, 16, 31), (1, 7, 32, 62)), values={"kernel": (2, 2)}),
    ),
    "avg_pool2d_gradient": (
        Sample(shapes=((0, 2, 2, 2),), values={"kernel": (2, 2), "shape": (0, 2, 4, 4)}),
        Sample(shapes=((1, 7, 16, 31),), values={"kernel": (2, 2), "shape": (1, 7, 32, 62)}),
    ),
    "add": (*_PAIRS, _denormal("denormal", "denormal")),
    "sub": (*_PAIRS, _denormal("denormal", "denormal")),
    "mul": (*_PAIRS, _denormal("denormal", "normal")),
    "div": (*_PAIRS, _denormal("denormal", "positive")),
    "relu": (*_shapes(*(((size,),) for size in _SIZES), (_RANK_8,)), _denormal("denormal")),
    "cast": (
        *(Sample(shapes=((size,),), values={"dtype": "float32"}) for size in _SIZES),
        Sample(shapes=((),), values={"dtype": "int32"}),
        Sample(shapes=((0, 3),), values={"dtype": "float16"}),
        Sample(shapes=(_RANK_8,), values={"dtype": "bool"}),
        Sample(shapes=((33,),), values={"dtype": "float64"}, fills=("denormal",), dtypes=_FLOATS),
    ),
    "broadcast": (
        *(Sample(shapes=((size, 1),), values={"shape": (2, size, 3)}) for size in _SIZES),
        Sample(shapes=((2, 1, 3),), values={"shape": (*_RANK_8[:5], 2, 1, 3)}),
    ),
    "transpose": (
        *_shapes(((7, 33),), ((32, 8),), ((1, 9),), (_RANK_8,)),
        Sample(shapes=(_RANK_8,), values={"perm": (7, 0, 6, 1, 5, 2, 4, 3)}),
    ),
    "reshape": (
        *(Sample(shapes=((size, 4),), values={"shape": (2, -1)}) for size in _SIZES),
        Sample(shapes=((24,),), values={"shape": _RANK_8}),
    ),
    **{
        name: (*_shapes(((31,),), ((1025,),), (_RANK_8,)), _denormal("denormal"))
        for name in ("neg", "exp", "log", "sqrt", "tanh", "sigmoid", "gelu", "silu", "clip")
    },
    **{
        name: (*_shapes(((31,), (31,)), ((1025,), ())), _denormal("denormal", "denormal"))
        for name in (
            *("minimum", "maximum", "equal", "not_equal"),
            *("less", "less_equal", "greater", "greater_equal"),
        )
    },
    "where": _shapes(((33,), (33,), (33,)), ((1025,), (), (1,)), (_RANK_8, (), _RANK_8)),
    "copy": _shapes(*(((size,),) for size in _SIZES), (_RANK_8,)),
    "reduce_mean": _REDUCED,
    "argmin": (*_ROWS, Sample(shapes=((33, 5),), values={"axis": 0})),
    "avg_pool2d": (
        Sample(shapes=((1, 1, 1, 1),), values={"kernel": (1, 1)}),
        Sample(shapes=((2, 3, 33, 9),), values={"kernel": (3, 3), "padding": (1, 1, 1, 1)}),
        Sample(shapes=((1, 7, 8, 31),), values={"kernel": (8, 2), "stride": (1, 3)}),
    ),
    "global_avg_pool2d": _shapes(((1, 33, 7, 9),), ((9, 1, 1, 1025),)),
    "global_max_pool2d": _shapes(((1, 33, 7, 9),), ((9, 1, 1, 1025),)),
    "concat": (
        Sample(shapes=((1,),) * 31),
        Sample(shapes=((9, 33), (9, 1025)), values={"axis": 1}),
    ),
    "split": (
        Sample(shapes=((8,),), values={"sizes": (1,) * 8}),
        Sample(shapes=((9, 1058),), values={"axis": 1, "sizes": (33, 1025)}),
    ),
    "slice": (
        Sample(shapes=((1025,),), values={"starts": (1,), "ends": (1024,), "steps": (3,)}),
        Sample(
            shapes=((33, 9),), values={"starts": (32, 8), "ends": (-99, -99), "steps": (-1, -1)}
        ),
    ),
    "gather": (
        Sample(shapes=((33, 9), (1025,)), fills=("normal", "index33")),
        Sample(shapes=((9, 33), (31,)), values={"axis": 1}, fills=("normal", "index33")),
    ),
    "pad": (
        Sample(shapes=((31,),), values={"pads": (1, 33)}),
        Sample(shapes=((9, 33),), values={"pads": (8, 32, 8, 32), "mode": 1}),
        Sample(shapes=((9, 33),), values={"pads": (9, 33, 9, 33), "mode": 2}),
    ),
    "matmul": (
        *(Sample(shapes=((m, k), (k, n))) for m, k, n in _PRODUCTS),
        Sample(shapes=((1, 1000), (1000, 1))),
        Sample(shapes=((9, 7), (8, 9)), values={"transpose_a": 1, "transpose_b": 1}),
        Sample(shapes=((7, 9), (9, 33)), values={"beta": 1.0}),
        Sample(shapes=((3, 2, 7, 8), (8, 9))),
        Sample(shapes=((3,), (3,))),
    ),
    "addmm": tuple(Sample(shapes=((m, n), (m, k), (k, n))) for m, k, n in _PRODUCTS),
    "linear": tuple(Sample(shapes=((m, k), (n, k), (n,))) for m, k, n in _PRODUCTS),
    "conv2d": (
        Sample(shapes=((1, 1, 1, 1), (1, 1, 1, 1), (1,))),
        Sample(shapes=((1, 3, 33, 9), (8, 3, 7, 7), (8,)), values={"padding": (3, 3, 3, 3)}),
        Sample(shapes=((2, 9, 7, 31), (7, 9, 1, 3), None), values={"stride": (1, 2)}),
        Sample(shapes=((1, 8, 5, 5), (8, 1, 3, 3), None), values={"groups": 8}),
    ),
    "max_pool2d": (
        Sample(shapes=((1, 1, 1, 1),), values={"kernel": (1, 1)}),
        Sample(shapes=((2, 3, 33, 9),), values={"kernel": (3, 3), "padding": (1, 1, 1, 1)}),
        Sample(shapes=((1, 7, 8, 31),), values={"kernel": (8, 2), "stride": (1, 3)}),
    ),
    "softmax": (
        *_ROWS,
        Sample(shapes=((33, 5),), values={"axis": 0}),
        Sample(shapes=(_RANK_8,), values={"axis": -6}),
    ),
    "layer_norm": (
        *(Sample(shapes=((3, size), (size,), (size,))) for size in _SIZES),
        Sample(shapes=(_RANK_8, None, None), values={"axis": 0}),
    ),
    "batch_norm": tuple(
        Sample(
            shapes=((2, size, 3), (size,), (size,), (size,), (size,)),
            fills=("normal", "normal", "positive"),
        )
        for size in _SIZES
    ),
    "reduce_sum": _REDUCED,
    "reduce_max": _REDUCED,
    "argmax": (*_ROWS, Sample(shapes=((33, 5),), values={"axis": 0})),
}
