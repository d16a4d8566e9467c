# The extension module is made by hal/bridge/build_bridge.py from the headers; its contents are as
# dynamic as cffi's own types.
from collections.abc import Callable
from typing import Any

ffi: Any
lib: Any

def check_interpreter() -> None: ...
def wrap_operation(
    function: Callable[..., Any], name: str, op: int, required: int, inputs: int, /
) -> Any: ...
def allocate(context: object, shape: tuple[int, ...], code: int, /) -> Any: ...
def wrap_plan(function: Callable[..., Any], /) -> Any: ...
def set_call_classes(
    classes: tuple[type, type, type, type],
    ctypes: tuple[Any, Any, Any, Any, Any],
    tapes: list[Any],
    raise_last_error: Callable[[int], Any],
    owner: tuple[Callable[[Any, Any], Any], Callable[[Any], Any]],
    /,
) -> None: ...
