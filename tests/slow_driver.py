"""A driver under a test's control, for tests of streams."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

import wia
from wia.driver import Driver, Node, kernel


class Slow(Driver):
    """relu waits until it may go on; add fails; mul raises what a caller could mistake."""

    name = "slow"
    gate = threading.Event()

    @kernel("relu", in_place=True)
    def relu(self, node: Node) -> object:
        def run(x: Any, out: Any) -> None:
            if not Slow.gate.wait(20):
                raise wia.InternalError("nobody opened the gate")
            np.copyto(out, np.maximum(x, 0))

        return run

    @kernel("add")
    def add(self, node: Node) -> object:
        def run(a: Any, b: Any, out: Any) -> None:
            raise wia.DataLossError("the first failure" if b[0] == 1 else "a later failure")

        return run

    @kernel("mul")
    def mul(self, node: Node) -> object:
        def run(a: Any, b: Any, out: Any) -> None:
            raise TimeoutError("the hardware timed out")

        return run
