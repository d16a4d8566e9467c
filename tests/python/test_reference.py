"""The reference driver through the library: every sample of the catalog, in every dtype."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from catalog_calls import IDS, attributes_of, call, numpy_dtype

import wia
from wia._errors import check
from wia._native import lib, new_struct
from wia.catalog import OPERATIONS, Operation
from wia.catalog._model import PACKED


@pytest.fixture(scope="module")
def ctx() -> Iterator[wia.Context]:
    """A context on the reference device."""
    with wia.Context("reference") as context:
        yield context


def strided(ctx: wia.Context, array: Any) -> wia.Tensor:
    """A tensor with the elements of an array, its dimensions in memory swapped and reversed."""
    if array.ndim == 0:
        return ctx.tensor(array)
    tensor = ctx.tensor(np.ascontiguousarray(np.flip(array).T))
    return tensor.T[(slice(None, None, -1),) * array.ndim]


@pytest.mark.parametrize("operation", OPERATIONS, ids=IDS)
@pytest.mark.parametrize("form", ["contiguous", "strided"])
def test_samples(ctx: wia.Context, operation: Operation, form: str) -> None:
    """Equal to the semantics bit for bit, whatever the strides of inputs and output."""
    for sample in operation.samples:
        for dtype in sample.dtypes or operation.dtypes:
            packed = {dtype, sample.values.get("dtype")} & set(PACKED)
            if form == "strided" and packed:
                continue
            inputs, values, expected = call(operation, sample, dtype)
            if operation.outputs_read(values):
                continue
            make = ctx.tensor if form == "contiguous" else lambda array: strided(ctx, array)
            tensors = [None if array is None else make(array) for array in inputs]
            outputs = None if form == "contiguous" else [make(np.zeros_like(e)) for e in expected]
            results = ctx.execute(operation.name, tensors, outputs, **attributes_of(values))
            for tensor, wanted in zip(results, expected, strict=True):
                result = tensor.numpy()
                assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
                assert result.tobytes() == np.ascontiguousarray(wanted).tobytes(), sample


@pytest.mark.parametrize("operation", OPERATIONS, ids=IDS)
def test_in_place(ctx: wia.Context, operation: Operation) -> None:
    """An output that is exactly one of the inputs gets the same result, where shapes allow it."""
    for sample in operation.samples:
        inputs, values, expected = call(operation, sample, (sample.dtypes or operation.dtypes)[0])
        if operation.outputs_read(values):
            continue
        for place, array in enumerate(inputs):
            for number, wanted in enumerate(expected):
                if array is None or (array.shape, array.dtype) != (wanted.shape, wanted.dtype):
                    continue
                tensors = [None if item is None else ctx.tensor(item) for item in inputs]
                outputs = [
                    tensors[place] if i == number else ctx.tensor(item)
                    for i, item in enumerate(expected)
                ]
                ctx.execute(operation.name, tensors, outputs, **attributes_of(values))
                for tensor, result in zip(outputs, expected, strict=True):
                    assert tensor is not None
                    same = tensor.numpy().tobytes() == np.ascontiguousarray(result).tobytes()
                    assert same, sample


def test_beta_reads_the_output(ctx: wia.Context) -> None:
    """c = 2 * a b + 3 * c, and NaN in c stays out with beta 0."""
    a, b = ctx.tensor(np.full((2, 3), 2.0)), ctx.tensor(np.full((3, 2), 1.0))
    c = ctx.full((2, 2), 10.0, "float64")
    assert ctx.matmul(a, b, c, alpha=2.0, beta=3.0) is c
    assert c.numpy().tolist() == [[42.0, 42.0]] * 2
    c.fill(float("nan"))
    assert ctx.matmul(a, b, c).numpy().tolist() == [[6.0, 6.0]] * 2


def test_methods_take_what_python_programs_pass(ctx: wia.Context) -> None:
    """One number for a list, names for choices, numpy's integers, None for what is left out."""
    x = ctx.tensor(np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4))
    w = ctx.tensor(np.ones((2, 1, 2, 2), np.float32))
    two: Any = np.int64(2)
    y = ctx.conv2d(x, w, None, stride=two, padding=(0, 1), groups=2, fusion="relu")
    assert y.shape == (1, 2, 2, 3)
    pooled = ctx.max_pool2d(x, kernel=2)
    assert pooled.numpy()[0, 0].tolist() == [[5.0, 7.0], [13.0, 15.0]]
    assert ctx.reduce_sum(x, axes=1, keepdims=True).shape == (1, 1, 4, 4)
    assert ctx.reduce_max(x).numpy().tolist() == 31.0
    assert ctx.transpose(pooled, perm=[3, 2, 1, 0]).shape == (2, 2, 2, 1)
    assert ctx.reshape(x, -1).shape == (32,)
    assert ctx.reshape(ctx.zeros((1, 1)), ()).shape == ()
    assert ctx.cast(x, "uint8").numpy().dtype == np.uint8
    assert ctx.argmax(x, axis=2, keepdims=True).shape == (1, 2, 1, 4)
    assert ctx.broadcast(ctx.zeros(3), (2, 3)).shape == (2, 3)
    out = ctx.empty((2, 16))
    assert ctx.reshape(x, out=out).numpy()[1, 0] == 16.0


