"""Running the semantics of an entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._model import Operation, Values


def evaluate(
    np: Any,
    operation: Operation,
    inputs: Sequence[Any],
    values: Values,
    before: Sequence[Any] | None = None,
) -> tuple[Any, ...]:
    """All outputs for numpy inputs (None where left out), in their dtypes.

    ``values`` has every attribute and scalar: see Operation.defaults(). Dtypes in it are numpy's.
    ``before`` are the outputs as they were, for operations that may read them; they are not written
    to. Raises ScalarError for scalars that the dtype can't take, OperandError for elements that the
    operation can't.
    """
    more = read_outputs(operation, values, before)
    with np.errstate(all="ignore"):
        results = operation.semantics(np, *inputs, **values, **more)
    several = results if isinstance(results, tuple) else (results,)
    return tuple(np.asarray(result) for result in several)


def read_outputs(
    operation: Operation, values: Values, before: Sequence[Any] | None
) -> dict[str, Any]:
    """The outputs that a call reads first, by name."""
    if before is None:
        return {}
    return {operation.outputs[i].name: before[i] for i in operation.outputs_read(values)}
