"""Running the semantics of an entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._model import Operation, Values


def evaluate(
    np: Any, operation: Operation, inputs: Sequence[Any], values: Values, before: Any = None
) -> Any:
    """The output for numpy inputs (None where left out), in its dtype.

    ``values`` has every attribute and scalar: see Operation.defaults(). Dtypes in it are numpy's.
    ``before`` is the output as it was, for operations that may read it; it is not written to.
    Raises ScalarError for scalars that the dtype can't take.
    """
    read_with = operation.output.read_with
    more = {operation.output.name: before} if read_with and values[read_with] != 0 else {}
    with np.errstate(all="ignore"):
        return np.asarray(operation.semantics(np, *inputs, **values, **more))
