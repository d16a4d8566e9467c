"""Windows that slide over images: what convolution and pooling share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._model import INT32_MAX, Attribute, Shape, Values


def pair(name: str, summary: str, default: int | None) -> Attribute:
    """An attribute of a value for rows and one for columns, both of 1 or more."""
    return Attribute(
        name=name,
        summary=summary,
        default=None if default is None else (default, default),
        length=2,
        minimum=1,
        maximum=INT32_MAX,
        zero_is_default=default is not None,
        field="int64_t",
    )


PADDING = Attribute(
    name="padding",
    summary="Rows and columns added at the top, left, bottom and right.",
    default=(0, 0, 0, 0),
    length=4,
    maximum=INT32_MAX,
    field="int64_t",
)
DILATION = pair("dilation", "Distance of taps in rows and columns.", 1)


class Windows:
    """The windows of a pooling over images of one shape."""

    def __init__(self, shape: Shape, values: Values) -> None:
        self._kernel, self._dilation = values["kernel"], values["dilation"]
        self._stride = tuple(s or k for s, k in zip(values["stride"], self._kernel, strict=True))
        self._padding, ceil = values["padding"], values["ceil_mode"]
        counts, overhang = [], []
        for i, size in enumerate(shape[2:]):
            step = self._stride[i]
            before, after = self._padding[i], self._padding[2 + i]
            room = size + before + after - (self._kernel[i] - 1) * self._dilation[i] - 1
            count = (-(-room // step) if ceil else room // step) + 1
            if ceil and (count - 1) * step >= size + before:
                count -= 1
            counts.append(count)
            overhang.append(max(0, (count - 1) * step - room))
        self._overhang = tuple(overhang)
        self.shape: Shape = (*shape[:2], *counts)

    def zeros(self, np: Any, dtype: Any) -> Any:
        """An output of zeros."""
        return np.zeros(self.shape, dtype)

    def extend(self, np: Any, array: Any, padding: Any, overhang: Any = None) -> Any:
        """The images with padding, and with what the last windows reach beyond it."""
        top, left, bottom, right = self._padding
        padded = np.pad(
            array, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=padding
        )
        widths = ((0, 0), (0, 0), *((0, more) for more in self._overhang))
        return np.pad(padded, widths, constant_values=padding if overhang is None else overhang)

    def taps(self, extended: Any) -> Iterator[Any]:
        """For each position of the kernel, row by row, the elements under it in all windows."""
        down, right = self._stride
        rows, columns = self.shape[2:]
        for i in range(self._kernel[0]):
            for j in range(self._kernel[1]):
                y, x = i * self._dilation[0], j * self._dilation[1]
                bottom, end = y + down * (rows - 1) + 1, x + right * (columns - 1) + 1
                yield extended[:, :, y:bottom:down, x:end:right]
