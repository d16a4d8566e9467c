"""Plans: kernels prepared once for layouts, and run many times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wia._attributes import find_operation, pack_attributes
from wia._call import quick_plan
from wia._errors import InvalidArgumentError, check, raise_last_error
from wia._explain import explained, explains_methods
from wia._native import NULL, ffi, lib, new_struct, text
from wia._resource import Resource, destroyer
from wia._tensor import Tensor, handles

if TYPE_CHECKING:
    from wia._context import Context
    from wia._stream import Stream

__all__ = ["Plan", "adopt"]


@explains_methods
class Plan(Resource):
    """One operation, prepared for the layouts of these tensors and for which of them are the same.

    Group.plan makes one for several operations.

    Calling it with operands of the same layouts runs the kernel. What the catalog calls scalars
    (alpha, epsilon) may be given anew with each call.

    >>> import wia
    >>> with wia.Context("reference") as ctx:
    ...     a, b, c = ctx.zeros(3), ctx.full(3, 2), ctx.empty(3)
    ...     with ctx.plan("add", [a, b], [c]) as plan:
    ...         plan(a, b, c)
    ...     c.tolist()
    [2.0, 2.0, 2.0]
    """

    __slots__ = (
        "_input_count",
        "_left_out",
        "_operand_count",
        "_outputs_left_out",
        "_scalar_count",
        "_scalars",
        "_values",
        "op",
    )
    _destroy = destroyer("plan")
    _scalar_count: int | None

    def __init__(
        self,
        context: Context,
        op: str | int,
        inputs: Sequence[Tensor | None],
        outputs: Sequence[Tensor | None],
        **attributes: object,
    ) -> None:
        """Prepares it. Raises UnimplementedError when the driver has no kernel for it."""
        entry = find_operation(op)
        packed, count, kept = pack_attributes(entry, attributes)
        out = ffi.new("wia_plan_t **")
        check(
            lib.wia_create_operation_plan(
                context._handle,
                entry.number,
                handles(inputs),
                len(inputs),
                handles(outputs),
                len(outputs),
                packed,
                count,
                out,
            )
        )
        del kept
        given = {name: value for name, value in attributes.items() if value is not None}
        scalars = {item.name: given.get(item.name, item.default) for item in entry.scalars}
        self._start(out[0], entry.name, len(inputs), len(outputs), scalars)
        # A plan of the library has all operands of the catalog; here short lists are filled up.
        self._left_out: tuple[None, ...] = (None,) * (entry.most - len(inputs))
        self._outputs_left_out: tuple[None, ...] = (None,) * (len(entry.outputs) - len(outputs))
        if self._left_out or self._outputs_left_out:
            self._scalar_count = None  # so that __call__ fills the operands up

    def _start(
        self,
        handle: Any,
        op: str,
        input_count: int,
        output_count: int,
        scalars: dict[str, Any],
    ) -> None:
        super().__init__(handle)
        self.op = op
        self._input_count = input_count
        self._operand_count = input_count + output_count
        self._left_out = ()
        self._outputs_left_out = ()
        self._scalars = scalars
        self._values = _pack(scalars)
        self._scalar_count = len(scalars)

    @quick_plan
    @explained
    def __call__(
        self, *operands: Tensor | None, stream: Stream | None = None, **scalars: float
    ) -> None:
        """Runs it on inputs, then outputs, as many as the plan was made with.

        Scalars not given have the value of the plan.
        """
        left_out, more = self._left_out, self._outputs_left_out
        if (left_out or more) and len(operands) == self._operand_count:
            n = self._input_count
            operands = (*operands[:n], *left_out, *operands[n:], *more)
        values = self._values
        if scalars:
            unknown = scalars.keys() - self._scalars.keys()
            if unknown:
                raise InvalidArgumentError(
                    f"The plan of {self.op} was given {', '.join(sorted(unknown))}; its scalars "
                    f"are {', '.join(self._scalars) or 'none'}."
                )
            values = _pack(self._scalars | scalars)
        queue = NULL if stream is None else stream._handle
        count, scalar_count = len(operands), len(self._scalars)
        # cffi makes an array of the list on the stack, which is half the time of ffi.new.
        try:
            given = [NULL if tensor is None else tensor._handle for tensor in operands]
            status = lib.wia_execute_plan(self._handle, given, count, values, scalar_count, queue)
        except (AttributeError, TypeError):
            handles(operands)  # says what is no tensor
            raise
        if status:
            raise_last_error(status)

    def _info(self) -> Any:
        info = new_struct("wia_plan_info_t")
        check(lib.wia_get_plan_info(self._handle, info))
        return info

    @property
    def name(self) -> str:
        """The name of the kernel, as profiles show it."""
        return text(self._info().name)

    @property
    def workspace_size(self) -> int:
        """Bytes of scratch memory that each launch takes."""
        return int(self._info().workspace_size)

    @property
    def kernel_count(self) -> int:
        """How many kernels a launch runs: more than 1 for a group that no one kernel computes."""
        return int(self._info().kernel_count)

    def __repr__(self) -> str:
        return f"wia.Plan({self.op!r}{', closed' if self.closed else ''})"


def adopt(
    handle: Any, op: str, input_count: int, output_count: int, scalars: dict[str, Any]
) -> Plan:
    """A plan of a `wia_plan_t *`, which it takes over, with the scalars that a launch gives."""
    plan = Plan.__new__(Plan)
    plan._start(handle, op, input_count, output_count, scalars)
    return plan


def _pack(scalars: dict[str, Any]) -> Any:
    if not scalars:
        return NULL
    return ffi.new("wia_scalar_t[]", [{"f64": value} for value in scalars.values()])
