"""The simulated NPU's kernels for any shape: prepared once, right for each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from catalog_calls import assert_close, attributes_of, call

import wia
from wia.catalog import BY_NAME, Sample

pytest.importorskip("numba")


@pytest.fixture(scope="module")
def ctx() -> Iterator[wia.Context]:
    """A context on the simulated device."""
    with wia.Context("npu") as context:
        yield context


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The codes of the programs that are made while a test runs."""
    from wia_npu._driver import NpuDriver

    codes: list[str] = []
    compile_one = NpuDriver._compile

    def note(self: Any, program: Any, *others: Any, **more: Any) -> Any:
        codes.append(program.code)
        return compile_one(self, program, *others, **more)

    monkeypatch.setattr(NpuDriver, "_compile", note)
    return codes


def test_a_thousand_lengths(ctx: wia.Context, prepared: list[str]) -> None:
    """Are at most one preparation of each operation, and right."""
    random = np.random.default_rng(1)
    whole = random.standard_normal((1000, 4)).astype(np.float32)
    weight = random.standard_normal((4, 3)).astype(np.float32)
    row, factors = ctx.tensor(whole[0]), ctx.tensor(weight)
    norm = (whole - whole.mean(1, keepdims=True)) / np.sqrt(whole.var(1, keepdims=True) + 1e-5)
    power = np.exp(whole)
    for length in range(1, 1001):
        part, x = whole[:length], ctx.tensor(whole[:length])
        results = (
            (ctx.add(x, row), part + whole[0]),
            (ctx.relu(x), np.maximum(part, 0)),
            (ctx.softmax(x, axis=0), power[:length] / power[:length].sum(0)),
            (ctx.reduce_sum(x, axes=(1,)), part.sum(1)),
            (ctx.layer_norm(x), norm[:length]),
            (ctx.matmul(x, factors), part @ weight),
        )
        for result, expected in results:
            np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-5)
    codes = ("binary", "unary", "softmax", "reduce", "layer_norm", "matmul")
    assert set(prepared) <= set(codes)
    assert len(prepared) == len(set(prepared)), prepared


LENGTHS: tuple[tuple[str, tuple[tuple[int | str, ...], ...], dict[str, Any]], ...] = (
    ("less", (("n", 6), ("n", 1)), {}),
    ("where", (("n", 1), ("n", 6), (6,)), {}),
    ("cast", (("n", 6),), {"dtype": "int32"}),
    ("transpose", ((2, "n", 6),), {"perm": (1, 2, 0)}),
    ("argmax", ((6, "n"),), {"axis": 1}),
    ("reduce_max", ((2, "n", 3, "n"),), {"axes": (1, 3), "keepdims": True}),
    ("layer_norm", (("n", 3, "n"), (3, "n"), (3, "n")), {"axis": 1}),
    ("batch_norm", ((2, "n", 3), ("n",), ("n",), ("n",), ("n",)), {}),
    ("matmul", ((2, "n", 6), (6, "n")), {}),
    ("matmul", (("n",), (3, "n", 5)), {}),
    ("matmul", ((3, 1, "n", 5), (2, 5, "n")), {}),
    ("pad", ((2, "n"),), {"pads": (1, 2, 0, -1), "value": 3.0}),
    ("pad", (("n", "n"),), {"pads": (4, 0, 3, 1), "mode": 1}),
    ("gather", (("n", 6), (2, 1)), {}),
    ("gather", ((3, 7, 2), ("n", 2)), {"axis": 1}),
    ("linear", ((2, "n", 6), (5, 6), (5,)), {}),
    ("addmm", (("n", 1), ("n", 6), (6, 4)), {}),
    ("log_softmax", ((3, "n"),), {}),
    ("sgd_step", (("n", 6), ("n", 6)), {"rate": 0.5}),
)
"""Operations on operands of which some sizes are a length, n."""


@pytest.mark.parametrize("case", LENGTHS, ids=lambda case: case[0])
def test_lengths(ctx: wia.Context, prepared: list[str], case: Any) -> None:
    """Of an operation: one preparation, whether sizes are 1, join others or have several chunks."""
    name, shapes, values = case
    for n in (3, 1, 2, 257):
        sample = Sample(
            shapes=tuple(tuple(n if size == "n" else size for size in shape) for shape in shapes),
            values=values,
            fills=("normal", f"index{n if shapes[0][0] == 'n' else 7}") if name == "gather" else (),
        )
        operation = replace(BY_NAME[name], samples=(sample,))
        inputs, every, expected = call(operation, sample, "float32")
        tensors = [None if array is None else ctx.tensor(array) for array in inputs]
        results = ctx.execute(name, tensors, **attributes_of(every))
        assert_close(operation, inputs, every, expected, results)
    assert len(prepared) <= 1


def test_costs_are_those_of_each_length(ctx: wia.Context) -> None:
    x, longer = ctx.zeros((3, 4)), ctx.zeros((50, 4))
    with ctx.plan("relu", [x], [x]) as one, ctx.plan("relu", [longer], [longer]) as other:
        assert (one._info().flops, other._info().flops) == (12, 200)
        assert (one._info().bytes, other._info().bytes) == (2 * 48, 2 * 800)


def test_rows_that_are_not_there(ctx: wia.Context) -> None:
    """From one chunk and from many; indices below 0 count from the end."""
    for count in (4, 1 << 17):
        x, indices = ctx.tensor(np.arange(6, dtype="f").reshape(3, 2)), np.zeros(count, np.int64)
        for index, good in ((2, True), (-3, True), (3, False), (-4, False)):
            indices[-1] = index
            if good:
                assert ctx.gather(x, ctx.tensor(indices)).numpy()[-1, 1] == 2 * (index % 3) + 1
                continue
            with pytest.raises(wia.InvalidArgumentError):
                ctx.gather(x, ctx.tensor(indices))
