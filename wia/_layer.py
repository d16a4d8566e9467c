"""Layers: what the library does beside its work, for whoever looks for a fault or for time."""

from __future__ import annotations

from typing import NamedTuple, Self

from wia._errors import check
from wia._explain import explained
from wia._native import ffi, lib, new_struct, text

__all__ = ["EnabledLayer", "LayerInfo", "disable_layer", "enable_layer", "layers"]


class LayerInfo(NamedTuple):
    """A layer of the library."""

    name: str
    enabled: bool
    description: str


class EnabledLayer:
    """A layer that was switched on; the end of its with statement takes that back."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"EnabledLayer({self.name!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        disable_layer(self.name)


def layers() -> list[LayerInfo]:
    """All layers of the library, and which of them are on.

    >>> import wia
    >>> [layer.name for layer in wia.layers()]
    ['validate', 'trace']
    """
    count = ffi.new("uint32_t *")
    check(lib.wia_get_layer_count(count))
    return [_read_layer(index) for index in range(count[0])]


def _read_layer(index: int) -> LayerInfo:
    info = new_struct("wia_layer_info_t")
    check(lib.wia_get_layer_info(index, info))
    return LayerInfo(text(info.name), bool(info.enabled), text(info.description))


@explained
def enable_layer(name: str) -> EnabledLayer:
    """Switches a layer on, as WIA_LAYERS does for a whole process.

    In a with statement it is on until the statement's end, else until disable_layer(). A layer that
    was enabled twice is on until it was disabled twice. Raises NotFoundError for other names.
    """
    check(lib.wia_enable_layer(name.encode()))
    return EnabledLayer(name)


@explained
def disable_layer(name: str) -> None:
    """Takes back one enable_layer(), or the environment's; the last one switches the layer off.

    Raises NotFoundError, and FailedPreconditionError for a layer that is not on.
    """
    check(lib.wia_disable_layer(name.encode()))
