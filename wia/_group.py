"""Groups: small graphs of operations, built value by value and prepared as one plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from wia import _views
from wia._attributes import find_operation, pack_attributes
from wia._dtype import dtype_code, numpy_dtype
from wia._errors import ArgumentTypeError, InvalidArgumentError, check
from wia._explain import checked, explains_methods
from wia._native import NULL, ffi, lib, new_struct
from wia._plan import Plan, adopt
from wia._scalar import Scalar
from wia._tensor import Tensor, shape_of

if TYPE_CHECKING:
    import numpy as np

    from wia._context import Context

__all__ = ["Builder", "Group", "Value", "places_of"]

_LEFT_OUT = 0xFFFFFFFF


class Builder(Protocol):
    """What values are added to: a group, or the call whose gradient a function gives."""

    _values: list[Value]

    def apply(self, op: str | int, inputs: Sequence[Value | None], /) -> Value:
        """Adds a node; the value of its first output."""


class Value:
    """What a node of a group writes, or an input of the group: a dtype and a shape, no memory.

    Operators add nodes: a + b, a - b, a * b, a / b, a @ b, -a.
    """

    __slots__ = ("_code", "_group", "_index", "_shape", "_strides")

    def __init__(
        self, group: Builder, code: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> None:
        self._group = group
        self._code = code
        self._shape = shape
        self._strides = strides
        self._index = len(group._values)
        group._values.append(self)

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each dimension."""
        return self._shape

    @property
    def strides(self) -> tuple[int, ...]:
        """The distance of neighbours in each dimension, in elements."""
        return self._strides

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type as an object of numpy or ml_dtypes."""
        return numpy_dtype(self._code)

    def __add__(self, other: Value) -> Value:
        return self._group.apply("add", [self, other])

    def __sub__(self, other: Value) -> Value:
        return self._group.apply("sub", [self, other])

    def __mul__(self, other: Value) -> Value:
        return self._group.apply("mul", [self, other])

    def __truediv__(self, other: Value) -> Value:
        return self._group.apply("div", [self, other])

    def __matmul__(self, other: Value) -> Value:
        return self._group.apply("matmul", [self, other])

    def __neg__(self) -> Value:
        return self._group.apply("neg", [self])

    def __repr__(self) -> str:
        return f"wia.Value({self._index}, {self.dtype.name}, {list(self._shape)})"


@explains_methods
class Group:
    """A small graph of operations, which becomes one plan: ctx.group() makes an empty one.

    The driver may compute it by one kernel, without memory for what lies between the nodes. Where
    it has none for the whole, the library runs a kernel for each node, in one call.

    >>> import wia
    >>> with wia.Context("reference") as ctx:
    ...     group = ctx.group()
    ...     x, w, b = group.input((1, 2)), group.input((2, 2)), group.input(2)
    ...     y = group.apply("relu", [x @ w + b])
    ...     out = ctx.empty(y.shape)
    ...     with group.plan(y) as plan:
    ...         plan(ctx.full((1, 2), 3), ctx.full((2, 2), 1), ctx.tensor([-9.0, 1.0]), out)
    ...     out.tolist()
    [[0.0, 7.0]]
    """

    __slots__ = ("_context", "_inputs", "_nodes", "_scalars", "_values")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._values: list[Value] = []
        self._inputs: list[Value] = []
        self._scalars: dict[str, Scalar] = {}
        self._nodes: list[
            tuple[Any, str, list[int], tuple[Value, ...], dict[str, object], str]
        ] = []

    def input(self, like: Tensor | int | Sequence[int], dtype: object = None) -> Value:
        """An input of the group, in the order of a launch: row-major of a shape, or as a tensor.

        dtype is float32 when a shape is given without one. A tensor gives its dtype, shape and
        strides; the plan is made for those, and for any tensor that has them.
        """
        if isinstance(like, Tensor):
            if dtype is not None:
                raise ArgumentTypeError("A tensor and a dtype were given; a tensor has its own.")
            value = Value(self, like._code, like.shape, like.strides)
        else:
            shape = shape_of(like)
            code = dtype_code("float32" if dtype is None else dtype)
            value = Value(self, code, shape, _views.row_major(shape))
        self._inputs.append(value)
        return value

    @checked
    def scalar(self, name: str, value: float) -> Scalar:
        """A number that each launch may give by this name, and that is `value` where it doesn't.

        It is given to apply() for what the catalog calls scalars (alpha, epsilon), to any number of
        nodes.
        """
        if name in self._scalars:
            raise InvalidArgumentError(f"The group has a scalar {name!r} already.")
        self._scalars[name] = Scalar(name, float(value), len(self._scalars))
        return self._scalars[name]

    def apply(
        self,
        op: str | int,
        inputs: Sequence[Value | None],
        *,
        source: str = "",
        **attributes: object,
    ) -> Value:
        """Adds a node, and returns what it writes: row-major, in the shape of the operation's rule.

        Of an operation with several outputs it is the first; apply_all() gives all of them. None is
        an input that is left out. `source` says where the node comes from, in errors.
        Raises what a call of the operation would raise for these shapes, dtypes and attributes.
        """
        return self.apply_all(op, inputs, source=source, **attributes)[0]

    @checked
    def apply_all(
        self,
        op: str | int,
        inputs: Sequence[Value | None],
        *,
        source: str = "",
        **attributes: object,
    ) -> tuple[Value, ...]:
        """The same, and returns all outputs of the node."""
        places = places_of(self, inputs)
        entry = find_operation(op)
        fixed = {k: v for k, v in attributes.items() if not isinstance(v, Scalar)}
        known = [item.name for item in entry.scalars]
        for name, scalar in attributes.items():
            if not isinstance(scalar, Scalar):
                continue
            if self._scalars.get(scalar.name) is not scalar or name not in known:
                raise InvalidArgumentError(
                    f"{entry.name} was given {name}={scalar!r}; expected a scalar of this group, "
                    f"for one of {', '.join(known) or 'no names: it has no scalars'}."
                )
        described = self._context._infer(entry.number, inputs, fixed)
        values = tuple(
            Value(self, code, shape, _views.row_major(shape)) for shape, code in described
        )
        self._nodes.append((entry, entry.name, places, values, attributes, source))
        return values

    def plan(self, *outputs: Value, in_place: Mapping[Value, Value] | None = None) -> Plan:
        """Prepares the group. A launch takes its inputs in their order, then these outputs.

        `in_place` maps an output to the input whose memory it has in each launch. Raises
        UnimplementedError, naming the node, where the driver lacks one.
        """
        built = _Built(self, outputs, in_place or {})
        out = ffi.new("wia_plan_t **")
        check(lib.wia_create_plan(self._context._handle, built.group, out))
        name = ", ".join(node[1] for node in self._nodes)
        defaults = {scalar.name: scalar.value for scalar in self._scalars.values()}
        return adopt(out[0], name, len(self._inputs), len(outputs), defaults)

    def __repr__(self) -> str:
        return f"wia.Group({', '.join(node[1] for node in self._nodes) or 'no nodes'})"


def places_of(builder: Builder, inputs: Sequence[Value | None]) -> list[int]:
    """The numbers of values that are inputs of a node. Raises ArgumentTypeError for others."""
    for value in inputs:
        if value is not None and (not isinstance(value, Value) or value._group is not builder):
            raise ArgumentTypeError(
                f"{value!r} was given as an input of a node; expected a value of this "
                f"{'group' if isinstance(builder, Group) else 'call'}, or None."
            )
    return [_LEFT_OUT if value is None else value._index for value in inputs]


class _Built:
    """The `wia_group_t` of a group, with all that it points to."""

    def __init__(
        self, group: Group, outputs: Sequence[Value], in_place: Mapping[Value, Value]
    ) -> None:
        self._kept: list[Any] = []
        for value in (*outputs, *in_place, *in_place.values()):
            if not isinstance(value, Value) or value._group is not group:
                raise ArgumentTypeError(f"{value!r} was given; expected a value of this group.")
        aliases = {}
        for value, to in in_place.items():
            if value not in outputs or to not in group._inputs:
                raise InvalidArgumentError(
                    f"{value!r} was to have the memory of {to!r}; expected an output of the plan "
                    "and an input of the group."
                )
            aliases[value._index] = group._inputs.index(to)
        values = [self._value(value, aliases.get(value._index, -1)) for value in group._values]
        nodes = [self._node(*node) for node in group._nodes]
        inputs = [value._index for value in group._inputs]
        self.group = new_struct(
            "wia_group_t",
            node_count=len(nodes),
            nodes=self._keep("const wia_node_t *[]", nodes),
            values=self._keep("const wia_value_t *[]", values),
            inputs=self._keep("uint32_t[]", inputs),
            outputs=self._keep("uint32_t[]", [value._index for value in outputs]),
            value_count=len(values),
            input_count=len(inputs),
            output_count=len(outputs),
            scalar_count=len(group._scalars),
        )

    def _keep(self, kind: str, given: object) -> Any:
        self._kept.append(ffi.new(kind, given))
        return self._kept[-1]

    def _value(self, value: Value, alias: int) -> Any:
        layout = new_struct(
            "wia_tensor_layout_t",
            dtype=value._code,
            rank=len(value._shape),
            shape=self._keep("int64_t[]", value._shape),
            strides=self._keep("int64_t[]", value._strides),
        )
        made = new_struct("wia_value_t", layout=layout, alias=alias)
        self._kept += [layout, made]
        return made

    def _node(
        self,
        entry: Any,
        name: str,
        places: list[int],
        values: tuple[Value, ...],
        attributes: dict[str, object],
        source: str,
    ) -> Any:
        packed, count, kept = pack_attributes(entry, attributes)
        made = new_struct(
            "wia_node_t",
            op=entry.number,
            op_name=self._keep("char[]", name.encode()),
            attributes=packed,
            inputs=self._keep("uint32_t[]", places),
            outputs=self._keep("uint32_t[]", [value._index for value in values]),
            attribute_count=count,
            input_count=len(places),
            output_count=len(values),
            source=self._keep("char[]", source.encode("utf-8", "replace")) if source else NULL,
        )
        self._kept += [kept, made]
        return made
