"""Gradients of what moves elements."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

PROGRAMS: dict[str, str] = {
    # -- moves -------------------------------------------------------------------------------------
    "broadcast": "d_input = sum_to(grad, shape=shape(input))",
    "reshape": "d_input = reshape(grad, shape=shape(input))",
    "transpose": "d_input = transpose(grad, perm=inverse(perm))",
    "copy": "d_input = copy(grad)",
    "cast": "d_input = cast(grad, dtype=dtype(input))",
    "gather": "d_input = gather_gradient(grad, indices, shape=shape(input), axis=axis)",
}
