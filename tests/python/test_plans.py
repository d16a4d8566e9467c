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


def test_operands_that_are_no_tensors(reference: wia.Context) -> None:
    """Are named, whether they have a handle of something else or none."""
    x = reference.zeros(3)
    with reference.plan("neg", [x], [x.copy()]) as plan, wia.Stream(reference) as stream:
        for wrong in ("x", 3, stream, plan, np.zeros(3, "f")):
            with pytest.raises(
                wia.ArgumentTypeError, match=f"{type(wrong).__qualname__} was given"
            ):
                plan(x, wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            plan(x, x.copy(), stream=plan)  # type: ignore[arg-type]
