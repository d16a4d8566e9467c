"""Products of matrices whose results don't depend on how they are computed.

A sum of floats is the one in the order of k, from 0 on, in float64; one of integers is exact modulo
2**64. numpy's own product sums in an order of its library and its threads, which is much faster.
Where a dtype rounds the sum, that is good enough for nearly all elements: both sums lie within

    (k + 3) 2**-52 |row| |column|

of each other (lengths of vectors; Cauchy and Schwarz bound the sum of absolute products, of which
each order errs by (k + 1) 2**-53 at most). An element for which both ends of that range round
to the same number has that number; the others are summed in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._numeric import is_integer

Finish = Callable[[Any], Any]
"""What becomes of sums: a function of each, increasing or decreasing, that rounds at its end."""

_BLOCK = 1 << 13
"""Elements of sums that stay in a cache."""
_TERMS = 1 << 20
_FEW_OUTPUTS = 256
_WORTH_IT = 1 << 16
"""Products: for fewer, summing in order is as fast."""


def product(np: Any, a: Any, b: Any) -> Any:
    """Matrix product of wide arrays [..., m, k] and [..., k, n]."""
    if is_integer(a.dtype):
        return _integer_product(np, a.astype(np.int64, copy=False), b.astype(np.int64, copy=False))
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    (m, k), n = a.shape[-2:], b.shape[-1]
    total = np.zeros((*batch, m, n))
    if 0 < total.size < _FEW_OUTPUTS:
        columns = np.moveaxis(np.broadcast_to(a, (*batch, m, k)), -1, 0)[..., None]
        rows = np.moveaxis(np.broadcast_to(b, (*batch, k, n)), -2, 0)[..., None, :]
        step = max(1, _TERMS // (16 * total.size))
        for begin in range(0, k, step):
            terms = columns[begin : begin + step] * rows[begin : begin + step]
            terms[0] += total
            total = np.add.accumulate(terms, axis=0)[-1]
        return total
    if m * n <= _BLOCK:
        _add_products(np, total, a, b)
        return total
    a, b = np.broadcast_to(a, (*batch, m, k)), np.broadcast_to(b, (*batch, k, n))
    width = min(n, _BLOCK)
    height = _BLOCK // width
    for place in np.ndindex(batch):
        for top in range(0, m, height):
            for left in range(0, n, width):
                rows, columns = slice(top, top + height), slice(left, left + width)
                block = total[place][rows, columns]
                _add_products(np, block, a[place][rows], b[place][:, columns])
    return total


def _add_products(np: Any, total: Any, a: Any, b: Any) -> None:
    """Adds the products to the sums, one k after the other."""
    terms = np.empty(total.shape)
    for i in range(a.shape[-1]):
        np.multiply(a[..., :, i, None], b[..., None, i, :], out=terms)
        total += terms


def _integer_product(np: Any, a: Any, b: Any) -> Any:
    """Exact, by way of float64 where all sums fit in its 53 bits."""
    largest = [max(-int(x.min(initial=0)), int(x.max(initial=0))) for x in (a, b)]
    if a.shape[-1] * largest[0] * largest[1] >= 2**53:
        return np.matmul(a, b)
    return np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.int64)


def finished_product(np: Any, a: Any, b: Any, dtype: Any, finish: Finish) -> Any:
    """What ``finish`` makes of the product, whose results have that dtype."""
    size = a.shape[-2] * b.shape[-1] * a.shape[-1]
    if is_integer(dtype) or dtype.itemsize > 4 or size < _WORTH_IT:
        return finish(product(np, a, b))
    near = np.matmul(a, b)
    near += 0.0  # sums from 0 on are never -0
    rows = np.sqrt(np.einsum("...mk,...mk->...m", a, a))
    columns = np.sqrt(np.einsum("...kn,...kn->...n", b, b))
    lengths = rows[..., :, None] * columns[..., None, :]
    reach = lengths * ((a.shape[-1] + 3) * 2.0**-52)
    low, high = (finish(end).reshape(near.shape) for end in (near - reach, near + reach))
    # Where both are 0 they may be of different signs.
    doubtful = ~((low == high) & ((low != 0) | (reach == 0)))
    count = int(np.count_nonzero(doubtful))
    if 4 * count > near.size:
        return finish(product(np, a, b))
    if count:
        near[doubtful] = _sums_at(np, a, b, near.shape, np.nonzero(doubtful))
    return finish(near)


def _sums_at(np: Any, a: Any, b: Any, shape: Any, places: Any) -> Any:
    """The sums in order of some elements of the product."""
    *batch, row, column = places
    rows = np.broadcast_to(a, (*shape[:-1], a.shape[-1]))
    columns = np.swapaxes(np.broadcast_to(b, (*shape[:-2], *b.shape[-2:])), -1, -2)
    total = np.empty(len(row))
    step = max(1, _TERMS // max(1, a.shape[-1]))
    for begin in range(0, len(row), step):
        now = slice(begin, begin + step)
        outer = tuple(index[now] for index in batch)
        terms = rows[(*outer, row[now])] * columns[(*outer, column[now])]
        total[now] = np.add.accumulate(terms, axis=-1)[:, -1] + 0.0
    return total
