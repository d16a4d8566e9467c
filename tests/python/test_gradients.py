"""Gradients against finite differences of the semantics, and what the tape says and refuses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalog_calls import attributes_of, call
from gradient_samples import unchecked, with_more

import wia
from wia.catalog import BY_NAME, OPERATIONS, Operation, evaluate
from wia.catalog._model import FLOATS
from wia.catalog._programs import read_program
from wia.catalog.derivatives import CONSTANT, LACKING, gradient_of, why_not

STEP = 1e-6


@pytest.fixture(scope="module")
def ctx() -> Iterator[wia.Context]:
    """A context on the device that has every operation."""
    with wia.Context("reference") as context:
        yield context


def difference(
    operation: Operation, inputs: list[Any], values: Any, place: int, seed: Any, number: int
) -> Any:
    """The gradient of an output weighted with the seed, by each element of one input."""
    result = np.zeros(inputs[place].shape)
    for index in np.ndindex(*result.shape):
        sides = []
        for step in (STEP, -STEP):
            moved: list[Any] = [None if array is None else array.copy() for array in inputs]
            moved[place][index] += step
            output = evaluate(np, operation, moved, values)[number]
            given = np.where(seed == 0.0, 0.0, output)
            sides.append(float((given * seed).sum()))
        result[index] = (sides[0] - sides[1]) / (2 * STEP)
    return result


def between(low: float, high: float) -> Callable[[Any], Any]:
    """Numbers of any size, moved into a range."""
    return lambda array: low + (high - low) / (1 + np.exp(-array))


POSITIVE = between(0.5, 3.0)


def beside(array: Any) -> Any:
    """Numbers that aren't where a function bends."""
    return array + 0.0173


RANGES: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        ("log", "sqrt", "div", "pow", "rsqrt", "cbrt", "log2", "log10", "log1p", "reciprocal"),
        POSITIVE,
    ),
    **dict.fromkeys(
        ("reduce_log_sum", "gamma", "lgamma", "digamma", "polygamma", "xlogy", "xlog1py", "lrn"),
        POSITIVE,
    ),
    **dict.fromkeys(("batch_norm", "addcdiv"), POSITIVE),
    **dict.fromkeys(("logit", "bce_loss", "ndtri"), between(0.1, 0.9)),
    **dict.fromkeys(("asin", "acos", "atanh", "erfinv", "tan"), between(-0.9, 0.9)),
    "acosh": between(1.5, 4.0),
    **dict.fromkeys(("frac", "hard_sigmoid", "hard_swish", "leaky_relu", "selu"), beside),
    **dict.fromkeys(("shrink", "thresholded_relu"), beside),
    "kl_div_loss": between(0.1, 2.0),
    "inverse": lambda array: array + 4 * np.eye(array.shape[-1]),
    "determinant": lambda array: array + 4 * np.eye(array.shape[-1]),
    "solve_triangular": lambda array: array + 4 * np.eye(*array.shape[-2:]),
}
"""Where an operation is defined, or smooth."""
UNTESTED = {"cast": "float64 gives float64 only; see test_casts_go_back"}


@pytest.mark.parametrize("name", sorted(op.name for op in OPERATIONS if gradient_of(op)))
def test_finite_differences(ctx: wia.Context, name: str) -> None:
    """Every input that is a float, on every sample that is small and tame."""
    if name in UNTESTED:
        pytest.skip(UNTESTED[name])
    operation = with_more(BY_NAME[name])
    program = gradient_of(operation)
    assert program is not None
    made = {step.to for step in program.steps}
    done, refused = 0, 0
    for sample in operation.samples:
        inputs, values, expected = call(operation, sample, "float64")
        if name in RANGES:
            inputs = [
                np.asarray(RANGES[name](a)) if a is not None and a.dtype == np.float64 else a
                for a in inputs
            ]
            expected = evaluate(np, operation, inputs, values)
        with wia.Tape() as tape:
            tensors = [None if array is None else ctx.tensor(array) for array in inputs]
            outputs = ctx.execute(name, tensors, **attributes_of(values))
        pairs = [
            (number, place)
            for number, output in enumerate(expected)
            for place, array in enumerate(inputs)
            if output.dtype == np.float64 and array is not None and array.dtype == np.float64
            if not np.isnan(output).any()
        ]
        for number, place in pairs:
            operand = operation.inputs[0 if operation.variadic else place]
            if f"d_{operand.name}" not in made:
                continue
            source, output = tensors[place], outputs[number]
            assert source is not None
            seed = np.random.default_rng(1).standard_normal(expected[number].shape)
            # -inf, where attention shows a masked step, is no number to weigh.
            seed[~np.isfinite(expected[number])] = 0.0
            start = ctx.tensor(seed, output.dtype)
            try:
                (result,) = tape.gradient(output, [source], seed=start)
            except wia.UnimplementedError:
                refused += 1
                continue
            with np.errstate(invalid="ignore"):
                wanted = difference(operation, inputs, values, place, seed, number)
            np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-5, atol=1e-5)
            assert result.shape == inputs[place].shape
            done += 1
    assert done
    assert bool(refused) == (name in LACKING)


