"""Plans: one kernel, run many times."""

from __future__ import annotations

import numpy as np
import pytest

import wia


def test_plans(ctx: wia.Context) -> None:
    """One kernel, other operands of the same layout, scalars anew with each call."""
    a, b = ctx.tensor([1.0, 2.0]), ctx.tensor([10.0, 20.0])
    out = ctx.empty(2)
    with ctx.plan("add", [a, b], [out]) as plan:
        plan(a, b, out)
        assert out.tolist() == [11.0, 22.0]
        plan(b, b, out)
        assert out.tolist() == [20.0, 40.0]
        assert repr(plan) == "wia.Plan('add')"
        with pytest.raises(wia.InvalidArgumentError):
            plan(a, b)
        with pytest.raises(wia.InvalidArgumentError):
            plan(a, b, ctx.empty(3))
        with pytest.raises(wia.InvalidArgumentError, match="alpha"):
            plan(a, b, out, alpha=2)
        with pytest.raises(wia.ArgumentTypeError):
            plan(a, b, "out")  # type: ignore[arg-type]


def test_scalars_of_plans(reference: wia.Context) -> None:
    a = reference.tensor([[1.0, 2.0], [3.0, 4.0]])
    out = reference.zeros((2, 2))
    product = (a @ a).numpy()
    with reference.plan("matmul", [a, a], [out], alpha=3) as plan:
        plan(a, a, out)
        np.testing.assert_array_equal(out.numpy(), 3 * product)
        plan(a, a, out, alpha=0.5, beta=1)
        np.testing.assert_array_equal(out.numpy(), 3.5 * product)
