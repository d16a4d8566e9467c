"""Windows as ONNX describes them: strides, dilations, paddings, also automatic ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from wia.onnx._errors import ModelError

if TYPE_CHECKING:
    from wia.onnx._call import Call

__all__ = ["Window", "halves", "read_sizes", "read_window"]

Sizes = tuple[int, ...]


class Window(NamedTuple):
    """Sizes and steps in each dimension in space."""

    kernel: Sizes
    stride: Sizes
    dilation: Sizes
    padding: Sizes
    """First what is added before each dimension, then what is added behind."""

    def values(self, *without: str) -> dict[str, Any]:
        """The window as attributes of operations of the catalog."""
        return {name: value for name, value in self._asdict().items() if name not in without}


def read_sizes(call: Call, name: str, rank: int, default: int) -> Sizes:
    """An attribute with one size for each dimension in space."""
    sizes = tuple(call.attribute(name) or (default,) * rank)
    if len(sizes) != rank:
        raise ModelError(f"{name} has {len(sizes)} sizes; expected {rank}, as the kernel has")
    if min(sizes, default=default) < default:
        raise ModelError(f"{name} is {list(sizes)}; expected {default} or more")
    return sizes


def read_window(call: Call, sizes: Sequence[int], kernel: Sequence[int]) -> Window:
    """The window of a node over an input of these sizes in space."""
    rank = len(kernel)
    if len(sizes) != rank:
        raise ModelError(f"the input has {len(sizes)} dimensions in space and the kernel {rank}")
    stride, dilation = (read_sizes(call, name, rank, 1) for name in ("strides", "dilations"))
    padding = tuple(call.attribute("pads") or (0,) * (2 * rank))
    if len(padding) != 2 * rank:
        raise ModelError(f"pads has {len(padding)} sizes; expected {2 * rank}")
    mode = call.attribute("auto_pad", "NOTSET")
    if mode == "VALID":
        padding = (0,) * (2 * rank)
    elif mode in ("SAME_UPPER", "SAME_LOWER"):
        totals = [
            max(0, (-(-size // step) - 1) * step + (k - 1) * apart + 1 - size)
            for size, k, step, apart in zip(sizes, kernel, stride, dilation, strict=True)
        ]
        padding = halves(totals, larger_behind=mode == "SAME_UPPER")
    return Window(tuple(kernel), stride, dilation, padding)


def halves(totals: Sequence[int], *, larger_behind: bool) -> Sizes:
    """Padding that is split into two halves, of which one may be larger by 1."""
    less, more = [total // 2 for total in totals], [total - total // 2 for total in totals]
    return (*less, *more) if larger_behind else (*more, *less)