def test_every_attribute_is_checked() -> None:
    """Each value of an enum or flag, two values of what has more, and each input that has one."""
    entries = [op for op in OPERATIONS if gradient_of(op) and op.name not in UNTESTED]
    gaps = {op.name: found for op in entries if (found := list(unchecked(op)))}
    assert gaps == {}


@pytest.mark.parametrize("operation", OPERATIONS, ids=[entry.name for entry in OPERATIONS])
def test_there_is_a_gradient_or_a_reason(operation: Operation) -> None:
    program = gradient_of(operation)
    assert bool(program) != bool(why_not(operation))
    assert not (program and operation.no_gradient)
    if not program:
        return
    made = {step.to for step in program.steps}
    floats = [x for x in operation.inputs if not x.dtypes or set(FLOATS) & set(x.dtypes)]
    without = {operand.name for operand in floats if f"d_{operand.name}" not in made}
    assert without == {operand for of, operand in CONSTANT if of == operation.name}
    assert len(without) < len(floats)


def test_a_name_that_means_two_things_is_refused() -> None:
    """An output whose name is that of the gradient of an input."""
    output = replace(BY_NAME["exp"].outputs[0], name="d_input")
    operation = replace(BY_NAME["exp"], outputs=(output,))
    with pytest.raises(ValueError, match="an operand is called d_input, as the gradient of"):
        read_program(operation, "d_input = copy(grad)")


def test_a_chain_is_summed_up(ctx: wia.Context) -> None:
    """x x + 3 x at 2 and -1: 2 x + 3; a constant and what isn't used have the gradient 0."""
    x, unused = ctx.tensor([2.0, -1.0]), ctx.tensor([5.0])
    with wia.Tape() as tape:
        y = ctx.reduce_sum(x * x + 3.0 * x)
    first, second = tape.gradient(y, [x, unused])
    assert first.tolist() == [7.0, 1.0]
    assert second.tolist() == [0.0]
    assert tape.gradient(y, [y])[0].tolist() == 1.0
    outside = ctx.exp(x)
    assert tape.gradient(y, [outside])[0].tolist() == [0.0, 0.0]


def test_what_a_tape_refuses(ctx: wia.Context) -> None:
    """Views, operations without a gradient, tensors that are written to again, integers."""
    x = ctx.tensor([[2.0, -1.0]])
    with wia.Tape() as tape:
        through_view = ctx.exp(x[0])
        index = ctx.argmax(x)
        flat = ctx.floor(x)
        y = ctx.exp(x)
        with pytest.raises(wia.FailedPreconditionError, match="relu wrote to a tensor that a tape"):
            ctx.relu(y, out=y)
    with pytest.raises(wia.UnimplementedError, match="goes through a view"):
        tape.gradient(through_view, [x])
    with pytest.raises(wia.UnimplementedError, match="floor has no gradient: "):
        tape.gradient(flat, [x])
    with pytest.raises(wia.InvalidArgumentError, match="A tensor of int64 was given to gradient"):
        tape.gradient(index, [x])
    with pytest.raises(wia.ArgumentTypeError, match="was given sources="):
        tape.gradient(y, [[1.0]])  # type: ignore[list-item]


def test_grad_of_a_function(ctx: wia.Context) -> None:
    slopes = wia.grad(lambda x, y: ctx.reduce_sum(x * y))(ctx.tensor([1.0, 2.0]), ctx.tensor(3.0))
    assert [slope.tolist() for slope in slopes] == [[3.0, 3.0], 3.0]


def test_casts_go_back(ctx: wia.Context) -> None:
    x = ctx.tensor([1.5, -2.0], "float64")
    with wia.Tape() as tape:
        y = ctx.mul(ctx.cast(x, dtype="float32"), ctx.tensor([2.0, 3.0]))
    (slope,) = tape.gradient(y, [x])
    assert slope.dtype == np.float64
    assert slope.tolist() == [2.0, 3.0]


