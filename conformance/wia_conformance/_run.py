"""Running one case on a device."""

from __future__ import annotations

import time
import traceback
from collections import OrderedDict
from dataclasses import replace
from typing import Any

import wia
from wia.catalog import BY_NAME, Operation, Sample, Scalar, input_dtypes, sample_values
from wia_conformance._cases import Case
from wia_conformance._compare import find_difference
from wia_conformance._forms import layout_of
from wia_conformance._operand import Operand
from wia_conformance._outcome import Outcome
from wia_conformance._values import Call, input_name, make_call, numpy_dtype

__all__ = ["run_case"]

_CALLS_KEPT = 64


class _UnsupportedError(Exception):
    """The driver says that it doesn't do this."""


def run_case(context: wia.Context, case: Case, seed: int) -> Outcome:
    """The outcome of a case; a crash or a hang is for the caller to notice."""
    start = time.perf_counter()
    try:
        problem = (
            _check_support(context, case) if case.form == "support" else _run(context, case, seed)
        )
        result, detail = ("fail", problem) if problem else ("pass", "")
    except _UnsupportedError as reason:
        result, detail = "unsupported", str(reason)
    except wia.WiaError as error:
        result, detail = "fail", _describe(error)
    except Exception:
        # A defect of the suite, or of what a driver does to the process: it must not look like one
        # case less.
        result, detail = "fail", traceback.format_exc(limit=-4)
    return Outcome(result, detail, time.perf_counter() - start)


def _describe(error: wia.WiaError) -> str:
    cause = f"\n{error.cause.rstrip()}" if error.cause else ""
    return f"{error.status} ({error.function}): {error}{cause}"


class _Setting:
    """The operands of a case on the device, and the ways to call."""

    def __init__(self, context: wia.Context, case: Case) -> None:
        self._context, self._case = context, case
        entry = BY_NAME[case.op]
        layouts = [layout_of(case.form, is_output=is_output) for is_output in (False, True)]
        sample = Sample(shapes=case.shapes, own=case.own)
        inputs = zip(case.shapes, input_dtypes(entry, case.dtype, sample), strict=True)
        self.inputs = [
            None if shape is None else Operand(context, shape, numpy_dtype(dtype), layouts[0])
            for shape, dtype in inputs
        ]
        self._target = self.inputs[case.target] if case.target >= 0 else None
        outputs = zip(case.output_shapes, case.output_dtypes, strict=True)
        self.outputs = [
            self._target
            if self._target is not None and number == case.target_output
            else Operand(context, shape, numpy_dtype(dtype), layouts[1])
            for number, (shape, dtype) in enumerate(outputs)
        ]
        self._tensors = [None if item is None else item.tensor for item in self.inputs]
        self.plan: wia.Plan | None = None

    def prepare(self) -> None:
        """Makes a plan of the call. Raises _UnsupportedError."""
        try:
            self.plan = self._context.plan(
                self._case.op,
                self._tensors,
                [output.tensor for output in self.outputs],
                **self._case.values,
            )
        except wia.UnimplementedError as error:
            raise _UnsupportedError(str(error)) from None

    def write(self, call: Call) -> None:
        """Sets all elements."""
        for number, output in enumerate(self.outputs):
            if output is not self._target:
                output.write(None if call.before is None else call.before[number])
        for operand, array in zip(self.inputs, call.inputs, strict=True):
            if operand is not None:
                operand.write(array)

    def launch(self, scalars: dict[str, Any]) -> None:
        """Calls the operation and waits for it. Raises _UnsupportedError."""
        op, outputs = self._case.op, [output.tensor for output in self.outputs]
        values = {**self._case.values, **scalars}
        planned = self._case.form in ("again", "in-place")
        if planned and self.plan is None:
            self.prepare()
        try:
            if self._case.form == "stream":
                with self._context.stream() as stream:
                    self._context.execute(op, self._tensors, outputs, stream=stream, **values)
                    stream.synchronize()
            elif planned and self.plan is not None:
                self.plan(*self._tensors, *outputs, **scalars)
            else:
                self._context.execute(op, self._tensors, outputs, **values)
        except wia.UnimplementedError as error:
            raise _UnsupportedError(str(error)) from None

    def find_problem(self, call: Call) -> str:
        """What is wrong after a launch; "" if nothing is."""
        for operand in (*self.outputs, *self.inputs):
            if operand is not None:
                operand.fetch()
        for output in self.outputs:
            outside = output.count_changes(outside=True)
            if outside:
                return f"{outside} elements beside those of the output were written to."
        for position, operand in enumerate(self.inputs):
            if operand is None or operand is self._target:
                continue
            if operand.count_changes(outside=False):
                return f"The input {input_name(call.operation, position)} was written to."
        return find_difference(call, [output.elements() for output in self.outputs])

    def close(self) -> None:
        """Gives the plan back."""
        if self.plan is not None:
            self.plan.close()


