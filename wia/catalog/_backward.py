"""What the entries of gradients have in common."""

from __future__ import annotations

from typing import Any

from ._model import Operand, Tolerance

GRAD = Operand(name="grad", summary="The gradient of the output.")
SECOND = "it is a gradient, and second derivatives of this operation are not in the catalog"
"""Why some entries of gradients have none themselves."""


def summed(length: Any, magnitude: Any, what: str) -> Tolerance:
    """That of sums of what is added up, in any order."""
    return Tolerance(
        ulps=1.0,
        length=length,
        magnitude=magnitude,
        reason=f"Any order of summation: one rounding in the accumulator for each of {what} and "
        "two more, relative to the sum of absolute values, and one of the result.",
    )


def absolute(semantics: Any, *positions: int) -> Any:
    """The semantics of absolute values of some inputs."""

    def magnitude(np: Any, *inputs: Any, **values: Any) -> Any:
        arrays = [np.abs(a) if i in positions else a for i, a in enumerate(inputs)]
        return semantics(np, *arrays, **values)

    return magnitude