def test_equals_share_or_the_first_takes(ctx: wia.Context) -> None:
    """reduce_max divides among equals; max_pool2d gives all to the first; twice picked adds up."""
    x = ctx.tensor([[[[2.0, 2.0], [1.0, 2.0]]]])
    with wia.Tape() as tape:
        largest, pooled = ctx.reduce_max(x), ctx.max_pool2d(x, kernel=2)
        picked = ctx.gather(ctx.reshape(x, [4]), ctx.tensor([1, 1, 0]))
    third = pytest.approx(1 / 3)
    assert tape.gradient(largest, [x])[0].numpy().ravel().tolist() == [third, third, 0.0, third]
    assert tape.gradient(pooled, [x])[0].numpy().ravel().tolist() == [1.0, 0.0, 0.0, 0.0]
    assert tape.gradient(picked, [x])[0].numpy().ravel().tolist() == [1.0, 2.0, 0.0, 0.0]
    below = ctx.relu_gradient(ctx.tensor([1.0, 2.0, 3.0]), ctx.tensor([float("nan"), 0.0, 1.0]))
    assert below.tolist() == [0.0, 0.0, 3.0]


def slope_of(ctx: wia.Context, op: str, x: list[Any], **values: Any) -> Any:
    """The gradient of the sum of what an operation of one input gives."""
    source = ctx.tensor(x, "float64")
    with wia.Tape() as tape:
        output = ctx.execute(op, [source], **values)[0]
    return tape.gradient(output, [source])[0].numpy()


def test_products_of_zeros(ctx: wia.Context) -> None:
    """A zero gets the product of the others, two zeros leave nothing; by hand."""
    assert slope_of(ctx, "reduce_prod", [2.0, 3.0, 5.0]).tolist() == [15.0, 10.0, 6.0]
    assert slope_of(ctx, "reduce_prod", [2.0, 0.0, 5.0]).tolist() == [0.0, 10.0, 0.0]
    assert slope_of(ctx, "reduce_prod", [0.0, 0.0, 5.0]).tolist() == [0.0, 0.0, 0.0]
    rows = [[2.0, 0.0], [3.0, 4.0]]
    assert slope_of(ctx, "reduce_prod", rows, axes=1).tolist() == [[0.0, 2.0], [4.0, 3.0]]
    assert np.isnan(slope_of(ctx, "reduce_prod", [np.nan, 2.0])[1])
    assert slope_of(ctx, "cumprod", [2.0, 0.0, 3.0]).tolist() == [1.0, 8.0, 0.0]
    assert slope_of(ctx, "cumprod", [0.0, 0.0, 3.0]).tolist() == [1.0, 0.0, 0.0]
    backwards = slope_of(ctx, "cumprod", [3.0, 0.0, 2.0], reverse=1, exclusive=1)
    assert backwards.tolist() == [0.0, 2.0, 1.0]


def test_ends_of_functions(ctx: wia.Context) -> None:
    """At 0, at equals and at the edge of a range, where formulas divide by zero; by hand."""
    assert slope_of(ctx, "sinc", [0.0]).tolist() == [0.0]
    assert slope_of(ctx, "i1", [0.0]).tolist() == [0.5]
    assert slope_of(ctx, "j1", [0.0]).tolist() == [0.5]
    assert slope_of(ctx, "reduce_l2", [0.0, 0.0]).tolist() == [0.0, 0.0]
    assert slope_of(ctx, "lp_norm", [0.0, 0.0]).tolist() == [0.0, 0.0]
    assert slope_of(ctx, "reduce_max", [1.0, 1.0]).tolist() == [0.5, 0.5]
    assert slope_of(ctx, "sort", [2.0, 2.0, 1.0]).tolist() == [1.0, 1.0, 1.0]
    assert slope_of(ctx, "abs", [0.0, -2.0]).tolist() == [0.0, -1.0]
    power = wia.grad(lambda a, b: ctx.pow(a, b))
    slopes = power(ctx.tensor([0.0, 2.0, 3.0]), ctx.tensor([2.0, 0.0, 1.0]))
    assert slopes[0].tolist() == [0.0, 0.0, 1.0]
    assert slopes[1].numpy() == pytest.approx([0.0, np.log(2.0), 3 * np.log(3.0)])


