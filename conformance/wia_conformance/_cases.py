"""The cases: a list of data, made from the catalog and the suite's own samples."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from wia import TensorSpec
from wia.catalog import OPERATIONS, Operation, Sample, input_dtypes, sample_values
from wia_conformance._forms import applies
from wia_conformance._samples import more_samples
from wia_conformance._values import input_name, is_packed, numpy_dtype
from wia_conformance._widths import infer_of, sized_samples

__all__ = ["PROFILES", "Case", "list_cases", "select_cases"]

PROFILES: dict[str, str] = {"ops": "every operation of the catalog, in every dtype"}
_LAYOUTS: tuple[str, ...] = ("packed", "offset", "gaps", "transposed", "reversed", "repeated")
_OWN_LAYOUTS = ("packed", "offset")
_PACKED_LAYOUTS = ("packed",)

Shape = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One call, described. `id` is the same in each run and version that has the case.

    `shapes` are those of the inputs, None for one that is left out, `fills` how they are filled
    (see wia.catalog.make_inputs, and "denormal", "nonfinite", "nonfinite-..."), `own` the dtypes of
    some by name, `form` one of FORMS, an in-place one with the number of its input in `target` and
    that of its output in `target_output`.
    """

    id: str
    op: str
    dtype: str
    shapes: tuple[Shape | None, ...]
    values: Mapping[str, Any] = field(default_factory=dict)
    fills: tuple[str, ...] = ()
    own: tuple[tuple[str, str], ...] = ()
    form: str = "packed"
    target: int = -1
    target_output: int = 0
    output_shapes: tuple[Shape, ...] = ()
    output_dtypes: tuple[str, ...] = ()


def list_cases(profile: str = "ops") -> list[Case]:
    """All cases of a profile, in a fixed order."""
    if profile not in PROFILES:
        raise ValueError(
            f"The profile {profile!r} was given; this version has {', '.join(PROFILES)}."
        )
    return list(_all_cases())


def select_cases(cases: Sequence[Case], patterns: Sequence[str]) -> list[Case]:
    """The cases whose id matches one of the patterns (*, ?, [...]); all if there is no pattern."""
    if not patterns:
        return list(cases)
    return [case for case in cases if any(fnmatch.fnmatchcase(case.id, item) for item in patterns)]


@cache
def _all_cases() -> tuple[Case, ...]:
    return tuple(case for operation in OPERATIONS for case in _cases_of(operation))


def _cases_of(operation: Operation) -> Iterator[Case]:
    more = more_samples(operation)
    known = {_describe(sample) for sample in (*operation.samples, *more)}
    sized = [item for item in sized_samples(operation) if _describe(item) not in known]
    for place, dtype in enumerate(operation.dtypes):
        yield Case(
            id=f"{operation.name}/{dtype}/support",
            op=operation.name,
            dtype=dtype,
            shapes=(),
            form="support",
        )
        listed = [(sample, _LAYOUTS) for sample in operation.samples]
        listed += [(sample, _OWN_LAYOUTS) for sample in more]
        # One layout for each size: over the dtypes a size comes up in several of them.
        turns = [_LAYOUTS[(place + turn) % len(_LAYOUTS)] for turn in range(len(sized))]
        listed += [(sample, (layout,)) for sample, layout in zip(sized, turns, strict=True)]
        first = True
        for sample, layouts in listed:
            if dtype in (sample.dtypes or operation.dtypes):
                yield from _forms_of(operation, dtype, sample, layouts, first)
                first = False


def _forms_of(
    operation: Operation, dtype: str, sample: Sample, layouts: tuple[str, ...], first: bool
) -> Iterator[Case]:
    values = sample_values(operation, sample, dtype)
    dtypes = input_dtypes(operation, dtype, sample)
    outputs = infer_of(operation, dtype, sample)
    inputs = [
        None if shape is None else TensorSpec(shape, name)
        for shape, name in zip(sample.shapes, dtypes, strict=True)
    ]
    given = tuple(item.shape for item in inputs if item is not None)
    output_shapes = tuple(output.shape for output in outputs)
    everything = layouts == _LAYOUTS
    if any(item and is_packed(numpy_dtype(item.dtype)) for item in (*inputs, *outputs)):
        layouts = _PACKED_LAYOUTS
    applied = [form for form in layouts if applies(form, given, output_shapes)]
    forms = [(form, -1, 0) for form in applied or _PACKED_LAYOUTS]
    if first:
        forms += [("stream", -1, 0), ("again", -1, 0)]
    if everything and not operation.outputs_read({**operation.defaults(), **values}):
        for position, item in enumerate(inputs):
            forms += [
                ("in-place", position, number)
                for number, output in enumerate(outputs)
                if item == output
            ]
    described = f"{operation.name}/{dtype}/{_describe(sample)}"
    for form, target, number in forms:
        named = f"{form}-{input_name(operation, target)}" if target >= 0 else form
        named += f"-{operation.outputs[number].name}" if number else ""
        yield Case(
            id=f"{described}/{named}",
            op=operation.name,
            dtype=dtype,
            shapes=sample.shapes,
            values=values,
            fills=sample.fills,
            own=sample.own,
            form=form,
            target=target,
            target_output=number,
            output_shapes=output_shapes,
            output_dtypes=tuple(output.dtype for output in outputs),
        )


def _describe(sample: Sample) -> str:
    """Shapes, values and fills as one text without characters that are special in a pattern."""
    parts = [",".join(map(_shape_text, sample.shapes))]
    if sample.values:
        parts.append("+".join(f"{key}={_text(value)}" for key, value in sample.values.items()))
    if sample.fills:
        parts.append(",".join(sample.fills))
    if sample.own:
        parts.append("+".join(f"{name}={dtype}" for name, dtype in sample.own))
    return "/".join(parts)


def _shape_text(shape: Shape | None) -> str:
    if shape is None:
        return "none"
    return "x".join(map(str, shape)) or "scalar"


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "_".join(map(str, value)) or "scalar"
    return str(value)
