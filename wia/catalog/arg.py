"""Where the largest and the least element are."""

from __future__ import annotations

from typing import Any

from ._cost import per_input
from ._forms import EXACT, KEEPDIMS, flag, one_axis, onnx
from ._model import FLOATS, INTEGERS, Operand, Operation, Sample
from ._numeric import widen


def argmax(np: Any, x: Any, *, axis: int, keepdims: int, select_last_index: int) -> Any:
    """Index of the largest element along the axis; that of a NaN if there is one."""
    return _find(np, np.argmax, x, axis, keepdims, select_last_index)


def argmin(np: Any, x: Any, *, axis: int, keepdims: int, select_last_index: int) -> Any:
    """Index of the least element along the axis; that of a NaN if there is one."""
    return _find(np, np.argmin, x, axis, keepdims, select_last_index)


def _find(np: Any, function: Any, x: Any, axis: int, keepdims: int, last: int) -> Any:
    if x.size == 0:
        shape = list(x.shape)
        shape[axis] = 1
        return np.empty(shape if keepdims else np.delete(shape, axis), np.int64)
    wide = np.flip(widen(np, x), axis) if last else widen(np, x)
    found = function(wide, axis=axis, keepdims=bool(keepdims)).astype(np.int64)
    return x.shape[axis] - 1 - found if last else found


def _arg(number: int, name: str, word: str, semantics: Any, operator: str) -> Operation:
    return Operation(
        number=number,
        name=name,
        summary=f"Index of the {word} element along a dimension.",
        formula=f"output = the first i with input[..., i, ...] = {name[3:]}",
        inputs=(Operand(name="input", summary="Rank 1 or more."),),
        outputs=(Operand(name="output", summary="int64; the shape of input without the axis."),),
        family="argmax",
        dtypes=(*FLOATS, *INTEGERS),
        semantics=semantics,
        notes=(
            "The first of equals; a NaN if there is one, the first of them. With select_last_index "
            "the last of them. An axis of size 0 is INVALID_ARGUMENT, unless the output is empty.",
        ),
        standard=onnx(operator, 13, "default axis -1"),
        attributes=(
            one_axis("The dimension to search; below 0 from the last."),
            KEEPDIMS,
            flag("select_last_index", "1: the last of equals."),
        ),
        config=f"wia_{name}_config_t",
        tolerance=EXACT,
        flops=per_input(),
        samples=(
            Sample(shapes=((8,),)),
            Sample(shapes=((5, 33),)),
            Sample(shapes=((3, 4, 5),), values={"axis": 1, "keepdims": 1}),
            Sample(shapes=((4, 9),), values={"axis": 0}, fills=("special",)),
            Sample(shapes=((4, 31),), values={"select_last_index": 1}, fills=("special",)),
            Sample(shapes=((0, 3),)),
        ),
        source=f"ONNX node tests {name}_*; NaN and equals by hand",
    )


ARGMAX = _arg(19, "argmax", "largest", argmax, "ArgMax")
ARGMIN = _arg(44, "argmin", "least", argmin, "ArgMin")

OPERATIONS = (ARGMAX, ARGMIN)
