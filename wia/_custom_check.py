"""The checks of a registered operation's kernels and gradient against its function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wia._context import Context
    from wia._custom import Op
    from wia._tensor import Tensor

__all__ = ["check_gradient", "check_op"]

Tensors = Sequence["Tensor | None"]


def check_op(
    op: Op, context: Context, inputs: Sequence[Any], values: Mapping[str, Any], ulps: float
) -> None:
    """What Op.check does."""
    import numpy as np

    arrays = [None if item is None else np.asarray(item) for item in inputs]
    expected, allowed = _work_out(op, arrays, values, ulps)
    for way, run in _WAYS.items():
        results = run(op, context, arrays, expected, values)
        for operand, result, right, bound in zip(
            op.entry.outputs, results, expected, allowed, strict=True
        ):
            _compare(
                f"{op.name} on {context.device.name}, {way}: {operand.name}", result, right, bound
            )


def _work_out(
    op: Op, arrays: Sequence[Any], values: Mapping[str, Any], ulps: float
) -> tuple[Sequence[Any], Sequence[Any]]:
    """What the function gives in float64, in the dtypes of a call; how far others may be off."""
    import numpy as np

    from wia.catalog import Tolerance, allowed_error, evaluate

    entry = replace(op.entry, tolerance=Tolerance(ulps=ulps))
    given = {**entry.defaults(), **values}
    plain = evaluate(np, entry, arrays, given)
    wide = [
        array.astype(np.float64) if array is not None and array.dtype.kind == "f" else array
        for array in arrays
    ]
    exact = evaluate(np, entry, wide, given)
    expected = [e.astype(p.dtype) for e, p in zip(exact, plain, strict=True)]
    return expected, allowed_error(np, entry, arrays, given, expected)


def _compare(where: str, result: Any, expected: Any, allowed: Any) -> None:
    import numpy as np

    if (result.shape, result.dtype) != (expected.shape, expected.dtype):
        raise AssertionError(
            f"{where} is {result.dtype} {list(result.shape)}; expected {expected.dtype} "
            f"{list(expected.shape)}."
        )
    with np.errstate(all="ignore"):
        wide = np.complex128 if result.dtype.kind == "c" else np.float64
        error = np.abs(result.astype(wide) - expected.astype(wide))
    same = (result == expected) | ((result != result) & (expected != expected))  # NaN
    wrong = ~(same | (error <= allowed))
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise AssertionError(
            f"{where}{list(place)} is {result[place]}; expected {expected[place]}, and "
            f"{int(wrong.sum())} of {wrong.size} elements are wrong."
        )


# -- gradients -------------------------------------------------------------------------------------


def check_gradient(
    op: Op, context: Context, inputs: Sequence[Any], values: Mapping[str, Any], tolerance: float
) -> None:
    """What Op.check_gradient does."""
    import numpy as np

    from wia._tape import Tape

    arrays = [None if item is None else np.asarray(item) for item in inputs]
    with Tape() as tape:
        tensors = _packed(context, arrays)
        outputs = context.execute(op.name, tensors, **values)
    places = [i for i, array in enumerate(arrays) if array is not None and _is_float(array)]
    sources = [tensor for tensor in tensors if tensor is not None and _is_float(tensor)]
    for number, output in enumerate(outputs):
        if output is None or not _is_float(output):
            continue
        weights = np.random.default_rng(number).standard_normal(output.shape)
        seed = context.tensor(weights, output.dtype)
        found = tape.gradient(output, sources, seed=seed)
        for place, result in zip(places, found, strict=True):
            expected = _difference(op, arrays, values, place, number, seed.numpy())
            _compare(
                f"{op.name} on {context.device.name}: the gradient of "
                f"{op.entry.outputs[number].name} by {op.entry.inputs[place].name}",
                result.numpy().astype(np.float64),
                expected,
                tolerance * np.maximum(np.abs(expected), 1),
            )


def _is_float(item: Any) -> bool:
    return item.dtype.name in ("float64", "float32", "float16", "bfloat16")


def _difference(
    op: Op, arrays: Sequence[Any], values: Mapping[str, Any], place: int, number: int, seed: Any
) -> Any:
    """How the weighted sum of an output changes with each element of an input, in float64."""
    import numpy as np

    from wia.catalog import evaluate

    wide = [a.astype(np.float64) if a is not None and _is_float(a) else a for a in arrays]
    given = {**op.entry.defaults(), **values}

    def weigh(index: tuple[int, ...], by: float) -> Any:
        moved = [a if i != place else a.copy() for i, a in enumerate(wide)]
        moved[place][index] += by
        return np.sum(evaluate(np, op.entry, moved, given)[number] * seed.astype(np.float64))

    expected = np.zeros(wide[place].shape)
    for index in np.ndindex(*wide[place].shape):
        step = 1e-6 * max(abs(wide[place][index]), 1)
        expected[index] = (weigh(index, step) - weigh(index, -step)) / (2 * step)
    return expected


# -- ways of calling -------------------------------------------------------------------------------


def _packed(context: Context, arrays: Sequence[Any]) -> list[Tensor | None]:
    return [None if array is None else context.tensor(array) for array in arrays]


def _gapped(context: Context, arrays: Sequence[Any]) -> list[Tensor | None]:
    """Views of every other element, backwards, where there is a dimension."""
    import numpy as np

    made: list[Tensor | None] = []
    for array in arrays:
        if array is None or array.ndim == 0:
            made.append(None if array is None else context.tensor(array))
            continue
        room = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)
        room[..., -2::-2] = array
        made.append(context.tensor(room)[..., -2::-2])
    return made


def _read(tensors: Tensors) -> list[Any]:
    return [None if tensor is None else tensor.numpy() for tensor in tensors]


def _execute(op: Op, context: Context, arrays: Any, expected: Any, values: Any) -> list[Any]:
    return _read(context.execute(op.name, _packed(context, arrays), **values))


def _with_gaps(op: Op, context: Context, arrays: Any, expected: Any, values: Any) -> list[Any]:
    outputs = _gapped(context, expected)
    context.execute(op.name, _gapped(context, arrays), outputs, **values)
    return _read(outputs)


def _on_stream(op: Op, context: Context, arrays: Any, expected: Any, values: Any) -> list[Any]:
    with context.stream() as stream:
        outputs = context.execute(op.name, _packed(context, arrays), stream=stream, **values)
        stream.synchronize()
    return _read(outputs)


def _from_plan(op: Op, context: Context, arrays: Any, expected: Any, values: Any) -> list[Any]:
    inputs = _packed(context, arrays)
    outputs = [context.empty(array.shape, array.dtype) for array in expected]
    with context.plan(op.name, inputs, outputs, **values) as plan:
        plan(*inputs, *outputs)
    return _read(outputs)


_WAYS: dict[str, Callable[[Op, Any, Any, Any, Any], list[Any]]] = {
    "packed": _execute,
    "with gaps": _with_gaps,
    "on a stream": _on_stream,
    "from a plan": _from_plan,
}
