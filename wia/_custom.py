"""Operations of a program's own: one more entry of the catalog each, kernels for any driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wia._callbacks import callback
from wia._custom_define import Differentiate, Infer, define, dtype_mask, kept
from wia._errors import ArgumentTypeError, InvalidArgumentError, check
from wia._explain import checked, explains_methods
from wia._native import NULL, ffi, lib, new_struct

if TYPE_CHECKING:
    import inspect

    from wia._context import Context
    from wia._stream import Stream
    from wia._tensor import Tensor
    from wia.catalog import Operation
    from wia.catalog._model import Attribute
    from wia.driver import Node

__all__ = ["Op", "op"]

_LIST = 8
_KINDS = {bool: "bool", int: "int", float: "float"}
_INT64_MIN = -(2**63)


Prepare = Callable[["Node"], object]


@explains_methods
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
            dtypes=dtype_mask(self.name, dtypes or ()),
        )
        name = NULL if device is None else device.encode("utf-8", "replace")
        entry = ffi.addressof(lib, "wia__gate_prepare_kernel")
        check(lib.wia_register_kernel(self.number, name, entry, handle, config))
        kept.append(handle)

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


@checked
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
        made = Op(define(entry, infer, gradient), function)
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


# -- what the library calls ------------------------------------------------------------------------


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
