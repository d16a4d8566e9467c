"""Running one case on a device."""

from __future__ import annotations

import time
import traceback
from typing import Any

import wia
from wia.catalog import BY_NAME, Scalar, sample_values
from wia_conformance._cases import Case
from wia_conformance._compare import find_difference
from wia_conformance._forms import layout_of
from wia_conformance._operand import Operand
from wia_conformance._outcome import Outcome
from wia_conformance._values import Call, input_name, make_call

__all__ = ["run_case"]


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

    def __init__(self, context: wia.Context, case: Case, call: Call) -> None:
        self._context, self._case = context, case
        layouts = [layout_of(case.form, is_output=is_output) for is_output in (False, True)]
        self.inputs = [
            None if array is None else Operand(context, array.shape, array.dtype, layouts[0])
            for array in call.inputs
        ]
        self._target = self.inputs[case.target] if case.target >= 0 else None
        self.outputs = [
            self._target
            if self._target is not None and number == case.target_output
            else Operand(context, array.shape, array.dtype, layouts[1])
            for number, array in enumerate(call.expected)
        ]
        self._tensors = [None if item is None else item.tensor for item in self.inputs]
        self.plan: wia.Plan | None = None

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
        try:
            if self._case.form == "stream":
                with self._context.stream() as stream:
                    self._context.execute(op, self._tensors, outputs, stream=stream, **values)
                    stream.synchronize()
            elif self._case.form in ("again", "in-place"):
                if self.plan is None:
                    self.plan = self._context.plan(self._case.op, self._tensors, outputs, **values)
                self.plan(*self._tensors, *outputs, **scalars)
            else:
                self._context.execute(op, self._tensors, outputs, **values)
        except wia.UnimplementedError as error:
            raise _UnsupportedError(str(error)) from None

    def find_problem(self, call: Call) -> str:
        """What is wrong after a launch; "" if nothing is."""
        for output in self.outputs:
            outside = output.count_changes(outside=True)
            if outside:
                return f"{outside} elements beside those of the output were written to."
        for position, operand in enumerate(self.inputs):
            if operand is None or operand is self._target:
                continue
            if operand.count_changes(outside=False):
                return f"The input {input_name(call.operation, position)} was written to."
        return find_difference(call, [output.read() for output in self.outputs])


def _run(context: wia.Context, case: Case, seed: int) -> str:
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
    setting = _Setting(context, case, calls[0])
    try:
        for number, call in enumerate(calls):
            scalars = {scalar.name: call.values[scalar.name] for scalar in call.operation.scalars}
            setting.write(call)
            setting.launch(scalars if len(calls) > 1 else {})
            problem = setting.find_problem(call)
            if problem:
                return f"In the second run: {problem}" if number else problem
    finally:
        if setting.plan is not None:
            setting.plan.close()
    return ""


def _other_value(scalar: Scalar, case: Case) -> float:
    if scalar.another is not None:
        return scalar.another
    return float(case.values.get(scalar.name, scalar.default)) + 1


def _call_of(case: Case, scalars: dict[str, Any], seed: int) -> Call:
    return make_call(
        BY_NAME[case.op],
        case.dtype,
        case.shapes,
        {**case.values, **scalars},
        case.fills,
        case.own,
        seed=seed,
        repeat=case.form == "repeated",
    )


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
        one = Case(
            id=case.id,
            op=case.op,
            dtype=case.dtype,
            shapes=sample.shapes,
            values=sample_values(entry, sample, case.dtype),
            fills=sample.fills,
            own=sample.own,
        )
        call = _call_of(one, {}, 0)
        if not any(array.size for array in call.expected):
            continue  # nothing to compute, which needs no kernel
        setting = _Setting(context, one, call)
        setting.write(call)
        try:
            setting.launch({})
        except _UnsupportedError as error:
            reason = str(error)
            continue
        told = f"The device doesn't say that it supports {case.op} of {case.dtype}, but has it."
        return "" if claimed else told
    if claimed:
        return f"The device says that it supports {case.op} of {case.dtype}, but: {reason}"
    raise _UnsupportedError(reason)
