"""Attention, caches, embeddings and recurrent layers against values worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from catalog_calls import run
from scipy import special

from wia.catalog import OperandError, ScalarError


def normal(*shape: int, seed: int = 0) -> Any:
    """Random float64 elements."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def test_attention_by_its_definition() -> None:
    """scipy's softmax between two products of numpy, heads in groups."""
    q, k, v = normal(2, 4, 3, 5), normal(2, 2, 6, 5, seed=1), normal(2, 2, 6, 7, seed=2)
    many = [np.repeat(item, 2, axis=1) for item in (k, v)]
    shares = special.softmax(q @ many[0].swapaxes(-1, -2) / np.sqrt(5.0), axis=-1)
    output, keys, values, _ = run("attention", q, k, v)
    np.testing.assert_allclose(output, shares @ many[1], rtol=1e-12)
    assert np.array_equal(keys, k)
    assert np.array_equal(values, v)


def test_attention_step_by_step_is_attention_at_once() -> None:
    """A cache that grows by one key for each query gives what causal attention gives."""
    q, k, v = normal(1, 2, 5, 4), normal(1, 2, 5, 4, seed=1), normal(1, 2, 5, 3, seed=2)
    whole = run("attention", q, k, v, causal=1)[0]
    keys, values = k[:, :, :0], v[:, :, :0]
    for i in range(5):
        now = slice(i, i + 1)
        step, keys, values, _ = run(
            "attention", q[:, :, now], k[:, :, now], v[:, :, now], None, keys, values, causal=1
        )
        np.testing.assert_allclose(step, whole[:, :, now], rtol=1e-12)
    assert np.array_equal(keys, k)


def test_a_query_that_may_look_at_nothing_gives_zero() -> None:
    """By a mask of bools, by one of -infinity, by lengths."""
    q, k = normal(2, 1, 2, 3), normal(2, 1, 4, 3, seed=1)
    mask = np.ones((2, 4), bool)
    mask[1] = False
    added = np.where(mask, 0.0, -np.inf)
    for given in (mask, added):
        output, _, _, shares = run("attention", q, k, k, given, shown=3)
        assert not output[:, :, 1].any()
        assert not shares[:, :, 1].any()
        assert output[:, :, 0].all()
    output = run("attention", q, k, k, None, None, None, np.array([0, 4]))[0]
    assert not output[0].any()
    assert output[1].all()
    assert not run("multi_head_attention", q[:, 0], k[:, 0, :0], k[:, 0, :0]).any()
    with pytest.raises(ScalarError, match="softcap"):
        run("attention", q, k, k, softcap=-1.0)


def test_multi_head_attention_is_attention() -> None:
    """The same as the general operation with as many heads, full and causal."""
    q, k, v = normal(2, 5, 6), normal(2, 5, 6, seed=1), normal(2, 5, 9, seed=2)
    for pattern in (0, 1):
        expected = run("attention", q, k, v, heads=3, kv_heads=3, causal=pattern)[0]
        result = run("multi_head_attention", q, k, v, num_heads=3, attention_pattern=pattern)
        np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_rotation_turns_pairs() -> None:
    """A quarter turn of (1, 2): (-2, 1); a position out of range is refused."""
    x = np.array([1.0, 2.0, 9.0]).reshape(1, 1, 1, 3)
    table = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    turned = run("rotary_embedding", x, *table, np.array([[1]]), width=2)
    assert turned.ravel().tolist() == [-2.0, 1.0, 9.0]
    for wrong in (-1, 2):
        with pytest.raises(OperandError, match="expected 0 to 1"):
            run("rotary_embedding", x, *table, np.array([[wrong]]), width=2)


def test_cache_updates_stay_inside() -> None:
    """A linear one is refused where it would go over the end; a circular one goes on."""
    cache, update = np.zeros((2, 4, 1)), np.array([[[1.0], [2.0]], [[3.0], [4.0]]])
    starts = np.array([3, 0])
    with pytest.raises(OperandError, match="a start is 3; expected 0 to 2"):
        run("kv_cache_update", cache, update, starts)
    result = run("kv_cache_update", cache, update, starts, mode=1)
    assert result[..., 0].tolist() == [[2, 0, 0, 1], [3, 4, 0, 0]]


def test_embeddings() -> None:
    """numpy.take, and numpy.add.reduceat over bags that aren't empty."""
    weight, indices = normal(6, 3), np.array([5, 0, 2, 2, 1])
    assert np.array_equal(run("embedding", weight, indices), np.take(weight, indices, axis=0))
    offsets = np.array([0, 2, 4])
    rows = np.take(weight, indices, axis=0)
    total = np.add.reduceat(rows, offsets)
    np.testing.assert_allclose(run("embedding_bag", weight, indices, offsets), total)
    mean = run("embedding_bag", weight, indices, offsets, mode=1)
    np.testing.assert_allclose(mean, total / np.array([[2], [2], [1]]))
    largest = run("embedding_bag", weight, indices, offsets, mode=2)
    assert np.array_equal(largest, np.maximum.reduceat(rows, offsets))
    factors = normal(5)
    weighted = np.add.reduceat(rows * factors[:, None], offsets)
    result = run("embedding_bag", weight, indices, offsets, factors)
    np.testing.assert_allclose(result, weighted)
    empty = run("embedding_bag", weight, indices, np.array([0, 0, 5]), mode=2)
    assert not empty[0].any()
    assert not empty[2].any()
    for name, more in (("embedding", ()), ("embedding_bag", (offsets,))):
        for wrong in (-1, 6):
            with pytest.raises(OperandError, match="expected 0 to 5"):
                run(name, weight, np.full(5, wrong), *more)
    for bad in ([1, 2], [0, 3, 2], [0, 6]):
        with pytest.raises(OperandError):
            run("embedding_bag", weight, indices, np.array(bad))