def test_nothing_and_one_number(ctx: wia.Context) -> None:
    """Empty tensors, rank 0 and reductions of them have gradients of their shapes."""
    for op in ("exp", "reduce_sum", "reduce_prod", "reduce_mean", "softmax", "layer_norm"):
        assert slope_of(ctx, op, [[], []]).shape == (2, 0)
    for op in ("exp", "reduce_sum", "reduce_prod", "reduce_mean", "reduce_max"):
        assert slope_of(ctx, op, 0.0).shape == ()  # type: ignore[arg-type]


def test_gradients_of_gradients(ctx: wia.Context) -> None:
    """x^3, gelu and a convolution twice: 6 x; finite differences of the first gradient."""
    x = ctx.tensor([2.0, -1.0])
    with wia.Tape() as outer:
        with wia.Tape() as inner:
            cube = x * x * x
        [first] = inner.gradient(cube, [x])
    assert outer.gradient(first, [x])[0].tolist() == [12.0, -6.0]
    image = np.random.default_rng(0).standard_normal((1, 1, 3, 3))
    weight = np.random.default_rng(1).standard_normal((1, 1, 2, 2))

    def slope(array: Any) -> tuple[float, Any]:
        picture, taps = ctx.tensor(array), ctx.tensor(weight)
        with wia.Tape() as over:
            with wia.Tape() as tape:
                loss = ctx.reduce_sum(ctx.gelu(ctx.conv2d(picture, taps)))
            [one] = tape.gradient(loss, [picture])
            total = ctx.reduce_sum(one)
        return float(total.item()), over.gradient(total, [picture])[0].numpy()

    moved = np.zeros_like(image)
    moved[0, 0, 1, 1] = STEP
    difference_of_both = (slope(image + moved)[0] - slope(image - moved)[0]) / (2 * STEP)
    assert slope(image)[1][0, 0, 1, 1] == pytest.approx(difference_of_both, rel=1e-5)


@pytest.mark.parametrize("on", ["reference:0", "npu:0", "emulator:0"])
def test_the_digits_network_learns_as_in_numpy(on: str) -> None:
    """Two steps on the device and by the layers written in numpy: the same losses and weights."""
    if on == "npu:0":
        pytest.importorskip("numba")
    sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "digits"))
    layers, train = import_module("layers"), import_module("train")
    device = import_module("device")
    rng = np.random.default_rng(3)
    network = train.make_network(rng)
    images = rng.random((2, 6, 1, 8, 8), np.float32)
    labels = rng.integers(0, 10, (2, 6))
    adam = layers.Adam(network, 0.01)
    with wia.Context(on) as ctx:
        other = device.DeviceNetwork(ctx, train.named_weights(network), 0.01)
        for x, wanted in zip(images, labels, strict=True):
            loss, slope = layers.softmax_cross_entropy(train.forward(network, x), wanted)
            for layer in reversed(network):
                slope = layer.backward(slope)
            adam.step(1e-3)
            assert other.step(x, wanted, 1e-3) == pytest.approx(loss, rel=1e-5)
        for name, weight in train.named_weights(network).items():
            near = np.isclose(other.weights[name].numpy(), weight, rtol=1e-3, atol=1e-5)
            # Where a gradient is 0 but for roundings, Adam makes a whole step of these.
            assert near.mean() > 0.999, name


@pytest.mark.parametrize("on", ["reference:0", "npu:0"])
@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam", "adamw"])
def test_training_goes_on_from_what_was_saved(optimizer: str, on: str) -> None:
    """Each optimiser lowers the loss, and is the same after a rest, bit for bit."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "digits"))
    train, device = import_module("train"), import_module("device")
    rng = np.random.default_rng(5)
    weights = train.named_weights(train.make_network(rng))
    x, labels = rng.random((2, 1, 8, 8), np.float32), np.array([3, 7])
    if on == "npu:0":
        pytest.importorskip("numba")
    with wia.Context(on) as ctx:
        network = device.DeviceNetwork(ctx, weights, 0.01, optimizer=optimizer)
        losses = [network.step(x, labels, 1e-4) for _ in range(2)]
        kept = network.save()
        losses.append(network.step(x, labels, 1e-4))
        assert losses == sorted(losses, reverse=True)
        other = device.DeviceNetwork(ctx, weights, 0.01, optimizer=optimizer)
        other.load(kept)
        assert other.step(x, labels, 1e-4) == losses[-1]
        for name, weight in network.weights.items():
            assert other.weights[name].numpy().tobytes() == weight.numpy().tobytes()
