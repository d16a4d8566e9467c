"""Scalars of the launch: they change from call to call without a new kernel."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

import wia
from wia.catalog import BY_NAME, evaluate
from wia.driver import Kernel, Node, kernel
from wia_reference import ReferenceDriver

STEPS = 1000


class Counting(ReferenceDriver):
    """The reference, which notes what it prepares."""

    name = "counting"
    prepared: ClassVar[list[str]] = []

    @kernel(*BY_NAME, in_place=True)
    def prepare_operation(self, node: Node) -> Kernel:
        self.prepared.append(node.op)
        return super().prepare_operation(node)


def test_a_learning_rate_schedule_and_a_random_seed_run_1000_steps_with_one_prepare() -> None:
    wia.register_driver(Counting)
    gradient = np.arange(1, 9, dtype=np.float32)
    expected = np.zeros(8, np.float32)
    with wia.Context("counting") as ctx, ctx.stream() as stream:
        x, weights, step = ctx.tensor(gradient), ctx.zeros(8), ctx.empty(8)
        noisy, mask = ctx.empty(8), ctx.empty(8, dtype="bool")
        for i in range(STEPS):
            rate = 0.5 ** (i // 125)
            where = stream if i % 2 else None
            ctx.dropout(x, seed=i, out=(noisy, mask), stream=where)
            ctx.scale(noisy, factor=rate, out=step, stream=where)
            ctx.add(weights, step, out=weights, stream=where)
            kept, _ = evaluate(
                np, BY_NAME["dropout"], [gradient], {"ratio": 0.5, "seed": i, "offset": 0}
            )
            expected += np.float32(rate) * kept
        np.testing.assert_array_equal(weights.numpy(), expected)
    assert sorted(Counting.prepared) == ["add", "dropout", "scale"]
