"""Arguments of the generated methods: from what Python programs pass to what the C side takes."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

from wia._errors import ArgumentTypeError, InvalidArgumentError, WiaError
from wia._native import NULL, ffi

if TYPE_CHECKING:
    from wia._tensor import Tensor

__all__ = [
    "as_choice",
    "as_codes",
    "as_handles",
    "as_int",
    "as_list",
    "as_number",
    "as_numbers",
    "as_outputs",
    "as_parts",
    "explain",
    "make_config",
    "need_out",
    "refuse_both",
]


def as_int(op: str, name: str, value: object) -> int:
    """An integer, also one of numpy's. Its range is checked by the library."""
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise _wrong_type(op, name, value, "an integer") from None


def as_number(op: str, name: str, value: object) -> float:
    """A number, also one of numpy's; no text."""
    if not isinstance(value, str):
        try:
            return float(value)  # type: ignore[arg-type]
        except (TypeError, OverflowError):
            pass
    raise _wrong_type(op, name, value, "a number") from None


def as_list(op: str, name: str, value: object, length: int) -> list[int]:
    """A list of integers.

    A single integer stands for the whole list of that length, two for all four sides of an image.
    Length 0: a list of any length, where a single integer is the only element and None is empty.
    """
    if value is None and length == 0:
        return []
    if not isinstance(value, Sequence) or isinstance(value, str):
        if hasattr(value, "__index__"):
            return [as_int(op, name, value)] * max(length, 1)
        raise _wrong_type(op, name, value, "an integer or a sequence of integers")
    items = [as_int(op, name, item) for item in value]
    if length == 4 and len(items) == 2:
        items = items * 2
    _check_length(op, name, value, items, length)
    return items


def as_codes(op: str, name: str, value: object) -> list[int]:
    """The ASCII codes of a string."""
    if not isinstance(value, str):
        raise _wrong_type(op, name, value, "a string")
    if not value.isascii():
        raise InvalidArgumentError(f"{op}: {name} is {value!r}; expected ASCII.")
    return list(value.encode("ascii"))


def as_numbers(op: str, name: str, value: object, length: int) -> list[float]:
    """A list of numbers; length as in as_list()."""
    if value is None and length == 0:
        return []
    if not isinstance(value, Sequence) or isinstance(value, str):
        return [as_number(op, name, value)] * max(length, 1)
    items = [as_number(op, name, item) for item in value]
    _check_length(op, name, value, items, length)
    return items


def _check_length(op: str, name: str, value: object, items: Sequence[object], length: int) -> None:
    if length and len(items) != length:
        raise InvalidArgumentError(
            f"{op} was given {name}={value!r} with {len(items)} elements; expected {length}, or a "
            "single number for all of them."
        )


def as_choice(op: str, name: str, value: object, choices: Mapping[str, int]) -> int:
    """The number of an enumerated option that is given by name."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidArgumentError(
            f"{op} was given {name}={value!r}; expected one of {', '.join(map(repr, choices))}."
        )
    return choices[value]


def as_outputs(op: str, out: Any, count: int) -> tuple[Any, ...]:
    """The outputs of an operation that has several."""
    items = tuple(out) if isinstance(out, Sequence) else ()
    return items if len(items) == count and _are_tensors(items) else _refuse_outputs(op, out, count)


def as_parts(op: str, out: Any, most: int) -> list[Any]:
    """Handles of the outputs of an operation that has up to ``most``, with NULL for the others."""
    items = tuple(out) if isinstance(out, Sequence) else ()
    if not 1 <= len(items) <= most or not _are_tensors(items):
        _refuse_outputs(op, out, f"1 to {most}")
    return [*(item._handle for item in items), *[NULL] * (most - len(items))]


def _are_tensors(items: tuple[Any, ...]) -> bool:
    from wia._tensor import Tensor

    return all(isinstance(item, Tensor) for item in items)


def _refuse_outputs(op: str, out: Any, count: int | str) -> NoReturn:
    items = tuple(out) if isinstance(out, Sequence) else ()
    given = type(out).__qualname__
    if items:
        given += f" of {', '.join(type(item).__qualname__ for item in items)}"
    raise ArgumentTypeError(
        f"{op} was given a {given} as out; expected a tuple of {count} wia.Tensor. execute() takes "
        "None for an output that may be left out."
    )


def as_handles(op: str, inputs: Sequence[Tensor]) -> Any:
    """A `wia_tensor_t[]` of the inputs of an operation that takes a list of them."""
    given = type(inputs).__qualname__
    if isinstance(inputs, Sequence):
        try:
            return ffi.new("wia_tensor_t[]", [tensor._handle for tensor in inputs])
        except (AttributeError, TypeError):
            given += f" of {', '.join(type(item).__qualname__ for item in inputs)}"
    raise ArgumentTypeError(f"{op} was given a {given} as inputs; expected a list of wia.Tensor.")


@cache
def _struct(config: str) -> tuple[Any, int]:
    """The pointer type of a struct, and its size."""
    return ffi.typeof(f"{config} *"), ffi.sizeof(config)


def make_config(config: str, counts: Mapping[str, str], **fields: Any) -> Any:
    """A config struct. ``counts`` names the field that has the length of a list, by the list.

    A value that its field can't hold raises InvalidArgumentError.
    """
    pointer, size = _struct(config)
    fields["struct_size"] = size
    for name, count in counts.items():
        fields[count] = len(fields[name])
    try:
        return ffi.new(pointer, fields)
    except (IndexError, OverflowError) as error:
        del fields["struct_size"]
        raise InvalidArgumentError(f"{config} can't hold {fields}: {error}.") from None


def need_out(op: str, scalar: str, value: float) -> None:
    """Raises if the output is to be read first, which a new tensor can't be."""
    if value != 0:
        raise InvalidArgumentError(
            f"{op} was given {scalar}={value!r} without out; expected out, whose elements are "
            f"multiplied by {scalar}, or {scalar}=0."
        )


def refuse_both(op: str, name: str, value: object, out: object) -> None:
    """Raises if an argument that describes the output comes together with an output."""
    if value is not None and out is not None:
        raise InvalidArgumentError(
            f"{op} was given both {name} and out; expected one of them: out has a {name} already."
        )


def explain(error: Exception, function: str, required: int, **operands: object) -> NoReturn:
    """Raises the error for a call in which ``error`` rose because an operand is of another type.

    The first ``required`` operands can't be None. An error of another origin is raised again.
    """
    from wia._stream import Stream
    from wia._tensor import Tensor

    if isinstance(error, WiaError):
        raise error
    for position, (name, value) in enumerate(operands.items()):
        expected = Stream if name == "stream" else Tensor
        if isinstance(value, expected) or (value is None and position >= required):
            continue
        advice = (
            " ctx.tensor(...) makes one of it." if expected is Tensor and value is not None else ""
        )
        given = (
            "None" if value is None else f"a {type(value).__module__}.{type(value).__qualname__}"
        )
        raise ArgumentTypeError(
            f"{function} was given {given} as {name}; expected a wia.{expected.__name__}.{advice}",
            function=function,
        ) from None
    raise error


def _wrong_type(op: str, name: str, value: object, expected: str) -> ArgumentTypeError:
    return ArgumentTypeError(f"{op} was given {name}={value!r}; expected {expected}.")