@pytest.mark.parametrize(
    ("method", "arguments", "part"),
    [
        ("conv2d", {"stride": "2"}, "stride='2'; expected an integer or a sequence"),
        ("conv2d", {"padding": (1, 2, 3)}, "with 3 elements; expected 4"),
        ("conv2d", {"groups": 1.5}, "groups=1.5; expected an integer"),
        ("conv2d", {"algorithm": "fast"}, "expected one of 'auto', 'direct'"),
        ("conv2d", {"workspace_size": -1}, "can't hold"),
        ("conv2d", {"stride": 0.5}, "stride=0.5"),
    ],
)
def test_arguments_of_other_types(
    ctx: wia.Context, method: str, arguments: dict[str, Any], part: str
) -> None:
    """Each error says what was given and what was expected."""
    x = ctx.zeros((1, 1, 4, 4))
    with pytest.raises(wia.InvalidArgumentError, match=r"conv2d|wia_conv_config_t") as error:
        getattr(ctx, method)(x, x, **arguments)
    assert part in str(error.value)


def test_operands_of_other_types(ctx: wia.Context) -> None:
    """The operand is named."""
    x = ctx.zeros(3)
    with pytest.raises(wia.ArgumentTypeError, match=r"given a numpy\.ndarray as b; .*ctx\.tensor"):
        ctx.add(x, np.zeros(3))  # type: ignore[arg-type]
    with pytest.raises(wia.ArgumentTypeError, match="given None as a"):
        ctx.add(None, x, x)  # type: ignore[arg-type]
    with pytest.raises(wia.InvalidArgumentError, match="input a can't be left out"):
        ctx.add(None, x)  # type: ignore[arg-type]
    with pytest.raises(wia.ArgumentTypeError, match=r"as stream; expected a wia\.Stream\."):
        ctx.add(x, x, stream=3)  # type: ignore[arg-type]
    with pytest.raises(wia.InvalidArgumentError, match=r"beta=1\.0 without out"):
        ctx.matmul(x, x, beta=1.0)
    with pytest.raises(wia.InvalidArgumentError, match="both shape and out"):
        ctx.reshape(x, (3, 1), ctx.zeros((3, 1)))
    with pytest.raises(wia.InvalidArgumentError, match="whole number"):
        ctx.matmul(ctx.cast(x, "int32"), ctx.cast(x, "int32"), alpha=0.5)


def test_costs_of_plans(ctx: wia.Context) -> None:
    """2 m n k operations, and each operand moved once."""
    a, b, c = ctx.zeros((2, 3)), ctx.zeros((3, 4)), ctx.zeros((2, 4))
    with ctx.plan("matmul", [a, b], [c]) as plan:
        info = new_struct("wia_plan_info_t")
        check(lib.wia_get_plan_info(plan._handle, info))
        assert (info.flops, info.bytes) == (48, 4 * (6 + 12 + 8))
        assert plan.name == "matmul_semantics"
    # The kernel is for any shape: another plan has it too, with the cost of its own shapes.
    before = ctx.device.plan_cache()
    d, e = ctx.zeros((4, 5)), ctx.zeros((3, 5))
    with ctx.plan("matmul", [b, d], [e]) as plan:
        info = new_struct("wia_plan_info_t")
        check(lib.wia_get_plan_info(plan._handle, info))
        assert (info.flops, info.bytes) == (120, 4 * (12 + 20 + 15))
        assert ctx.device.plan_cache().miss_count == before.miss_count + 1


def test_support_is_that_of_the_catalog() -> None:
    """The device tells each dtype of each operation."""
    device = wia.Context("reference")
    with device:
        for operation in OPERATIONS:
            assert device.device.supports(operation.name) == frozenset(operation.dtypes)
            assert all(numpy_dtype(name) for name in operation.dtypes)
