"""Calls of catalog entries, made from their samples: what several tests are made of."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import wia.catalog
from wia.catalog import (
    BY_NAME,
    OPERATIONS,
    Operation,
    Sample,
    allowed_error,
    evaluate,
    make_inputs,
    sample_values,
)

IDS = [operation.name for operation in OPERATIONS]


def numpy_dtype(name: str) -> np.dtype[Any]:
    """numpy's or ml_dtypes' object for a name."""
    return np.dtype(name) if hasattr(np, name) else np.dtype(getattr(ml_dtypes, name))


def call(
    operation: Operation, sample: Sample, dtype: str
) -> tuple[list[Any], dict[str, Any], tuple[Any, ...]]:
    """Inputs, values and results of a sample.

    Outputs that the operation reads first are those without that.
    """
    with np.errstate(all="ignore"):
        dtypes = map(numpy_dtype, wia.catalog.input_dtypes(operation, dtype, sample))
        inputs = make_inputs(np, operation, sample, tuple(dtypes))
    values = {**operation.defaults(), **sample_values(operation, sample, dtype)}
    if values.get("dtype") is not None:
        values["dtype"] = numpy_dtype(values["dtype"])
    before = None
    if read := operation.outputs_read(values):
        unread = {operation.outputs[i].read_with: 0.0 for i in read}
        before = evaluate(np, operation, inputs, {**values, **unread})
    return inputs, values, evaluate(np, operation, inputs, values, before)


def run(name: str, *inputs: Any, before: Any = None, **values: Any) -> Any:
    """The semantics of an operation with its defaults: its output, or a tuple of several."""
    entry = BY_NAME[name]
    arrays = [*inputs, *([None] * (len(entry.inputs) - len(inputs)))]
    given = None if before is None else (before,)
    results = evaluate(np, entry, arrays, {**entry.defaults(), **values}, given)
    return results[0] if len(results) == 1 else results


def attributes_of(values: dict[str, Any]) -> dict[str, Any]:
    """What to give to Context.execute: values without those that are not given."""
    return {name: value for name, value in values.items() if value is not None}


def assert_close(
    operation: Operation, inputs: Any, values: Any, expected: Any, results: Any
) -> None:
    """Each result is within the catalog's bound, in the shape and dtype of the semantics."""
    bounds = allowed_error(np, operation, inputs, values, expected)
    for tensor, wanted, allowed in zip(results, expected, bounds, strict=True):
        result = tensor.numpy()
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        if wanted.dtype.kind != "f":
            assert result.tobytes() == np.ascontiguousarray(wanted).tobytes()
            continue
        wide, exact = result.astype(np.float64), wanted.astype(np.float64)
        with np.errstate(all="ignore"):
            near = abs(wide - exact) <= allowed
            good = (wide == exact) | (np.isnan(wide) & np.isnan(exact)) | near
        assert good.all(), (operation.name, values, wide[~good][:4], exact[~good][:4])
