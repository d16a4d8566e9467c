"""Sums of products have one order, whatever the library behind numpy does: bit for bit."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from catalog_calls import run

from wia.catalog import _convolve, _products
from wia.catalog._numeric import narrow, widen

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
NARROW = (np.dtype(np.float32), np.dtype(np.float16), BFLOAT16)
SIZE = (33, 65, 31)
assert SIZE[0] * SIZE[1] * SIZE[2] >= _products._WORTH_IT


class Backwards:
    """numpy with a matrix product that begins at the last k."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def matmul(self, a: Any, b: Any) -> Any:
        """Sums in the order of other libraries than that of this machine."""
        return in_order(a[..., ::-1], b[..., ::-1, :])


def in_order(a: Any, b: Any) -> Any:
    """The definition: one product after the other."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    total = np.zeros((*batch, a.shape[-2], b.shape[-1]))
    for i in range(a.shape[-1]):
        total = total + a[..., i, None] * b[..., None, i, :]
    return total


def elements(kind: str, seed: int, *shape: int) -> Any:
    """Numbers whose sums are far from, beside, or on the middle of two neighbours."""
    random = np.random.default_rng([seed, *shape])
    normal = random.standard_normal(shape)
    if kind == "sparse":
        return np.maximum(normal, 0.0)
    if kind == "halves":
        return random.integers(-8, 9, shape) * 0.5
    if kind == "cancelling":
        return normal * 2.0 ** random.integers(-30, 31, shape)
    if kind == "special":
        odd = random.choice([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-44], shape)
        return np.where(random.random(shape) < 0.003, odd, normal)
    if kind == "zeros":
        return np.where(random.random(shape) < 0.9, -0.0, normal)
    return normal


@pytest.mark.parametrize("kind", ["normal", "sparse", "halves", "cancelling", "special", "zeros"])
@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("library", [np, Backwards()], ids=["numpy", "backwards"])
def test_products(library: Any, dtype: Any, kind: str) -> None:
    m, k, n = SIZE
    with np.errstate(all="ignore"):
        a, b = (
            widen(np, elements(kind, i, 2, *shape).astype(dtype))
            for i, shape in enumerate(((m, k), (k, n)))
        )
        expected = narrow(np, in_order(a, b) * -0.5, dtype)
        result = _products.finished_product(
            library, a, b, dtype, lambda total: narrow(np, total * -0.5, dtype)
        )
    assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_the_order_makes_a_difference(dtype: Any) -> None:
    """Without the sums in order, results of the test above would differ."""
    m, k, n = SIZE
    a, b = (elements("cancelling", i, *shape) for i, shape in enumerate(((m, k), (k, n))))
    a, b = (widen(np, item.astype(np.float32)) for item in (a, b))
    a[:, :3], b[:3] = [2.0**30, 1.0, -(2.0**30)], [[2.0**30], [1.0], [2.0**30]]
    b[3:] *= 2.0**-60
    with np.errstate(all="ignore"):
        sums = [narrow(np, order(a, b), dtype) for order in (in_order, Backwards().matmul)]
        assert sums[0].tobytes() != sums[1].tobytes()
        result = _products.finished_product(
            Backwards(), a, b, dtype, lambda total: narrow(np, total, dtype)
        )
    assert result.tobytes() == sums[0].tobytes()


@pytest.mark.parametrize(
    "shapes", [((65, 3), (3, 300)), ((2, 1, 9, 5), (3, 5, 2)), ((4, 0), (0, 99))]
)
def test_float64_is_summed_in_order(shapes: Any) -> None:
    """In blocks, over batches, and without a k."""
    a, b = (elements("cancelling", i, *shape) for i, shape in enumerate(shapes))
    assert _products.product(np, a, b).tobytes() == in_order(a, b).tobytes()
    wide = np.concatenate([a] * 50, axis=-2)
    assert _products.product(np, wide, b).tobytes() == in_order(wide, b).tobytes()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_integers_wrap_in_any_order(dtype: Any) -> None:
    """As Python's integers say, modulo 2**64."""
    random = np.random.default_rng(3)
    info = np.iinfo(dtype)
    a, b = (random.integers(info.min, info.max, s, dtype, True) for s in ((5, 70), (70, 4)))
    exact = a.astype(object) @ b.astype(object)
    result = _products.product(np, widen(np, a), widen(np, b))
    assert (result.astype(object) - exact) % 2**64 == pytest.approx(np.zeros((5, 4)), abs=0)


CONVOLUTIONS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 8, 19, 17), (16, 8, 3, 3), {"padding": (1, 0, 2, 1), "stride": (1, 2)}),
    ((1, 8, 33, 33), (16, 4, 3, 2), {"groups": 2, "dilation": (2, 1)}),
    ((40, 3, 9, 9), (8, 3, 5, 5), {"padding": (2, 2, 2, 2)}),
]


@pytest.mark.parametrize("dtype", [*NARROW, np.dtype(np.int8), np.dtype(np.uint8)], ids=str)
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=["padded", "groups", "images"])
def test_columns_are_sums_over_images(case: Any, dtype: Any, monkeypatch: Any) -> None:
    """Of all rows at once, of a few, and of some images together."""
    x, weight, values = case
    random = np.random.default_rng(1)
    arrays = [(random.standard_normal(shape) * 30).astype(np.int8) for shape in (x, weight)]
    arrays = [array.astype(dtype) for array in arrays]
    if dtype.kind not in "iu":
        arrays = [array * dtype.type(1.1) for array in arrays]
    bias = np.arange(weight[0]).astype(np.int32 if dtype.kind in "iu" else dtype)
    results = []
    for worth, columns in ((1 << 62, 1), (1, 1 << 21), (1, 5000), (1, 1)):
        monkeypatch.setattr(_convolve, "_WORTH_IT", worth)
        monkeypatch.setattr(_convolve, "_COLUMNS", columns)
        results.append(run("conv2d", *arrays, bias, **values).tobytes())
    assert len(set(results)) == 1
