"""Gradients: what ran is written down, and gone through backwards."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from wia._errors import (
    ArgumentTypeError,
    FailedPreconditionError,
    InvalidArgumentError,
    UnimplementedError,
)
from wia._explain import checked, explains_methods
from wia._gradient import Gradient

if TYPE_CHECKING:
    from wia._tensor import Tensor

__all__ = ["Tape", "grad", "record", "record_view", "tapes"]

tapes: list[Tape] = []
"""Those that are recording, of any thread; calls look whether there is one."""

_FLOATS = ("float64", "float32", "float16", "bfloat16")


class _Call(NamedTuple):
    """An operation that ran; ``op`` is "" for a view, through which no gradient goes."""

    op: str
    inputs: tuple[Tensor | None, ...]
    values: Mapping[str, object]
    outputs: tuple[Tensor | None, ...]


def record(
    op: str,
    inputs: Sequence[Tensor | None],
    values: Mapping[str, object],
    outputs: Sequence[Tensor | None],
) -> None:
    """Writes a call down on the tapes of this thread."""
    call = _Call(op, tuple(inputs), values, tuple(outputs))
    for tape in tapes:
        tape._add(call)


def record_view(base: Tensor, view: Tensor) -> None:
    """Writes down that a tensor is seen in another way, without an operation."""
    record("", (base,), {}, (view,))


@explains_methods
class Tape:
    """Writes down the operations that its thread runs inside the with statement.

    gradient() then goes back through them. Its own operations run on the device of the tensors and
    are those of the catalog: the page of each operation tells its gradient. Views (t[1:], t.T,
    t.reshape) are no operations: use slice, transpose and reshape of the context. Recorded tensors
    are kept until the tape is gone, and must not be written to before that.

    >>> import wia
    >>> with wia.Context("reference") as ctx, wia.Tape() as tape:
    ...     x = ctx.tensor([1.0, 2.0, 3.0])
    ...     loss = ctx.reduce_sum(x * x)
    ...     [dx] = tape.gradient(loss, [x])
    ...     dx.tolist()
    [2.0, 4.0, 6.0]
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._made: set[int] = set()
        self._used: set[int] = set()
        self._thread = 0
        self._paused = False

    def __enter__(self) -> Tape:
        self._thread = threading.get_ident()
        tapes.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        tapes.remove(self)

    def _add(self, call: _Call) -> None:
        if self._paused or threading.get_ident() != self._thread:
            return
        known = self._made | self._used
        for output in call.outputs:
            if id(output) in known:
                raise FailedPreconditionError(
                    f"{call.op} wrote to a tensor that a tape has recorded, so gradients through "
                    "it would be wrong; give another out, or none."
                )
        self._calls.append(call)
        self._made.update(id(output) for output in call.outputs if output is not None)
        self._used.update(id(tensor) for tensor in call.inputs if tensor is not None)

    @checked
    def gradient(
        self, target: Tensor, sources: Sequence[Tensor], *, seed: Tensor | None = None
    ) -> list[Tensor]:
        """The gradients of a tensor by each source, in the shape of the source.

        That of a tensor of several elements is that of their sum, or with ``seed``, which has the
        shape of target, of their sum weighted with it. A source that target doesn't depend on has
        the gradient 0. Raises UnimplementedError, with the reason, where an operation in between
        has no gradient or the device no kernel, InvalidArgumentError for a target or source that
        isn't a float.
        """
        for tensor in (target, *sources):
            _check_float(tensor)
        self._paused = True
        try:
            return self._go_back(target, sources, seed)
        finally:
            self._paused = False

    def _go_back(
        self, target: Tensor, sources: Sequence[Tensor], seed: Tensor | None
    ) -> list[Tensor]:
        ctx = target.context
        wanted = {id(source) for source in sources}
        for call in self._calls:
            if any(id(tensor) in wanted for tensor in call.inputs):
                wanted.update(id(t) for t in call.outputs if t is not None and _is_float(t))
        start = seed if seed is not None else ctx.full(target.shape, 1, target.dtype)
        found: dict[int, Tensor] = {id(target): start}
        for call in reversed(self._calls):
            grads = [None if t is None else found.get(id(t)) for t in call.outputs]
            places = [i for i, t in enumerate(call.inputs) if t is not None and id(t) in wanted]
            if not places or all(grad is None for grad in grads):
                continue
            for place, part in zip(places, _run_backward(call, grads, places), strict=True):
                key = id(call.inputs[place])
                found[key] = ctx.add(found[key], part) if key in found else part
        return [
            found[id(source)] if id(source) in found else ctx.zeros(source.shape, source.dtype)
            for source in sources
        ]


@checked
def grad(function: Callable[..., Tensor]) -> Callable[..., list[Tensor]]:
    """The function that gives the gradients of ``function`` by each of its arguments, tensors.

    >>> import wia
    >>> with wia.Context("reference") as ctx:
    ...     [dx] = wia.grad(lambda x: ctx.exp(x))(ctx.tensor([0.0]))
    ...     dx.tolist()
    [1.0]
    """

    def gradients(*arguments: Tensor) -> list[Tensor]:
        with Tape() as tape:
            target = function(*arguments)
        return tape.gradient(target, arguments)

    return gradients


def _is_float(tensor: Tensor) -> bool:
    return tensor.dtype.name in _FLOATS


def _check_float(tensor: object) -> None:
    from wia._tensor import Tensor

    if not isinstance(tensor, Tensor):
        raise ArgumentTypeError(
            f"{type(tensor).__qualname__} was given to gradient(); expected a wia.Tensor."
        )
    if not _is_float(tensor):
        raise InvalidArgumentError(
            f"A tensor of {tensor.dtype} was given to gradient(); expected one of "
            f"{', '.join(_FLOATS)}."
        )


# -- one operation ---------------------------------------------------------------------------------


def _run_backward(
    call: _Call, grads: Sequence[Tensor | None], places: Sequence[int]
) -> list[Tensor]:
    """The gradients of some inputs of a call, from those of its outputs."""
    if not call.op:
        raise UnimplementedError(
            "A gradient goes through a view, such as t[1:] or t.T, which a tape can't follow; use "
            "slice, transpose, reshape or broadcast of the context."
        )
    with Gradient(call.op, call.inputs, call.outputs, call.values, places, grads) as gradient:
        return gradient.run(call.inputs, call.outputs, grads)
