"""Python's operators on tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wia._dtype import NAMES

if TYPE_CHECKING:
    from wia._context import Context
    from wia._tensor import Tensor

__all__ = ["Operators"]


class Operators:
    """What `a + b`, `a < 2`, `abs(a)` and the like mean: operations in the tensor's context."""

    __slots__ = ()
    _context: Context
    _code: int

    def _of_one(self, op: str) -> Tensor:
        result: Tensor = getattr(self._context, op)(self)
        return result

    def _of_two(self, op: str, other: object, *, swapped: bool = False) -> Tensor:
        """A Python number on the other side becomes a tensor of this dtype."""
        if isinstance(other, int | float) and not isinstance(other, bool):
            other = self._context.full((), other, NAMES[self._code])
        operands = (other, self) if swapped else (self, other)
        is_tensor = isinstance(other, Operators)
        result: Tensor = getattr(self._context, op)(*operands) if is_tensor else NotImplemented
        return result

    # -- arithmetic and bits ----------------------------------------------------------------------

    def __add__(self, other: Tensor | float) -> Tensor:
        return self._of_two("add", other)

    def __radd__(self, other: float) -> Tensor:
        return self._of_two("add", other, swapped=True)

    def __sub__(self, other: Tensor | float) -> Tensor:
        return self._of_two("sub", other)

    def __rsub__(self, other: float) -> Tensor:
        return self._of_two("sub", other, swapped=True)

    def __mul__(self, other: Tensor | float) -> Tensor:
        return self._of_two("mul", other)

    def __rmul__(self, other: float) -> Tensor:
        return self._of_two("mul", other, swapped=True)

    def __truediv__(self, other: Tensor | float) -> Tensor:
        return self._of_two("div", other)

    def __rtruediv__(self, other: float) -> Tensor:
        return self._of_two("div", other, swapped=True)

    def __floordiv__(self, other: Tensor | float) -> Tensor:
        return self._of_two("floor_div", other)

    def __rfloordiv__(self, other: float) -> Tensor:
        return self._of_two("floor_div", other, swapped=True)

    def __mod__(self, other: Tensor | float) -> Tensor:
        return self._of_two("mod", other)

    def __rmod__(self, other: float) -> Tensor:
        return self._of_two("mod", other, swapped=True)

    def __pow__(self, other: Tensor | float) -> Tensor:
        return self._of_two("pow", other)

    def __rpow__(self, other: float) -> Tensor:
        return self._of_two("pow", other, swapped=True)

    def __and__(self, other: Tensor | float) -> Tensor:
        return self._of_two("bitwise_and", other)

    def __rand__(self, other: float) -> Tensor:
        return self._of_two("bitwise_and", other, swapped=True)

    def __or__(self, other: Tensor | float) -> Tensor:
        return self._of_two("bitwise_or", other)

    def __ror__(self, other: float) -> Tensor:
        return self._of_two("bitwise_or", other, swapped=True)

    def __xor__(self, other: Tensor | float) -> Tensor:
        return self._of_two("bitwise_xor", other)

    def __rxor__(self, other: float) -> Tensor:
        return self._of_two("bitwise_xor", other, swapped=True)

    def __lshift__(self, other: Tensor | float) -> Tensor:
        return self._of_two("shift_left", other)

    def __rlshift__(self, other: float) -> Tensor:
        return self._of_two("shift_left", other, swapped=True)

    def __rshift__(self, other: Tensor | float) -> Tensor:
        return self._of_two("shift_right", other)

    def __rrshift__(self, other: float) -> Tensor:
        return self._of_two("shift_right", other, swapped=True)

    def __matmul__(self, other: Tensor) -> Tensor:
        return self._of_two("matmul", other) if isinstance(other, Operators) else NotImplemented

    def __neg__(self) -> Tensor:
        return self._of_one("neg")

    def __abs__(self) -> Tensor:
        return self._of_one("abs")

    def __invert__(self) -> Tensor:
        return self._of_one("bitwise_not")

    # -- comparisons ------------------------------------------------------------------------------

    # They give tensors of bool, as those of numpy and torch do; hashes tell objects apart.

    def __eq__(self, other: object) -> Any:
        return self._of_two("equal", other)

    def __ne__(self, other: object) -> Any:
        return self._of_two("not_equal", other)

    def __lt__(self, other: Tensor | float) -> Tensor:
        return self._of_two("less", other)

    def __le__(self, other: Tensor | float) -> Tensor:
        return self._of_two("less_equal", other)

    def __gt__(self, other: Tensor | float) -> Tensor:
        return self._of_two("greater", other)

    def __ge__(self, other: Tensor | float) -> Tensor:
        return self._of_two("greater_equal", other)

    __hash__ = object.__hash__

    # numpy must not take over `array + tensor`: there is no such operation on the device.
    __array_ufunc__ = None
