"""The digits network trained with WIA operations alone, on any device that has them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import wia

Array = NDArray[Any]


class DeviceNetwork:
    """Weights and the moments of Adam on a device; arrays go in by mini-batch."""

    def __init__(self, ctx: wia.Context, weights: dict[str, Array], weight_decay: float) -> None:
        self._ctx = ctx
        self.weights = {name: ctx.tensor(array) for name, array in weights.items()}
        self._moments = {
            name: (ctx.zeros(array.shape), ctx.zeros(array.shape))
            for name, array in weights.items()
        }
        self._weight_decay = weight_decay
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
        """One step of Adam on the mean cross entropy of a batch; returns that."""
        ctx, count = self._ctx, len(labels)
        x, wanted = ctx.tensor(images), ctx.tensor(np.eye(10, dtype=np.float32)[labels])
        with wia.Tape() as tape:
            logits = self.forward(x)
            chosen = ctx.reduce_sum(logits * wanted)
            loss = ctx.reduce_sum(ctx.reduce_log_sum_exp(logits, axes=-1)) - chosen
        names = list(self.weights)
        seed = ctx.full((), 1.0 / count)
        gradients = tape.gradient(loss, [self.weights[name] for name in names], seed=seed)
        self._steps += 1
        correction = np.sqrt(1 - 0.999**self._steps) / (1 - 0.9**self._steps)
        for name, gradient in zip(names, gradients, strict=True):
            self._adam(name, gradient, learning_rate, learning_rate * float(correction))
        return float(loss.item()) / count

    def _adam(self, name: str, gradient: wia.Tensor, learning_rate: float, rate: float) -> None:
        first, second = self._moments[name]
        first = first + (gradient - first) * 0.1
        second = second + (gradient * gradient - second) * 0.001
        self._moments[name] = (first, second)
        weight = self.weights[name] * (1.0 - learning_rate * self._weight_decay)
        self.weights[name] = weight - first * rate / (self._ctx.sqrt(second) + 1e-8)

    def accuracy(self, images: Array, labels: Array) -> float:
        """The share of images whose largest logit is that of the label."""
        logits = self.forward(self._ctx.tensor(images))
        return float((self._ctx.argmax(logits, axis=-1).numpy() == labels).mean())