def _run(context: wia.Context, case: Case, seed: int) -> str:
    setting = _Setting(context, case)
    try:
        if not _is_claimed(context, case):
            setting.prepare()  # most often the end, before inputs and results are worked out
        return _run_calls(setting, case, seed)
    finally:
        setting.close()


def _is_claimed(context: wia.Context, case: Case) -> bool:
    try:
        return case.dtype in context.device.supports(case.op)
    except wia.WiaError:
        return True  # the case of the form "support" tells


def _run_calls(setting: _Setting, case: Case, seed: int) -> str:
    calls = [_call_of(case, {}, seed)]
    if case.form == "again":
        entry = BY_NAME[case.op]
        readers = {output.read_with for output in entry.outputs}
        # Whole numbers, which integers need; one that makes an output be read stays as it is.
        changed = {
            scalar.name: _other_value(scalar, case)
            for scalar in entry.scalars
            if scalar.name not in readers
        }
        calls.append(_call_of(case, changed, seed + 1000))
    for number, call in enumerate(calls):
        scalars = {scalar.name: call.values[scalar.name] for scalar in call.operation.scalars}
        setting.write(call)
        setting.launch(scalars if len(calls) > 1 else {})
        problem = setting.find_problem(call)
        if problem:
            return f"In the second run: {problem}" if number else problem
    return ""


def _other_value(scalar: Scalar, case: Case) -> float:
    if scalar.another is not None:
        return scalar.another
    value = float(case.values.get(scalar.name, scalar.default))
    return 1 - value if case.dtype == "bool" else value + 1


_calls: OrderedDict[tuple[object, ...], Call] = OrderedDict()
"""The last calls, the newest last: cases that differ in form alone share them."""


def _call_of(case: Case, scalars: dict[str, Any], seed: int) -> Call:
    entry, values, repeat = BY_NAME[case.op], {**case.values, **scalars}, case.form == "repeated"
    key = (case.op, case.dtype, case.shapes, repr(values), case.fills, case.own, seed, repeat)
    call = _calls.get(key)
    if call is None:
        call = make_call(
            entry, case.dtype, case.shapes, values, case.fills, case.own, seed=seed, repeat=repeat
        )
        _calls[key] = call
        if len(_calls) > _CALLS_KEPT:
            _calls.popitem(last=False)
    return call


def _check_support(context: wia.Context, case: Case) -> str:
    """Compares what the device says of a dtype with whether it computes any sample of it."""
    try:
        claimed = case.dtype in context.device.supports(case.op)
    except wia.UnimplementedError as error:
        raise _UnsupportedError(f"The driver doesn't tell what it supports: {error}") from None
    reason = ""
    entry = BY_NAME[case.op]
    for sample in entry.samples:
        if case.dtype not in (sample.dtypes or entry.dtypes):
            continue
        one = _plain_case(case, entry, sample)
        if not any(0 not in shape for shape in one.output_shapes):
            continue  # nothing to compute, which needs no kernel
        setting = _Setting(context, one)
        try:
            if claimed:
                setting.write(_call_of(one, {}, 0))
                setting.launch({})
            else:
                setting.prepare()
        except _UnsupportedError as error:
            reason = str(error)
            continue
        finally:
            setting.close()
        told = f"The device doesn't say that it supports {case.op} of {case.dtype}, but has it."
        return "" if claimed else told
    if claimed:
        return f"The device says that it supports {case.op} of {case.dtype}, but: {reason}"
    raise _UnsupportedError(reason)


def _plain_case(case: Case, entry: Operation, sample: Sample) -> Case:
    """A sample as a case of the form packed."""
    one = replace(
        case,
        shapes=sample.shapes,
        values=sample_values(entry, sample, case.dtype),
        fills=sample.fills,
        own=sample.own,
        form="packed",
    )
    results = _call_of(one, {}, 0).expected
    return replace(
        one,
        output_shapes=tuple(array.shape for array in results),
        output_dtypes=tuple(array.dtype.name for array in results),
    )
