"""The cases of the conformance suite: which there are, and their names."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from wia.catalog import OPERATIONS
from wia_conformance import (
    Case,
    content_hash,
    list_cases,
    select_cases,
)
from wia_conformance._cli import main
from wia_conformance._kinds import count_kinds
from wia_conformance._widths import WIDTHS, sized_samples

CASES = list_cases()
CASES_OF_RELU = [case for case in CASES if case.op == "relu" and case.dtype == "float32"]


def test_ids_are_unique_and_good_for_patterns() -> None:
    ids = [case.id for case in CASES]
    assert len(set(ids)) == len(ids) > 10_000
    assert all(re.fullmatch(r"[\w/,.=+-]+", name) for name in ids)


def test_every_operation_dtype_and_form_has_cases() -> None:
    found = {(case.op, case.dtype) for case in CASES if case.form != "support"}
    assert found == {(op.name, dtype) for op in OPERATIONS for dtype in op.dtypes}
    forms: dict[str, set[str]] = {}
    for case in CASES:
        forms.setdefault(case.form, set()).add(case.op)
    everywhere = {op.name for op in OPERATIONS}
    same_shape = {op.name for op in OPERATIONS if op.family in ("elementwise", "same")}
    assert forms["in-place"] >= same_shape
    for form in ("packed", "offset", "stream", "again", "support"):
        assert forms[form] == everywhere
    with_inputs = {op.name for op in OPERATIONS if op.inputs}
    for form in ("gaps", "transposed", "reversed", "repeated"):
        assert forms[form] >= with_inputs
    assert len(forms) == 10


LACKING = {
    "empty": {"mel_weight_matrix"},  # it has a frequency and a band at least
    "NaN, inf": {
        *("eye", "blackman_window", "hamming_window", "hann_window"),  # nothing goes in
        *("mel_weight_matrix", "random_normal", "random_uniform"),  # they are refused
    },
}


def test_every_operation_has_cases_of_every_kind() -> None:
    """But for those that are listed: the list can't rot."""
    counts = count_kinds(CASES)
    assert list(counts) == [op.name for op in OPERATIONS]
    lacking: dict[str, set[str]] = {}
    for op in OPERATIONS:
        row = counts[op.name]
        assert all(row[kind] for kind in ("cases", "offset", "calls")), op.name
        if op.inputs:
            assert all(row[kind] for kind in ("gaps", "negative", "stride 0")), op.name
        for kind in ("widths", "empty", "NaN, inf"):
            floats = set(op.dtypes) & {"float32"}
            if not row[kind] and (floats or kind != "NaN, inf"):
                lacking.setdefault(kind, set()).add(op.name)
    assert lacking == LACKING


def test_every_operation_has_sizes_around_vectors() -> None:
    """Nine of them at least, in all layouts; but for those that are listed: the list can't rot."""
    sized = {op.name: sized_samples(op) for op in OPERATIONS}
    fewer = {name: len(found) for name, found in sized.items() if len(found) < 9}
    assert fewer == {
        "affine_grid": 7,  # its output has the product of its sizes
        "mel_weight_matrix": 0,  # its sizes are values of tensors
    }
    assert len(WIDTHS) == 12
    cases = [case for case in CASES if case.op == "matmul" and case.shapes == ((2, 65), (65, 4))]
    layouts = {"packed", "offset", "gaps", "transposed", "reversed", "repeated"}
    assert {case.form for case in cases} & layouts == layouts


def test_counts_of_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--count", "--filter", "relu/float32/*"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["operation", "cases", "widths"]
    assert row.split()[:2] == ["relu", str(count_kinds(CASES_OF_RELU)["relu"]["cases"])]


def test_cases_are_the_same_each_time() -> None:
    code = "import wia_conformance as w; print(w.content_hash(w.list_cases()))"
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == content_hash(CASES)


def test_the_hash_tells_a_change() -> None:
    other = Case(**{**vars(CASES[9]), "fills": ("wide",)})
    assert content_hash([*CASES[:9], other, *CASES[10:]]) != content_hash(CASES)
    assert content_hash(CASES[:-1]) != content_hash(CASES)


def test_patterns() -> None:
    found = select_cases(CASES, ["relu/float32/8/packed", "add/*/support"])
    assert {case.op for case in found} == {"relu", "add"}
    assert sum(case.op == "relu" for case in found) == 1
    assert select_cases(CASES, []) == CASES


def test_unknown_profiles() -> None:
    with pytest.raises(ValueError, match=r"'full' was given; this version has ops\."):
        list_cases("full")
