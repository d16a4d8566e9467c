"""Windows as ONNX describes them: strides, dilations, paddings, also automatic ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from wia.onnx._errors import ModelError

if TYPE_CHECKING:
    from wia.onnx._call import Call

__all__ = ["Window", "read_window"]

Sizes = tuple[int, ...]


class Window(NamedTuple):
    """Sizes and steps in each dimension in space."""

    kernel: Sizes
    strides: Sizes
    dilations: Sizes
    before: Sizes
    after: Sizes


def read_window(call: Call, sizes: Sequence[int], kernel: Sequence[int]) -> Window:
    """The window of a node over an input of these sizes in space."""
    rank = len(kernel)
    ones = (1,) * rank
    strides = tuple(call.attribute("strides") or ones)
    dilations = tuple(call.attribute("dilations") or ones)
    pads = tuple(call.attribute("pads") or (0,) * (2 * rank))
    given = {"input": sizes, "strides": strides, "dilations": dilations, "pads": pads[rank:]}
    for name, values in given.items():
        if len(values) != rank:
            raise ModelError(
                f"{name} has {len(values)} sizes in space; expected {rank} as the kernel"
            )
    before, after = pads[:rank], pads[rank:]
    mode = call.attribute("auto_pad", "NOTSET")
    if mode == "VALID":
        before = after = (0,) * rank
    elif mode in ("SAME_UPPER", "SAME_LOWER"):
        less, more = list[int](), list[int]()
        for size, k, step, dilation in zip(sizes, kernel, strides, dilations, strict=True):
            count = -(-size // step)
            total = max(0, (count - 1) * step + (k - 1) * dilation + 1 - size)
            less.append(total // 2)
            more.append(total - total // 2)
        before, after = (less, more) if mode == "SAME_UPPER" else (more, less)  # type: ignore[assignment]
    return Window(tuple(kernel), strides, dilations, tuple(before), tuple(after))