def sigmoid(x: Any) -> Any:
    """scipy's logistic function."""
    return special.expit(x)


def test_a_lstm_cell_by_hand() -> None:
    """Gates i, o, f, c of a cell of size 1, and coupled gates of a layer."""
    x, h, c = np.array([[2.0]]), np.array([[0.5]]), np.array([[-1.0]])
    w, r = np.array([[0.1], [0.2], [0.3], [0.4]]), np.array([[0.5], [0.6], [0.7], [0.8]])
    bias = np.arange(8.0) / 10
    i, o, f, g = (w * x + r * h)[:, 0] + bias[:4] + bias[4:]
    cell = sigmoid(f) * -1.0 + sigmoid(i) * np.tanh(g)
    next_h, next_c = run("lstm_cell", x, h, c, w, r, bias)
    np.testing.assert_allclose(next_c[0, 0], cell)
    np.testing.assert_allclose(next_h[0, 0], sigmoid(o) * np.tanh(cell))
    coupled = run(
        "lstm", x[None], w[None], r[None], bias[None], None, h[None], c[None], input_forget=1
    )
    cell = (1 - sigmoid(i)) * -1.0 + sigmoid(i) * np.tanh(g)
    np.testing.assert_allclose(coupled[2][0, 0, 0], cell)


@pytest.mark.parametrize("linear", [0, 1])
def test_a_gru_cell_by_hand(linear: int) -> None:
    """Gates z, r, n of a cell of size 1; the reset before the product or behind it."""
    x, h = np.array([[2.0]]), np.array([[0.5]])
    w, r = np.array([[0.1], [0.2], [0.3]]), np.array([[0.5], [0.6], [0.7]])
    bias = np.arange(6.0) / 10
    z, reset = sigmoid((w * x + r * h)[:2, 0] + bias[:2] + bias[3:5])
    inner = reset * (0.7 * 0.5 + bias[5]) if linear else 0.7 * (reset * 0.5) + bias[5]
    new = np.tanh(0.3 * 2.0 + bias[2] + inner)
    result = run("gru_cell", x, h, w, r, bias, linear_before_reset=linear)
    np.testing.assert_allclose(result, [[(1 - z) * new + z * 0.5]])


@pytest.mark.parametrize("kind", ["rnn", "gru", "lstm"])
def test_layers_repeat_cells(kind: str) -> None:
    """Each step of a layer is the cell; reverse and both go the other way; lengths end early."""
    gates = {"rnn": 1, "gru": 3, "lstm": 4}[kind]
    x, w, r = normal(4, 3, 2), normal(2, gates * 5, 2), normal(2, gates * 5, 5)
    bias, lengths = normal(2, 2 * gates * 5), np.array([4, 2, 0], np.int32)
    states = 2 if kind == "lstm" else 1
    expected = np.zeros((4, 2, 3, 5))
    last = np.zeros((states, 2, 3, 5))
    for d, b in np.ndindex(2, 3):
        now = [np.zeros((1, 5)) for _ in range(states)]
        steps = list(range(lengths[b]))
        for t in reversed(steps) if d else steps:
            results = run(f"{kind}_cell", x[t, b : b + 1], *now, w[d], r[d], bias[d])
            now = list(results) if states == 2 else [results]
            expected[t, d, b] = now[0]
        last[:, d, b] = [item[0] for item in now]
    given = (x, w, r, bias, lengths)
    outputs = run(kind, *given, direction=2)
    np.testing.assert_allclose(outputs[0], expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(outputs[1:], last, rtol=1e-10, atol=1e-12)
    backward = run(kind, x, w[1:], r[1:], bias[1:], lengths, direction=1)
    np.testing.assert_allclose(backward[0][:, 0], expected[:, 1], rtol=1e-10, atol=1e-12)
    batches = run(kind, x.swapaxes(0, 1), *given[1:], direction=2, layout=1)
    assert np.array_equal(batches[0], outputs[0].transpose(2, 0, 1, 3))
    assert np.array_equal(batches[1], outputs[1].swapaxes(0, 1))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (1, special.expit),
        (2, np.tanh),
        (3, lambda x: np.maximum(x, 0)),
        (4, lambda x: 0.5 * x + 0.25),
        (5, lambda x: np.where(x < 0, 0.5 * x, x)),
        (6, lambda x: np.where(x < 0.5, 0, x)),
        (7, lambda x: 0.5 * np.tanh(0.25 * x)),
        (8, lambda x: np.clip(0.5 * x + 0.25, 0, 1)),
        (9, lambda x: np.where(x < 0, 0.5 * np.expm1(x), x)),
        (10, lambda x: x / (1 + abs(x))),
        (11, lambda x: np.log1p(np.exp(x))),
    ],
)
def test_activations(code: int, expected: Any) -> None:
    """The functions of ONNX with both numbers, their inputs clipped at 1.5."""
    x = np.array([[[-3.0], [-1.0], [0.0], [0.3], [0.7], [1.0], [4.0]]])
    one, none = np.ones((1, 1, 1)), np.zeros((1, 1, 1))
    values: dict[str, Any] = {"activations": (code,), "alpha": (0.5,), "beta": (0.25,), "clip": 1.5}
    result = run("rnn", x, one, none, **values)[0]
    np.testing.assert_allclose(result[0, 0], expected(np.clip(x[0], -1.5, 1.5)), atol=1e-12)
