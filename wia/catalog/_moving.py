"""Entries of operations that move elements, and the attributes that they have."""

from __future__ import annotations

from typing import Any

from ._cost import moves_only
from ._forms import COPIED, INPUT, numbers
from ._model import ANY, INT32_MAX, Attribute, Choice, Operation


def moving(
    number: int, name: str, semantics: Any, *, attributes: tuple[Attribute, ...] = (), **more: Any
) -> Operation:
    """An entry; the family is the name, and every dtype of whole bytes is taken, unless said."""
    if "output" in more:
        more["outputs"] = (more.pop("output"),)
    given: dict[str, Any] = {
        "inputs": (INPUT,),
        "family": name,
        "dtypes": ANY,
        "tolerance": COPIED,
        "flops": moves_only,
        "attributes": attributes,
        **more,
    }
    if any(item.field for item in attributes) or "scalars" in more:
        given.setdefault("config", f"wia_{name}_config_t")
    return Operation(number=number, name=name, semantics=semantics, **given)


def axes(summary: str, **more: Any) -> Attribute:
    """An attribute that names dimensions."""
    given: dict[str, Any] = {"field": "int32_t", "minimum": -8, "maximum": 7, **more}
    return numbers("axes", summary, "axis_count", **given)


def count(name: str, summary: str, default: int, minimum: int = 1) -> Attribute:
    """An attribute that is a number of things."""
    return Attribute(
        name=name,
        summary=summary,
        default=default,
        minimum=minimum,
        maximum=INT32_MAX,
        field="int64_t",
    )


def floats(name: str, summary: str, length_field: str, **more: Any) -> Attribute:
    """An attribute that is a list of numbers, of up to a tensor's rank unless said."""
    return numbers(name, summary, length_field, kind="float", field="double", minimum=None, **more)


def real(name: str, summary: str, default: float, **more: Any) -> Attribute:
    """An attribute that is a number."""
    return Attribute(
        name=name, summary=summary, default=default, kind="float", field="double", **more
    )


def choice(name: str, summary: str, enum: str, **choices: str) -> Attribute:
    """An attribute with names; the first one is the default."""
    return Attribute(
        name=name,
        summary=summary,
        default=0,
        maximum=len(choices) - 1,
        enum=enum,
        choices=tuple(
            Choice(name=key.upper(), value=value, summary=text)
            for value, (key, text) in enumerate(choices.items())
        ),
    )
