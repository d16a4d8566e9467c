"""A part of the ONNX backend suite, cheap enough for each run; .ci/full runs all of it."""

from __future__ import annotations

import onnx_suite

EVERY = 16
LARGE = ("alexnet", "densenet", "inception", "resnet50", "shufflenet", "squeezenet", "vgg", "zfnet")


def test_the_suite_has_all_cases() -> None:
    assert len(onnx_suite.tests()) == 2033


def test_what_does_not_pass_is_in_the_file() -> None:
    """And nothing is wrong: what WIA can't do raises an error of WIA."""
    small = [n for n in sorted(onnx_suite.tests()) if not any(word in n for word in LARGE)]
    outcomes = onnx_suite.run_all(small[::EVERY])
    known = onnx_suite.not_passing()
    failed = {outcome.name for outcome in outcomes if outcome.reason}
    assert [outcome for outcome in outcomes if outcome.wrong] == []
    assert failed == {outcome.name for outcome in outcomes} & known.keys()
    assert len(failed) < len(outcomes)


def test_every_exception_names_a_case_and_a_reason() -> None:
    known = onnx_suite.not_passing()
    assert known.keys() <= onnx_suite.tests().keys()
    assert all(known.values())
