"""The layers of the digits network with their gradients, in plain numpy, for training.

Arrays are float32. Images are [batch, channel, row, column], as in WIA.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


class Layer(Protocol):
    """A step of the network: forward keeps what backward needs."""

    parameters: list[Array]
    gradients: list[Array]

    def forward(self, x: Array) -> Array:
        """Return the layer's output."""

    def backward(self, grad: Array) -> Array:
        """Fill gradients, and return the gradient of the input."""


class Conv3x3:
    """A 3 x 3 convolution with stride 1 and one pixel of zero padding on each side."""

    def __init__(self, rng: np.random.Generator, in_channels: int, out_channels: int) -> None:
        scale = np.sqrt(2.0 / (9 * in_channels))
        shape = (out_channels, in_channels, 3, 3)
        self.weight: Array = (rng.standard_normal(shape) * scale).astype(np.float32)
        self.bias: Array = np.zeros(out_channels, np.float32)
        self.parameters = [self.weight, self.bias]
        self.gradients = [np.zeros_like(self.weight), np.zeros_like(self.bias)]

    def forward(self, x: Array) -> Array:
        self._shape = x.shape
        batch, channels, rows, columns = x.shape
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        self._patches = windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, channels * 9)
        flat = self._patches @ self.weight.reshape(len(self.bias), -1).T + self.bias
        return flat.reshape(batch, rows, columns, -1).transpose(0, 3, 1, 2)

    def backward(self, grad: Array) -> Array:
        batch, channels, rows, columns = self._shape
        flat = grad.transpose(0, 2, 3, 1).reshape(-1, len(self.bias))
        self.gradients[0][...] = (flat.T @ self._patches).reshape(self.weight.shape)
        self.gradients[1][...] = flat.sum(axis=0)
        patches = flat @ self.weight.reshape(len(self.bias), -1)
        patches = patches.reshape(batch, rows, columns, channels, 3, 3)
        padded = np.zeros((batch, channels, rows + 2, columns + 2), np.float32)
        for i in range(3):
            for j in range(3):
                window = padded[:, :, i : i + rows, j : j + columns]
                window += patches[..., i, j].transpose(0, 3, 1, 2)
        return padded[:, :, 1:-1, 1:-1]


class ReluMaxPool2x2:
    """max(x, 0), then the largest of each 2 x 2 square."""

    def __init__(self) -> None:
        self.parameters: list[Array] = []
        self.gradients: list[Array] = []

    def forward(self, x: Array) -> Array:
        self._shape = x.shape
        batch, channels, rows, columns = x.shape
        squares = x.reshape(batch, channels, rows // 2, 2, columns // 2, 2)
        squares = squares.transpose(0, 1, 2, 4, 3, 5).reshape(
            batch, channels, rows // 2, columns // 2, 4
        )
        self._winner = squares.argmax(axis=-1)[..., None]
        largest = np.take_along_axis(squares, self._winner, axis=-1)[..., 0]
        self._positive = largest > 0
        return np.maximum(largest, np.float32(0))

    def backward(self, grad: Array) -> Array:
        batch, channels, rows, columns = self._shape
        squares = np.zeros((batch, channels, rows // 2, columns // 2, 4), np.float32)
        np.put_along_axis(squares, self._winner, (grad * self._positive)[..., None], axis=-1)
        squares = squares.reshape(batch, channels, rows // 2, columns // 2, 2, 2)
        return squares.transpose(0, 1, 2, 4, 3, 5).reshape(self._shape)


class Linear:
    """Flattens an image and takes a weighted sum of it for each class."""

    def __init__(self, rng: np.random.Generator, in_features: int, out_features: int) -> None:
        scale = np.sqrt(1.0 / in_features)
        shape = (out_features, in_features)
        self.weight: Array = (rng.standard_normal(shape) * scale).astype(np.float32)
        self.bias: Array = np.zeros(out_features, np.float32)
        self.parameters = [self.weight, self.bias]
        self.gradients = [np.zeros_like(self.weight), np.zeros_like(self.bias)]

    def forward(self, x: Array) -> Array:
        self._shape = x.shape
        self._flat = x.reshape(len(x), -1)
        return self._flat @ self.weight.T + self.bias

    def backward(self, grad: Array) -> Array:
        self.gradients[0][...] = grad.T @ self._flat
        self.gradients[1][...] = grad.sum(axis=0)
        return (grad @ self.weight).reshape(self._shape)


def softmax_cross_entropy(logits: Array, labels: NDArray[np.int64]) -> tuple[float, Array]:
    """Return the mean loss of a batch and its gradient."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_sum = np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    rows = np.arange(len(labels))
    loss = float((log_sum[:, 0] - shifted[rows, labels]).mean())
    grad = np.exp(shifted - log_sum)
    grad[rows, labels] -= 1
    return loss, (grad / len(labels)).astype(np.float32)


class Adam:
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."""

    def __init__(self, layers: Sequence[Layer], weight_decay: float) -> None:
        self._layers = layers
        self._weight_decay = weight_decay
        self._step = 0
        self._moments = [
            (np.zeros_like(p), np.zeros_like(p)) for layer in layers for p in layer.parameters
        ]

    def step(self, learning_rate: float) -> None:
        """Change every parameter by its gradient."""
        self._step += 1
        correction = np.sqrt(1 - 0.999**self._step) / (1 - 0.9**self._step)
        rate = np.float32(learning_rate * correction)
        decay = np.float32(1 - learning_rate * self._weight_decay)
        pairs = [
            pair
            for layer in self._layers
            for pair in zip(layer.parameters, layer.gradients, strict=True)
        ]
        for (first, second), (parameter, gradient) in zip(self._moments, pairs, strict=True):
            first += np.float32(0.1) * (gradient - first)
            second += np.float32(0.001) * (gradient * gradient - second)
            parameter *= decay
            parameter -= rate * first / (np.sqrt(second) + np.float32(1e-8))
