"""Support vector machines, of ai.onnx.ml."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from wia._tensor import Tensor
from wia.onnx._errors import ModelError
from wia.onnx._lower.moves import concat_tensors, pick
from wia.onnx._lower.scores import add_first_class, class_labels, finish, name_of, rows

if TYPE_CHECKING:
    import numpy as np

    from wia.onnx._call import Call, Result

__all__ = ["svm_classifier", "svm_regressor"]

_BLOCK = 2**22
"""Differences between rows and vectors that are made at a time."""
_LEAST = 1e-7
"""Probabilities of pairs are no closer to 0 and 1, as in libsvm."""
_ROUNDS = 100


def svm_regressor(call: Call) -> Result:
    """SVMRegressor; with one_class 1 inside, and -1 outside."""
    import numpy as np

    x = rows(call)
    count = call.attribute("n_supports", 0)
    weights, rho = call.required("coefficients"), call.required("rho")
    kernels = _kernels(call, x, count) if count > 0 else x
    if len(weights) != kernels.shape[1] or len(rho) < 1:
        raise ModelError(f"{len(weights)} coefficients and {len(rho)} rho are given")
    row = call.once(lambda: np.array([weights], x.dtype), "row", x.dtype)
    bias = call.once(lambda: np.array(rho[:1], x.dtype), "rho", x.dtype)
    scores = call.op("linear", kernels, row, bias)
    if call.attribute("one_class", 0):
        above = call.op("greater", scores, call.literal(0, x.dtype))
        inside, outside = (call.literal(side, x.dtype) for side in (1, -1))
        scores = call.op("where", above, inside, outside)
    return finish(call, scores, call.attribute("post_transform", "NONE"))


def _kernels(call: Call, x: Tensor, count: int) -> Tensor:
    """The kernel of each row with each of count support vectors: [rows, count]."""
    import numpy as np

    given, width = call.required("support_vectors"), x.shape[1]
    if count * width != len(given):
        raise ModelError(
            f"support_vectors has {len(given)} elements for {count} vectors of {width} features"
        )
    kinds = ("LINEAR", "POLY", "RBF", "SIGMOID")
    kind = call.choice("kernel_type", dict(zip(kinds, kinds, strict=True)), "LINEAR")
    gamma, offset, degree = (*call.attribute("kernel_params", ()), 0.0, 0.0, 0.0)[:3]
    if kind == "RBF":
        vectors = call.once(
            lambda: np.array(given, x.dtype).reshape(1, count, width), "vectors", x.dtype
        )
        squares = _squares(call, x, vectors)
        return call.op("exp", call.op("mul", squares, call.literal(-gamma, x.dtype)))
    columns = call.once(
        lambda: np.array(given, x.dtype).reshape(count, width).T, "vectors", x.dtype
    )
    product = call.op("matmul", x, columns)
    if kind == "LINEAR":
        return product
    product = call.op("mul", product, call.literal(gamma, x.dtype))
    product = call.op("add", product, call.literal(offset, x.dtype))
    if kind == "SIGMOID":
        return call.op("tanh", product)
    return call.op("pow", product, call.literal(degree, x.dtype))


def _squares(call: Call, x: Tensor, vectors: Tensor) -> Tensor:
    """Squared distances [rows, vectors], by differences: sums of squares would cancel."""
    count, width = vectors.shape[1:]
    step = max(1, _BLOCK // max(1, count * width))
    parts = []
    for begin in range(0, max(1, x.shape[0]), step):
        end = min(begin + step, x.shape[0])
        block = x if step >= x.shape[0] else pick(call, x, (begin,), (end,), (0,))
        assert isinstance(block, Tensor)
        apart = call.op("sub", call.reshape(block, end - begin, 1, width), vectors)
        parts.append(call.op("reduce_sum_square", apart, axes=(2,), keepdims=0))
    joined = concat_tensors(call, parts, 0)
    assert isinstance(joined, Tensor)
    return joined


def svm_classifier(call: Call) -> Result:
    """SVMClassifier: a score for each class, or votes of a machine for each pair of classes."""
    import numpy as np

    x, labels = rows(call), class_labels(call)
    sizes, rho = call.attribute("vectors_per_class", ()), call.required("rho")
    transform, classes = call.attribute("post_transform", "NONE"), len(labels)
    if not sum(sizes):
        weights = call.required("coefficients")
        if len(weights) != classes * x.shape[1] or len(rho) < 1:
            raise ModelError(f"{len(weights)} coefficients are given for {classes} classes")
        table = call.once(lambda: np.array(weights, x.dtype).reshape(classes, -1), "table", x.dtype)
        bias = call.once(lambda: np.full(classes, rho[0], x.dtype), "rho", x.dtype)
        scores = call.op("linear", x, table, bias)
        chosen = call.op("argmax", scores, axis=1, keepdims=0)
        return name_of(call, chosen, labels), finish(call, scores, transform)
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    if len(sizes) != classes or min(sizes) < 0 or len(rho) < len(pairs):
        raise ModelError(
            f"vectors_per_class has {len(sizes)} and rho {len(rho)} elements for {classes} classes"
        )
    kernels = _kernels(call, x, sum(sizes))
    table = call.once(lambda: _machines(call, sizes, pairs).astype(x.dtype), "table", x.dtype)
    bias = call.once(lambda: np.array(rho[: len(pairs)], x.dtype), "rho", x.dtype)
    scores = call.op("linear", kernels, table, bias)
    chosen = call.op("argmax", _votes(call, scores, pairs, classes), axis=1, keepdims=0)
    if call.attribute("prob_a"):
        scores = _probabilities(call, scores, pairs, classes)
    elif classes == 2:
        scores = add_first_class(call, scores, shares=False)
    return name_of(call, chosen, labels), finish(call, scores, transform)


def _machines(
    call: Call, sizes: Sequence[int], pairs: Sequence[tuple[int, int]]
) -> np.ndarray[Any, Any]:
    """A row of weights of all vectors for each pair, 0 for those of other classes.

    Coefficients are [classes - 1, vectors]: of a vector of class i against class j in row j - 1 for
    i < j, and in row j else.
    """
    import numpy as np

    total, given = sum(sizes), call.required("coefficients")
    if len(given) != (len(sizes) - 1) * total:
        raise ModelError(f"{len(given)} coefficients are given for {total} vectors")
    weights = np.array(given).reshape(-1, total)
    ends = np.cumsum(sizes)
    spans = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    table = np.zeros((len(pairs), total))
    for row, (i, j) in zip(table, pairs, strict=True):
        row[spans[i]] = weights[j - 1, spans[i]]
        row[spans[j]] = weights[i, spans[j]]
    return table


def _votes(call: Call, scores: Tensor, pairs: Sequence[tuple[int, int]], classes: int) -> Tensor:
    """How many machines are for each class: one is for its first where its score is above 0."""
    import numpy as np

    def make(sign: int) -> np.ndarray[Any, Any]:
        table = np.zeros((classes, len(pairs)), scores.dtype)
        for column, (i, j) in enumerate(pairs):
            table[i, column] = 1
            table[j, column] = -1
        return table if sign else (table < 0).sum(axis=1).astype(scores.dtype)

    above = call.op("greater", scores, call.literal(0, scores.dtype))
    ballots = call.cast(above, scores.dtype)
    sides, seconds = (call.once(partial(make, sign), "votes", sign) for sign in (1, 0))
    return call.op("linear", ballots, sides, seconds)


def _probabilities(
    call: Call, scores: Tensor, pairs: Sequence[tuple[int, int]], classes: int
) -> Tensor:
    """[rows, classes] that fit the probabilities of pairs best.

    On the host: the search stops by its values.
    """
    import numpy as np

    a, b = (np.array(call.attribute(name, ()), np.float64) for name in ("prob_a", "prob_b"))
    if not len(a) == len(b) == len(pairs):
        raise ModelError(
            f"prob_a and prob_b have {len(a)} and {len(b)} elements for {len(pairs)} pairs"
        )
    with np.errstate(over="ignore"):
        first = 1 / (1 + np.exp(call.read(scores).astype(np.float64) * a + b))
    first = np.clip(first, _LEAST, 1 - _LEAST)
    between = np.zeros((first.shape[0], classes, classes))
    for column, (i, j) in enumerate(pairs):
        between[:, i, j] = first[:, column]
        between[:, j, i] = 1 - first[:, column]
    return call.put(_couple(between).astype(scores.dtype))


def _couple(between: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Probabilities of classes from those of pairs, [rows, classes, classes].

    The second method of Wu, Lin and Weng, "Probability Estimates for Multi-class Classification by
    Pairwise Coupling", JMLR 5 (2004), algorithm 2, with the bound that libsvm stops at.
    """
    import numpy as np

    count, classes = between.shape[:2]
    across = -between.transpose(0, 2, 1) * between
    diagonal = (between**2).sum(axis=1)
    across[:, range(classes), range(classes)] = diagonal
    p = np.full((count, classes), 1 / classes)
    going = np.arange(count)
    for _ in range(max(_ROUNDS, classes)):
        slopes = np.einsum("nij,nj->ni", across[going], p[going])
        level = (p[going] * slopes).sum(axis=1)
        going = going[abs(slopes - level[:, None]).max(axis=1) >= 0.005 / classes]
        if not going.size:
            break
        own, q = p[going], across[going]
        slopes = np.einsum("nij,nj->ni", q, own)
        level = (own * slopes).sum(axis=1)
        for t in range(classes):
            change = (level - slopes[:, t]) / q[:, t, t]
            own[:, t] += change
            level = level + change * (change * q[:, t, t] + 2 * slopes[:, t])
            level /= (1 + change) ** 2
            slopes = (slopes + change[:, None] * q[:, t]) / (1 + change)[:, None]
            own /= (1 + change)[:, None]
        p[going] = own
    return p
