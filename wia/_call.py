"""Methods that go straight to the library: most calls of an operation or a plan run no Python code.

The classes are told to the native side when all of them are there, at the end of `import wia`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, TypeVar

from wia._bridge import set_call_classes, wrap_operation, wrap_plan
from wia._errors import raise_last_error
from wia._native import ffi, lib
from wia._tape import tapes

__all__ = ["quick", "quick_plan", "start"]

Method = TypeVar("Method", bound=Callable[..., Any])


def quick(op: int, required: int, inputs: int) -> Callable[[Method], Method]:
    """Decorates the method of an operation with one output.

    A call with tensors as inputs by position, perhaps `out` and `stream`, and nothing else runs
    natively while no tape records; the method itself takes all others. Without `out` it takes the
    first call for inputs of some shapes and dtypes: what it returns tells what others return.
    """

    def decorate(method: Method) -> Method:
        name = f"wia_{method.__name__}"
        return _dress(wrap_operation(method, name, op, required, inputs), method)

    return decorate


def quick_plan(method: Method) -> Method:
    """Decorates the call of a plan: with tensors by position and perhaps `stream` it is native."""
    return _dress(wrap_plan(method), method)


def _dress(call: Any, method: Method) -> Method:
    """The callable with the names, texts and signature of the method."""
    update_wrapper(call, method)
    dressed: Method = call
    return dressed


def start(context: type, tensor: type, stream: type, plan: type) -> None:
    """Tells the native side what objects to look for."""
    names = (
        "wia_context_t *",
        "wia_tensor_t",
        "wia_stream_t *",
        "wia_plan_t *",
        "wia_scalar_t *",
    )
    ctypes: Any = tuple(ffi.typeof(name) for name in names)
    owner = (ffi.gc, lib.wia_destroy_tensor)
    set_call_classes((context, tensor, stream, plan), ctypes, tapes, raise_last_error, owner)
