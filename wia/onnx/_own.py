"""Operators of other domains: nodes that run an operation which a program has registered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from wia._attributes import find_operation
from wia._custom import Op
from wia._errors import AlreadyExistsError, InvalidArgumentError
from wia.catalog import REGISTERED
from wia.onnx._errors import UnsupportedError

if TYPE_CHECKING:
    from wia.catalog import Operation
    from wia.onnx._call import Call, Lowering, Result
    from wia.onnx._graph import Node

__all__ = ["find_own", "register"]

_registered: dict[tuple[str, str], Lowering] = {}


def register(
    domain: str, op_type: str, op: Op | str, *, attributes: Mapping[str, str] | None = None
) -> None:
    """Has nodes of an operator of another domain run an operation, for all models from now on.

    `op` is what `@wia.op` gave, or the name of any operation. Inputs and outputs are those of the
    operation in its order, and so are attributes by their names; `attributes` has the names that
    the operator gives to some of them instead. A node with one that the operation doesn't have is
    UnsupportedError when it runs. An operation "domain::op_type" needs no call of this function.
    Raises NotFoundError for an operation that is none, InvalidArgumentError for a domain of ONNX
    itself or an attribute that the operation doesn't have, AlreadyExistsError for an operator that
    is registered.

    >>> import wia, wia.onnx
    >>> @wia.op("docs::halve")
    ... def halve(x):
    ...     return x / 2
    >>> wia.onnx.register("com.example", "Halve", halve)
    """
    name = op.name if isinstance(op, Op) else op
    entry = find_operation(name)
    if domain in ("", "ai.onnx") or domain.startswith("ai.onnx."):
        raise InvalidArgumentError(
            f"{op_type} was given for the domain {domain or 'ai.onnx'!r}; expected another domain "
            "than those of ONNX, whose operators are WIA's own."
        )
    known = _names(entry)
    names = dict(attributes or {})
    unknown = sorted(set(names.values()) - set(known))
    if unknown:
        raise InvalidArgumentError(
            f"attributes has {', '.join(unknown)}; {name} has {', '.join(known) or 'none'}."
        )
    if (domain, op_type) in _registered:
        raise AlreadyExistsError(f"The operator {domain}.{op_type} is registered already.")
    _registered[domain, op_type] = _lowering(name, names, frozenset(known))


def find_own(node: Node) -> Lowering | None:
    """What was registered for the operator of a node, None where nothing was."""
    found = _registered.get((node.domain, node.op))
    if found is None and f"{node.domain}::{node.op}" in REGISTERED:
        entry = REGISTERED[f"{node.domain}::{node.op}"]
        return _lowering(entry.name, {}, frozenset(_names(entry)))
    return found


def _names(entry: Operation) -> list[str]:
    return [item.name for item in entry.attributes] + [item.name for item in entry.scalars]


def _lowering(name: str, names: Mapping[str, str], known: frozenset[str]) -> Lowering:
    def lower(call: Call) -> Result:
        values = {names.get(key, key): value for key, value in call.attributes.items()}
        unknown = sorted(values.keys() - known)
        if unknown:
            raise UnsupportedError(
                f"the node has the attribute {', '.join(unknown)}; {name} has "
                f"{', '.join(sorted(known)) or 'none'}"
            )
        inputs = [call.get(i) for i in range(len(call.inputs))]
        return call.ops(name, *inputs, count=max(call.wanted, 1), **values)

    return lower
