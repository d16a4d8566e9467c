"""Arguments of types that no call takes, in every public method and function of the package."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import wia

# Take any object, as their annotations say, or hand it to numpy, which has its own words.
ANY = ("object", "Any", "ArrayLike", "bool", "SupportsDLPack", "np.ndarray")


class Odd:
    """No argument of anything."""

    def __repr__(self) -> str:
        return "<odd>"


class Subjects:
    """One object of each class with methods."""

    def __init__(self) -> None:
        self.context = wia.Context("reference")
        self.device = self.context.device
        self.tensor = self.context.zeros((2, 3))
        self.stream = self.context.stream()
        self.event = wia.Event(self.context)
        self.plan = self.context.plan("add", [self.tensor, self.tensor], [self.tensor])
        self.group = self.context.group()
        with self.stream.capture() as self.graph:
            self.context.add(self.tensor, self.tensor, self.tensor, stream=self.stream)
        self.executable = self.graph.instantiate()
        self.tape = wia.Tape()


SUBJECTS = Subjects()
# What else a call needs to come as far as the argument.
GIVEN: dict[str, Any] = {
    "shape": (2, 3),
    "op": "add",
    "inputs": [SUBJECTS.tensor, SUBJECTS.tensor],
    "outputs": [SUBJECTS.tensor],
    "event": SUBJECTS.event,
    "end": SUBJECTS.event,
    "stream": SUBJECTS.stream,
    "context": SUBJECTS.context,
    "function": print,
    "tensor": SUBJECTS.tensor,
    "old": SUBJECTS.tensor,
    "new": SUBJECTS.tensor,
    "other": "reference:0",
    "name": "name",
    "version": "1.0",
    "value": 1.0,
    "out": np.zeros((2, 3), np.float32),
    "node": 0,
    "operand": 0,
    "graph": SUBJECTS.graph,
    "target": SUBJECTS.tensor,
    "sources": [SUBJECTS.tensor],
    "x": np.zeros(3, np.float32),
}
VALUE = SUBJECTS.group.input((2, 3))


def callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Public methods, and functions of the package, that take arguments."""
    for owner, subject in vars(SUBJECTS).items():
        for name, method in vars(type(subject)).items():
            if callable(method) and (not name.startswith("_") or name == "__call__"):
                yield f"{owner}.{name}", getattr(subject, name)
    for name in wia.__all__:
        found = getattr(wia, name)
        if inspect.isfunction(found) or name in ("Context", "Stream", "Event", "Plan"):
            yield f"wia.{name}", found


def parameters() -> Iterator[Any]:
    """Each parameter whose annotation doesn't allow anything."""
    for name, function in callables():
        for parameter in inspect.signature(function).parameters.values():
            annotation = str(parameter.annotation)
            if parameter.kind is parameter.VAR_KEYWORD or any(word in annotation for word in ANY):
                continue
            yield pytest.param(function, parameter, id=f"{name}-{parameter.name}")


@pytest.mark.parametrize(("function", "parameter"), list(parameters()))
def test_names_the_argument(function: Callable[..., Any], parameter: inspect.Parameter) -> None:
    in_group = getattr(function, "__self__", None) is SUBJECTS.group
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for other in inspect.signature(function).parameters.values():
        if other.name == parameter.name:
            value: Any = Odd()
        elif other.kind is other.VAR_POSITIONAL:
            continue
        elif other.default is other.empty and other.name in GIVEN:
            value = [VALUE, VALUE] if in_group and other.name == "inputs" else GIVEN[other.name]
        else:
            continue
        if other.kind in (other.POSITIONAL_ONLY, other.VAR_POSITIONAL):
            args.append(value)
        else:
            kwargs[other.name] = value
    with pytest.raises((wia.WiaError, TypeError)) as caught:
        function(*args, **kwargs)
    assert isinstance(caught.value, wia.WiaError), caught.value
    assert "odd" in str(caught.value).lower(), caught.value


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda s: s.context.configure_memory(limit="1GB"),
            "Context.configure_memory was given limit='1GB'; expected an integer or None.",
        ),
        (
            lambda s: s.context.configure_memory(limit=-1),
            "Context.configure_memory was given limit=-1: can't convert negative number to "
            "unsigned.",
        ),
        (
            lambda s: s.stream.wait(s.stream),
            f"Stream.wait was given event={SUBJECTS.stream!r}; expected a wia.Event.",
        ),
        (
            lambda s: s.stream.call(3),
            "Stream.call was given function=3; expected a function.",
        ),
        (
            lambda s: s.context.execute("add", [s.tensor, 3]),
            f"Context.execute was given inputs={[SUBJECTS.tensor, 3]!r}; expected a sequence, each "
            "a wia.Tensor or None.",
        ),
        (
            lambda s: s.event.wait("1 s"),
            "Event.wait was given timeout='1 s'; expected a number or None.",
        ),
        (
            lambda s: wia.profile(event_capacity=2**70),
            f"profile was given event_capacity={2**70}: int too big to convert.",
        ),
    ],
)
def test_texts(call: Callable[[Subjects], object], text: str) -> None:
    with pytest.raises(wia.InvalidArgumentError) as caught:
        call(SUBJECTS)
    assert str(caught.value) == text


def test_errors_of_functions_stay() -> None:
    """What a function of the program raises is not taken for a wrong argument."""

    def fail(*inputs: object) -> wia.Tensor:
        raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$"):
        wia.grad(fail)(SUBJECTS.tensor)


def test_missing_arguments_are_told_by_python() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'event'"):
        SUBJECTS.stream.wait()  # type: ignore[call-arg]
