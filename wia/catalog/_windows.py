"""Windows that slide over images: what convolution, pooling and unfolding share.

An image is [n, c, ...] with one to three dimensions behind the channels. The operations for two
dimensions have attributes of fixed length; the others have lists of which one value stands for
all dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from ._model import INT32_MAX, Attribute, Shape, Values

MOST = 3
"""Dimensions of an image, without those of batch and channel."""


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


def along(name: str, summary: str, minimum: int = 1, length: int = MOST) -> Attribute:
    """A list of a value for each dimension of an image, or of one value for all."""
    return Attribute(
        name=name,
        summary=f"{summary} One value: for all.",
        default=(),
        length=length,
        variable=True,
        length_field=f"{name}_count",
        minimum=minimum,
        maximum=INT32_MAX,
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
STRIDES = along("stride", "Step of the kernel in each dimension; none: 1.")
PADDINGS = along(
    "padding",
    "Elements added before each dimension, then those behind each; none: 0.",
    0,
    2 * MOST,
)
DILATIONS = along("dilation", "Distance of taps in each dimension; none: 1.")


def spread(given: Sequence[int], count: int, default: int) -> tuple[int, ...]:
    """A value for each dimension from a list of none, one or all."""
    values = tuple(given) or (default,)
    return values * count if len(values) == 1 else values


def reach(kernel: Sequence[int], dilation: Sequence[int]) -> tuple[int, ...]:
    """Elements that a kernel spans in each dimension."""
    return tuple((size - 1) * step + 1 for size, step in zip(kernel, dilation, strict=True))


class Windows:
    """The windows of one kernel over images of one shape."""

    def __init__(self, shape: Shape, kernel: Sequence[int], values: Values) -> None:
        count = len(shape) - 2
        self.kernel = spread(kernel, count, 1)
        self.stride = spread(values["stride"], count, 1)
        self.dilation = spread(values.get("dilation", ()), count, 1)
        self.padding = spread(values["padding"], 2 * count, 0)
        ceil = values.get("ceil_mode", 0)
        counts, overhang = [], []
        for i, (size, span) in enumerate(
            zip(shape[2:], reach(self.kernel, self.dilation), strict=True)
        ):
            step, before, after = self.stride[i], self.padding[i], self.padding[count + i]
            room = size + before + after - span
            places = (-(-room // step) if ceil else room // step) + 1
            if ceil and (places - 1) * step >= size + before:
                places -= 1
            counts.append(places)
            overhang.append(max(0, (places - 1) * step - room))
        self._overhang = tuple(overhang)
        self.counts: Shape = tuple(counts)
        self.shape: Shape = (*shape[:2], *counts)

    @classmethod
    def of_pooling(cls, shape: Shape, values: Values) -> Windows:
        """Those of a pooling, whose stride is the kernel where it is 0 or not given."""
        count = len(shape) - 2
        kernel = spread(values["kernel"], count, 1)
        stride = spread(values["stride"], count, 0)
        step = tuple(s or k for s, k in zip(stride, kernel, strict=True))
        return cls(shape, kernel, {**values, "stride": step})

    def zeros(self, np: Any, dtype: Any) -> Any:
        """An output of zeros."""
        return np.zeros(self.shape, dtype)

    def extend(self, np: Any, array: Any, padding: Any, overhang: Any = None) -> Any:
        """The images with padding, and with what the last windows reach beyond it."""
        count = len(self.kernel)
        none = ((0, 0), (0, 0))
        sides = zip(self.padding[:count], self.padding[count:], strict=True)
        padded = np.pad(array, (*none, *sides), constant_values=padding)
        widths = (*none, *((0, more) for more in self._overhang))
        return np.pad(padded, widths, constant_values=padding if overhang is None else overhang)

    def places(self) -> Iterator[tuple[slice, ...]]:
        """For each position of the kernel, row by row, where it is in all windows."""
        for tap in product(*map(range, self.kernel)):
            yield tuple(
                slice(at * dilation, at * dilation + step * (count - 1) + 1, step)
                for at, dilation, step, count in zip(
                    tap, self.dilation, self.stride, self.counts, strict=True
                )
            )

    def taps(self, extended: Any) -> Iterator[Any]:
        """For each position of the kernel, row by row, the elements under it in all windows."""
        for place in self.places():
            yield extended[(..., *place)]
