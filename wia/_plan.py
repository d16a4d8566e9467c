"""Plans: kernels prepared once for layouts, and run many times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wia._attributes import find_operation, pack_attributes
from wia._errors import InvalidArgumentError, check, raise_last_error
from wia._native import NULL, ffi, lib, new_struct, text
from wia._resource import Resource, destroyer
from wia._tensor import Tensor, handles

if TYPE_CHECKING:
    from wia._context import Context
    from wia._stream import Stream

__all__ = ["Plan"]


class Plan(Resource):
    """One operation, prepared for the layouts of these tensors and for which of them are the same.

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

    __slots__ = ("_input_count", "_left_out", "_operand_count", "_scalars", "op")
    _destroy = destroyer("plan")

    def __init__(
        self,
        context: Context,
        op: str | int,
        inputs: Sequence[Tensor | None],
        outputs: Sequence[Tensor],
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
        super().__init__(out[0])
        self.op = entry.name
        # A plan of the library has all inputs of the catalog; here a short list is filled up.
        self._input_count = len(inputs)
        self._operand_count = len(inputs) + len(outputs)
        self._left_out = (None,) * (entry.most - len(inputs))
        self._scalars = {
            scalar.name: attributes.get(scalar.name, scalar.default) for scalar in entry.scalars
        }

    def __call__(
        self, *operands: Tensor | None, stream: Stream | None = None, **scalars: float
    ) -> None:
        """Runs it on inputs, then outputs, as many as the plan was made with.

        Scalars not given have the value of the plan.
        """
        if self._left_out and len(operands) == self._operand_count:
            n = self._input_count
            operands = (*operands[:n], *self._left_out, *operands[n:])
        values, count = NULL, 0
        if scalars:
            unknown = scalars.keys() - self._scalars.keys()
            if unknown:
                raise InvalidArgumentError(
                    f"The plan of {self.op} was given {', '.join(sorted(unknown))}; its scalars "
                    f"are {', '.join(self._scalars) or 'none'}."
                )
            merged = self._scalars | scalars
            count = len(merged)
            values = ffi.new("wia_scalar_t[]", [{"f64": value} for value in merged.values()])
        status = lib.wia_execute_plan(
            self._handle,
            handles(operands),
            len(operands),
            values,
            count,
            NULL if stream is None else stream._handle,
        )
        if status:
            raise_last_error(status)

    @property
    def name(self) -> str:
        """The name of the kernel, as profiles show it."""
        info = new_struct("wia_plan_info_t")
        check(lib.wia_get_plan_info(self._handle, info))
        return text(info.name)

    @property
    def workspace_size(self) -> int:
        """Bytes of scratch memory that each launch takes."""
        info = new_struct("wia_plan_info_t")
        check(lib.wia_get_plan_info(self._handle, info))
        return int(info.workspace_size)

    def __repr__(self) -> str:
        return f"wia.Plan({self.op!r}{', closed' if self.closed else ''})"
