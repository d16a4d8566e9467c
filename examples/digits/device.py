"""The digits network trained with WIA operations alone, on any device that has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import wia

Array = NDArray[Any]


OPTIMIZERS: dict[str, tuple[int, float]] = {
    "sgd": (0, 100.0),
    "momentum": (1, 10.0),
    "adam": (2, 1.0),
    "adamw": (2, 1.0),
}
"""Steps of the catalog: how many states each has, and its rate beside that of Adam."""


class DeviceNetwork:
    """Weights and the states of an optimiser on a device; arrays go in by mini-batch."""

    def __init__(
        self,
        ctx: wia.Context,
        weights: dict[str, Array],
        weight_decay: float,
        *,
        optimizer: str = "adamw",
    ) -> None:
        self._ctx = ctx
        self._optimizer = optimizer
        self._weight_decay = weight_decay
        self.weights = {name: ctx.tensor(array) for name, array in weights.items()}
        count, self._factor = OPTIMIZERS[optimizer]
        self._states = {
            name: tuple(ctx.zeros(array.shape) for _ in range(count))
            for name, array in weights.items()
        }
        self._steps = 0

    def forward(self, x: wia.Tensor) -> wia.Tensor:
        """The logits, [batch, 10], of images [batch, 1, 8, 8]."""
        ctx, w = self._ctx, self.weights
        for name in ("conv1", "conv2"):
            x = ctx.conv2d(x, w[f"{name}_weight"], w[f"{name}_bias"], padding=1)
            x = ctx.max_pool2d(ctx.relu(x), kernel=2)
        flat = ctx.reshape(x, shape=(x.shape[0], 128))
        return ctx.linear(flat, w["linear_weight"], w["linear_bias"])

    def step(self, images: Array, labels: Array, learning_rate: float) -> float:
        """One step of the optimiser on the mean cross entropy of a batch; returns that."""
        ctx = self._ctx
        x, right = ctx.tensor(images), ctx.tensor(labels, "int64")
        with wia.Tape() as tape:
            loss = ctx.softmax_cross_entropy(self.forward(x), right)[0]
        names = list(self.weights)
        gradients = tape.gradient(loss, [self.weights[name] for name in names])
        self._steps += 1
        for name, gradient in zip(names, gradients, strict=True):
            self._change(name, gradient, learning_rate * self._factor)
        return float(loss.item())

    def _change(self, name: str, gradient: wia.Tensor, rate: float) -> None:
        more: dict[str, Any] = (
            {"step": float(self._steps)} if self._optimizer.startswith("adam") else {}
        )
        weight, *states = self._ctx.execute(
            f"{self._optimizer}_step",
            [self.weights[name], gradient, *self._states[name]],
            rate=rate,
            decay=self._weight_decay if self._optimizer == "adamw" else 0.0,
            **more,
        )
        self.weights[name], self._states[name] = weight, tuple(states)

    def accuracy(self, images: Array, labels: Array) -> float:
        """The share of images whose largest logit is that of the label."""
        logits = self.forward(self._ctx.tensor(images))
        return float((self._ctx.argmax(logits, axis=-1).numpy() == labels).mean())

    def save(self) -> dict[str, Array]:
        """Weights, states and the number of steps, by name, as arrays."""
        arrays = {name: tensor.numpy() for name, tensor in self.weights.items()}
        for name, states in self._states.items():
            arrays |= {f"{name}.{i}": state.numpy() for i, state in enumerate(states)}
        return {**arrays, "steps": np.array(self._steps)}

    def load(self, arrays: Mapping[str, Array]) -> None:
        """Go on where save() was called. Raises KeyError for the arrays of another optimiser."""
        tensor = self._ctx.tensor
        self._states = {
            name: tuple(tensor(arrays[f"{name}.{i}"]) for i in range(len(states)))
            for name, states in self._states.items()
        }
        self.weights = {name: tensor(arrays[name]) for name in self.weights}
        self._steps = int(arrays["steps"])
