"""Operations of a program's own: one more entry of the catalog each, kernels for any driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from wia._callbacks import callback
from wia._dtype import CODES, NAMES
from wia._errors import ArgumentTypeError, InvalidArgumentError, check
from wia._native import NULL, ffi, lib, new_struct

if TYPE_CHECKING:
    import inspect

    from wia._context import Context
    from wia._custom_gradient import GradientCall
    from wia._group import Value
    from wia._stream import Stream
    from wia._tensor import Tensor
    from wia.catalog import Operation
    from wia.catalog._model import Attribute
    from wia.driver import Node

__all__ = ["Op", "TensorSpec", "op", "read_values"]

_LIST = 8
_KINDS = {bool: "bool", int: "int", float: "float"}
_INT64_MIN = -(2**63)


class TensorSpec(NamedTuple):
    """Shape and dtype, by name, of a tensor that need not be there."""

    shape: tuple[int, ...]
    dtype: str


Infer = Callable[..., TensorSpec | Sequence[TensorSpec]]
Prepare = Callable[["Node"], object]
Differentiate = Callable[["GradientCall"], "Value | Sequence[Value | None] | None"]


class Op:
    """An operation that `@wia.op` has registered. Calling it runs it on tensors.

    `name` is its identity, `number` holds for this process. `function` is what it computes.
    """

    def __init__(self, entry: Operation, function: Callable[..., Any]) -> None:
        self.entry = entry
        self.function = function
        self.name = entry.name
        self.number = entry.number
        self.__doc__ = function.__doc__

    def __call__(
        self,
        *inputs: Tensor | None,
        out: Sequence[Tensor | None] | Tensor | None = None,
        stream: Stream | None = None,
        **values: object,
    ) -> Any:
        """The output, or a tuple where there are several, in the context of the first tensor."""
        first = next((tensor for tensor in inputs if tensor is not None), None)
        if first is None:
            raise ArgumentTypeError(
                f"{self.name} was called without a tensor; use execute({self.name!r}, ...) of a "
                "context."
            )
        several = len(self.entry.outputs) > 1
        given = out if out is None or several else [out]
        made = first.context.execute(self.name, inputs, given, stream=stream, **values)  # type: ignore[arg-type]
        return tuple(made) if several else made[0]

    def kernel(
        self,
        device: str | None = None,
        *,
        dtypes: Iterable[str] | None = None,
        on_host: bool = True,
    ) -> Callable[[Prepare], Prepare]:
        """Marks a function that prepares kernels for a device, a driver, or, without one, for all.

        It takes a wia.driver.Node and returns what a kernel method of a driver does: a function on
        arrays, a Kernel, the address of compiled code, a NativeKernel; it may raise
        UnimplementedError. `dtypes`: only for these. `on_host`: kernels compute in host memory, to
        and from which the library copies where the device has memory of its own.
        Raises AlreadyExistsError for a second one for the same device and dtypes.
        """

        def register(prepare: Prepare) -> Prepare:
            self._register(prepare, device, dtypes, on_host)
            return prepare

        return register

    def _register(
        self, prepare: Prepare, device: str | None, dtypes: Iterable[str] | None, on_host: bool
    ) -> None:
        handle = ffi.new_handle(prepare)
        config = new_struct(
            "wia_kernel_config_t",
            flags=lib.WIA_KERNEL_ON_HOST if on_host else 0,
            dtypes=_mask(self.name, dtypes or ()),
        )
        name = NULL if device is None else device.encode("utf-8", "replace")
        entry = ffi.addressof(lib, "wia__gate_prepare_kernel")
        check(lib.wia_register_kernel(self.number, name, entry, handle, config))
        _kept.append(handle)

    def check(self, context: Context, *inputs: Any, ulps: float = 0.0, **values: Any) -> None:
        """Compares kernels of a device with the function, on these arrays, in several ways.

        Packed and with gaps between the elements, on a stream, and from a plan; `ulps` are the
        units in the last place by which results may differ from those of float64. Raises
        AssertionError telling the way and the first element that is wrong.
        """
        from wia._custom_check import check_op

        check_op(self, context, inputs, values, ulps)

    def check_gradient(
        self, context: Context, *inputs: Any, tolerance: float = 1e-3, **values: Any
    ) -> None:
        """Compares the gradient on a device with finite differences of the function in float64.

        At these arrays, by each input that is a float, for each output that is one; `tolerance` is
        relative where the gradient is above 1. Raises AssertionError naming the first element that
        is wrong, UnimplementedError where there is no gradient.
        """
        from wia._custom_check import check_gradient

        check_gradient(self, context, inputs, values, tolerance)

    def __repr__(self) -> str:
        return f"<wia.Op {self.name}>"


# What C code has the handle of lives as long as the process.
_kept: list[Any] = []


def op(
    name: str,
    *,
    infer: str | Infer = "same",
    dtypes: Iterable[str] = ("float64", "float32"),
    outputs: Sequence[str] = ("output",),
    scalars: Iterable[str] = (),
    input_dtypes: Mapping[str, Iterable[str]] | None = None,
    gradient: Differentiate | None = None,
) -> Callable[[Callable[..., Any]], Op]:
    """Registers an operation "vendor::name", which the function says what it computes.

    The function takes numpy arrays and returns one, or a tuple for several `outputs`. Its
    positional parameters are the inputs, those with the default None may be left out. Its
    keyword-only parameters are attributes, with a default each: a bool, an integer, a float, or a
    tuple of up to 8 numbers; those in `scalars`, floats, may change from launch to launch.
    `infer` is a shape rule: the name of a family of the catalog ("same", "elementwise", "reduce"
    ...), or a function that is called as `infer(*inputs, **attributes)` on TensorSpec (None for one
    that is left out) and returns one TensorSpec, or a list. `dtypes` are those of the first input;
    the other inputs have that of the first, or one of their own in `input_dtypes`.

    `gradient` is a function on a GradientCall that returns the gradient of each input, made of
    other operations; for one input it need be no list.

    On the device "reference" the function is the kernel; others get theirs with Op.kernel.
    Raises AlreadyExistsError for a name that is in use, InvalidArgumentError for a definition that
    the library refuses.

    >>> import wia
    >>> @wia.op("docs::double")
    ... def double(x):
    ...     return x + x
    >>> with wia.Context("reference") as ctx:
    ...     double(ctx.tensor([1.0, 2.0])).tolist()
    [2.0, 4.0]
    """

    def register(function: Callable[..., Any]) -> Op:
        own = {key: tuple(value) for key, value in (input_dtypes or {}).items()}
        entry = _describe(name, function, tuple(dtypes), tuple(outputs), frozenset(scalars), own)
        made = Op(_define(entry, infer, gradient), function)
        made.kernel("reference")(_Reference(made.entry))
        return made

    return register


# -- from a function to an entry of the catalog ----------------------------------------------------


def _describe(
    name: str,
    function: Callable[..., Any],
    dtypes: tuple[str, ...],
    outputs: tuple[str, ...],
    scalars: frozenset[str],
    own: Mapping[str, tuple[str, ...]],
) -> Operation:
    import inspect

    from wia.catalog import Operand, Operation, Scalar, Tolerance

    parameters = inspect.signature(function).parameters.values()
    inputs, attributes, found = [], [], []
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY:
            if parameter.name in scalars:
                found.append(Scalar(name=parameter.name, summary="", default=_float(parameter)))
            else:
                attributes.append(_attribute(name, parameter))
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            optional = parameter.default is None
            listed = own.get(parameter.name, ())
            inputs.append(
                Operand(name=parameter.name, summary="", optional=optional, dtypes=listed)
            )
        else:
            raise InvalidArgumentError(
                f"{name}: its function takes *{parameter.name}; expected inputs by name, and "
                "attributes behind a *."
            )
    missing = scalars - {item.name for item in found} | own.keys() - {i.name for i in inputs}
    if missing:
        raise InvalidArgumentError(f"{name}: the function has no {', '.join(sorted(missing))}.")
    return Operation(
        number=0,
        name=name,
        summary=inspect.getdoc(function) or "",
        formula="",
        inputs=tuple(inputs),
        outputs=tuple(Operand(name=item, summary="") for item in outputs),
        family="custom",
        dtypes=dtypes,
        semantics=lambda np, *arrays, **values: function(*arrays, **values),
        tolerance=Tolerance(),
        flops=lambda shapes, out, values: -1.0,
        samples=(),
        source=f"{function.__module__}.{function.__qualname__}",
        attributes=tuple(attributes),
        scalars=tuple(found),
    )


def _float(parameter: inspect.Parameter) -> float:
    if not isinstance(parameter.default, int | float):
        raise InvalidArgumentError(
            f"The scalar {parameter.name} has the default {parameter.default!r}; expected a number."
        )
    return float(parameter.default)


def _attribute(op: str, parameter: inspect.Parameter) -> Attribute:
    from wia.catalog import Attribute

    default = parameter.default
    items = default if isinstance(default, tuple) else (default,)
    # An empty list is one of integers; a list with a float in it is one of floats.
    kinds = {type(item) for item in items} or {int}
    if not kinds <= _KINDS.keys() or (bool in kinds and len(items) > 1) or len(items) > _LIST:
        raise InvalidArgumentError(
            f"{op}: the attribute {parameter.name} has the default {default!r}; expected a bool, "
            f"an integer, a float, or a tuple of up to {_LIST} numbers."
        )
    kind = "float" if float in kinds else _KINDS[next(iter(kinds))]
    return Attribute(
        name=parameter.name,
        summary="",
        default=default,
        kind=kind,
        length=_LIST if isinstance(default, tuple) else 0,
        variable=isinstance(default, tuple),
        minimum=_INT64_MIN if kind == "int" else None,
        maximum=1 if kind == "bool" else None,
        field="",
    )


# -- from an entry to the library ------------------------------------------------------------------


def _mask(name: str, dtypes: Iterable[str]) -> int:
    given = tuple(dtypes)
    unknown = [item for item in given if item not in CODES]
    if unknown:
        raise InvalidArgumentError(
            f"{name} was given the dtypes {', '.join(map(repr, unknown))}; expected some of "
            f"{', '.join(CODES)}."
        )
    return sum(1 << CODES[item] for item in set(given))


class _Functions(NamedTuple):
    """What the library has the handle of, for its calls."""

    entry: Operation
    infer: str | Infer
    gradient: Differentiate | None


def _define(entry: Operation, infer: str | Infer, gradient: Differentiate | None) -> Operation:
    """Registers an entry, and puts it into the catalog under its number."""
    from dataclasses import replace

    from wia.catalog import REGISTERED

    kept: list[Any] = []

    def text(value: str) -> Any:
        kept.append(ffi.new("char[]", value.encode("utf-8", "replace")))
        return kept[-1]

    definition = new_struct("wia_op_definition_t")
    definition.name = text(entry.name)
    definition.documentation = text(entry.summary)
    definition.dtypes = _mask(entry.name, entry.dtypes)
    for field, listed in (("inputs", entry.inputs), ("outputs", entry.outputs)):
        operands = ffi.new("wia_operand_definition_t[]", len(listed) or 1)
        for made, operand in zip(operands, listed, strict=False):
            made.name = text(operand.name)
            made.dtypes = _mask(entry.name, operand.dtypes)
            made.flags = lib.WIA_OPERAND_OPTIONAL if operand.optional else 0
        kept.append(operands)
        setattr(definition, field, operands)
        setattr(definition, f"{field[:-1]}_count", len(listed))
    attributes = ffi.new("wia_attribute_definition_t[]", len(entry.attributes) or 1)
    for made, item in zip(attributes, entry.attributes, strict=False):
        _fill_attribute(made, item, kept)
        made.name = text(item.name)
    numbers = ffi.new("wia_attribute_definition_t[]", len(entry.scalars) or 1)
    for made, scalar in zip(numbers, entry.scalars, strict=False):
        kept.append(ffi.new("double *", scalar.default))
        made.type, made.defaults = lib.WIA_ATTRIBUTE_FLOAT64, kept[-1]
        made.name = text(scalar.name)
    definition.attributes, definition.attribute_count = attributes, len(entry.attributes)
    definition.scalars, definition.scalar_count = numbers, len(entry.scalars)
    if isinstance(infer, str):
        definition.family = text(infer)
    else:
        definition.infer = ffi.addressof(lib, "wia__gate_infer")
    if gradient is not None:
        from wia import _custom_gradient  # has the Python side of it

        definition.gradient = ffi.addressof(lib, _custom_gradient.GATE)
    handle = ffi.new_handle(_Functions(entry, infer, gradient))
    definition.context = handle
    _kept.append(handle)
    number = ffi.new("wia_op_t *")
    check(lib.wia_register_op(definition, number))
    made_entry = replace(
        entry, number=number[0], family=infer if isinstance(infer, str) else entry.family
    )
    REGISTERED[entry.name] = made_entry
    return made_entry


def _fill_attribute(made: Any, item: Attribute, kept: list[Any]) -> None:
    is_float = item.kind == "float"
    values = item.default if isinstance(item.default, tuple) else (item.default,)
    # One element at least, so that an empty list is a list, and not one that is not given.
    data = ffi.new("double[]" if is_float else "int64_t[]", [*values, 0])
    kept.append(data)
    made.defaults = data
    made.type = lib.WIA_ATTRIBUTE_FLOAT64 if is_float else lib.WIA_ATTRIBUTE_INT64
    made.count = max(item.length, 1)
    if item.variable:
        made.flags = lib.WIA_ATTRIBUTE_LIST
        made.default_count = len(values)
    if item.kind == "bool":
        made.maximum.i64 = 1


# -- what the library calls ------------------------------------------------------------------------


def _spec(shape: Any) -> TensorSpec | None:
    if shape.dtype == 0:
        return None
    return TensorSpec(tuple(shape.shape[0 : shape.rank]), NAMES[shape.dtype])


def read_values(entry: Operation, attributes: Any) -> dict[str, Any]:
    """Attributes by name, from what a function of the operation is given."""
    values: dict[str, Any] = {}
    for i, item in enumerate(entry.attributes):
        given = attributes[i]
        kind = "double *" if item.kind == "float" else "int64_t *"
        data = ffi.unpack(ffi.cast(kind, given.data), given.count) if given.count else []
        one = tuple(data) if item.variable else data[0]
        values[item.name] = bool(one) if item.kind == "bool" else one
    return values


@callback("infer")
def _infer(context: Any, args: Any, out_shapes: Any, out_error: Any) -> int:
    functions = ffi.from_handle(context)
    inputs = [_spec(args.inputs[i]) for i in range(args.input_count)]
    said = functions.infer(*inputs, **read_values(functions.entry, args.attributes))
    specs = [said] if isinstance(said, TensorSpec) else list(said)
    if len(specs) != args.output_count or not all(isinstance(item, TensorSpec) for item in specs):
        raise InvalidArgumentError(
            f"its shape function returned {said!r}; expected {args.output_count} of wia.TensorSpec"
        )
    for out, spec in zip(out_shapes[0 : len(specs)], specs, strict=True):
        if spec.dtype not in CODES or len(spec.shape) > len(out.shape):
            raise InvalidArgumentError(
                f"its shape function returned {spec}; expected a dtype by name, and at most "
                f"{len(out.shape)} dimensions"
            )
        out.dtype, out.rank = CODES[spec.dtype], len(spec.shape)
        out.shape[0 : len(spec.shape)] = list(map(int, spec.shape))
    return 0


@callback("prepare_kernel")
def _prepare_kernel(
    context: Any, device_id: int, request: Any, out_kernel: Any, out_error: Any
) -> int:
    from wia.driver._driver import as_kernel
    from wia.driver._node import Group
    from wia.driver._table import give_kernel

    group = Group(request)
    node = group.nodes[0]
    kernel = as_kernel(ffi.from_handle(context)(node))
    node.attributes.refuse_ignored(node.op)
    give_kernel(out_kernel, kernel, group)
    return 0


class _Reference:
    """Prepares the function of an operation as kernel."""

    def __init__(self, entry: Operation) -> None:
        self._entry = entry

    def __call__(self, node: Node) -> object:
        from wia.driver import Kernel

        entry, values, count = self._entry, dict(node.attributes), len(self._entry.outputs)

        def run(*operands: Any, **scalars: float) -> None:
            import numpy as np

            from wia.catalog import evaluate

            arrays = operands[:-count]
            results = evaluate(np, entry, arrays, {**values, **scalars})
            if len(results) != count:
                raise InvalidArgumentError(
                    f"The function returned {len(results)} arrays; expected {count}."
                )
            made = [result.copy() if count > 1 else result for result in results]
            for name, output, result in zip(entry.outputs, operands[-count:], made, strict=True):
                if (result.shape, result.dtype) != (output.shape, output.dtype):
                    raise InvalidArgumentError(
                        f"The function gave {result.dtype} {list(result.shape)} for {name.name}; "
                        f"the shape rule says {output.dtype} {list(output.shape)}."
                    )
                output[...] = result

        return Kernel(run, any_shape=True, in_place=True, name=f"{entry.name} (function)")
