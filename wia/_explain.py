"""What Python says of an argument of a wrong type, in the words of the signature.

Public methods hand their arguments to the C side as they are, and look at none of them twice. When
that fails, the annotations tell which argument is not what it should be.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar

from wia._errors import ArgumentTypeError, InvalidArgumentError, WiaError

__all__ = ["checked", "explained", "explains_methods"]

C = TypeVar("C", bound=type)
P = ParamSpec("P")
R = TypeVar("R")

_WORDS = {
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "bool": "a bool",
    "None": "None",
    "ArrayLike": "an array",
}
_FUNCTIONS = ("Callable", "Differentiate", "HostFunction", "Infer")
_SPECIAL = ("__init__", "__call__")
_SEVERAL = re.compile(r"(?:Sequence|Iterable|list|tuple)\[(.*?)(?:, \.\.\.)?\]")


def explained(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose errors name the argument that its annotation doesn't allow.

    Raises ArgumentTypeError for a wrong type, InvalidArgumentError for an integer that is out of
    range, and else what the function raises.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (AttributeError, OverflowError, TypeError, ValueError) as error:
            explanation = _explain(function, error, args, kwargs)
            if explanation is None:
                raise
            raise explanation from error

    return call


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which looks at its arguments first: for what is used later, or elsewhere."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        explanation = _explain(function, None, args, kwargs)
        if explanation is not None:
            raise explanation
        return function(*args, **kwargs)

    return call


def explains_methods(cls: C) -> C:
    """Makes explained ones of all public methods of a class that take arguments."""
    for name, method in list(vars(cls).items()):
        if not inspect.isfunction(method) or hasattr(method, "__wrapped__"):
            continue
        if name.startswith("_") and name not in _SPECIAL:
            continue
        if len(inspect.signature(method).parameters) > 1:
            setattr(cls, name, explained(method))
    return cls


def _explain(
    function: Callable[..., Any],
    error: Exception | None,
    args: Iterable[Any],
    kwargs: dict[str, Any],
) -> WiaError | None:
    if isinstance(error, WiaError):
        return None
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None  # Python's own words for that are good
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        annotation = str(parameter.annotation)
        values = value if parameter.kind is parameter.VAR_POSITIONAL else (value,)
        if name == "self" or parameter.kind is parameter.VAR_KEYWORD:
            continue
        for item in values:
            what = f"{function.__qualname__.removesuffix('.__init__')} was given {name}={item!r}"
            if not _fits(item, annotation):
                return ArgumentTypeError(f"{what}; expected {_words(annotation)}.")
            if isinstance(error, OverflowError) and isinstance(item, int):
                return InvalidArgumentError(f"{what}: {error}.")
    return None


def _alternatives(annotation: str) -> list[str]:
    """The parts of a union; | inside of brackets is none."""
    return re.split(r" \| (?![^\[]*\])", annotation)


def _class(name: str) -> Any:
    import wia

    found = getattr(wia, name, getattr(builtins, name, None))
    return found if isinstance(found, type) else None


def _fits(value: Any, annotation: str) -> bool:
    """Whether a value is of an annotated type; of types that are not known here anything is."""
    return any(_fits_one(value, part) for part in _alternatives(annotation))


def _fits_one(value: Any, part: str) -> bool:
    several = _SEVERAL.fullmatch(part)
    if several:
        if isinstance(value, str) or not isinstance(value, Iterable):
            return False
        return all(_fits(item, several[1]) for item in value)
    if part.startswith(_FUNCTIONS):
        return callable(value)
    if part.startswith("Mapping"):
        return isinstance(value, Mapping)
    if part == "os.PathLike[str]":
        return isinstance(value, os.PathLike)
    known = {
        "None": value is None,
        "int": hasattr(value, "__index__"),
        "float": hasattr(value, "__float__") or hasattr(value, "__index__"),
        "bool": hasattr(value, "__bool__"),
    }
    kind = _class(part)
    return known.get(part, kind is None or isinstance(value, kind))


def _words(annotation: str) -> str:
    words = []
    for part in _alternatives(annotation):
        several = _SEVERAL.fullmatch(part)
        if several:
            words.append(f"a sequence, each {_words(several[1])}")
        elif part.startswith(_FUNCTIONS):
            words.append("a function")
        elif part.startswith("Mapping"):
            words.append("a mapping")
        else:
            words.append(
                _WORDS.get(part, f"a {part}" if hasattr(builtins, part) else f"a wia.{part}")
            )
    return " or ".join(words)
