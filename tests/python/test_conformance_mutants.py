"""Drivers that are broken on purpose, each in one way: the suite finds every one of them."""

from __future__ import annotations

import fnmatch
import textwrap
from pathlib import Path
from typing import NamedTuple

import pytest

from wia_conformance import Options, Outcome, Ready, list_cases, run_cases, select_cases

MODULE = """
import ctypes
import os
import time

import numpy as np

import wia
from wia.driver import Driver, kernel


def flat(array, count):
    # A writable array of so many elements from element 0 on, whatever the strides are.
    address = array.__array_interface__["data"][0]
    data = (ctypes.c_char * (array.itemsize * count)).from_address(address)
    return np.frombuffer(data, array.dtype)


class Made(Driver):
    name = "made"
"""


class Mutant(NamedTuple):
    """Members of the class, and the cases to run; of these `found` are not passed, but `result`.

    Both are patterns. `detail` is part of what the suite says.
    """

    members: str
    cases: str
    found: str
    result: str = "fail"
    detail: str = ""


def kernel(op: str, body: str, arguments: str = "a, b, out", in_place: bool = False) -> str:
    """The source of a kernel method whose function has this body."""
    return f"""
@kernel({op!r}, dtypes=["float32"], in_place={in_place})
def prepare_{op}(self, node):
    dict(node.attributes)
    first = []
    def run({arguments}):
{textwrap.indent(textwrap.dedent(body), " " * 8)}
    return run
"""


GOOD = (
    kernel("add", "np.add(a, b, out=out)", in_place=True),
    kernel("relu", "out[...] = np.where(x <= 0, np.float32(0), x)", "x, out", in_place=True),
    kernel("cast", "out[...] = x", "x, out"),
    kernel("transpose", "out[...] = x.T", "x, out"),
    kernel("matmul", "np.multiply(a @ b, alpha, out=out)", "a, b, out, alpha, beta"),
)
CLAIMS = """
def get_support(self, device, op):
    return frozenset({})
"""
REFUSES = """
@kernel("add", dtypes=["float32"])
def prepare_add(self, node):
    raise wia.UnimplementedError("not yet")
"""
TRUNCATES = """
near = x.astype(out.dtype)
far = abs(near.astype(x.dtype)) > abs(x)
out[...] = np.where(far, np.nextafter(near, out.dtype.type(0)), near)
"""
ABORTS = """
if out.shape == (9,):
    print("last words", flush=True)
    os.abort()
np.add(a, b, out=out)
"""
CASES = list_cases()
ADD = "add/float32/8,8/"
MUTANTS = {
    "reduced precision": Mutant(
        kernel("add", "out[...] = a.astype(np.float16) + b.astype(np.float16)"),
        ADD + "packed",
        "*",
        detail="elements are wrong; the worst is at [",
    ),
    "rounds toward zero": Mutant(
        kernel("cast", TRUNCATES, "x, out"), "cast/float32/*/dtype=float16/wide/packed", "*"
    ),
    "flushes denormals": Mutant(
        kernel("add", "out[...] = np.where(abs(a + b) < 2.0**-126, 0, a + b)"),
        "add/float32/33,33/*",
        "*/denormal,denormal/*",
    ),
    "loses NaN": Mutant(
        kernel("relu", "np.fmax(x, 0, out=out)", "x, out"), "relu/float32/3x31/special/packed", "*"
    ),
    "keeps the sign of zero": Mutant(
        kernel("relu", "out[...] = np.where(x < 0, np.float32(0), x)", "x, out"),
        "relu/float32/*/packed",
        "*/special/*",
    ),
    "ignores strides of an input": Mutant(
        kernel("add", "np.add(flat(a, 8), b, out=out)"), ADD + "[pogr]*", "*/[gr]*"
    ),
    "ignores strides of the output": Mutant(
        kernel("add", "flat(out, 8)[...] = a + b"),
        ADD + "[pog]*",
        "*/gaps",
        detail="beside those of the output",
    ),
    "changes dimensions": Mutant(
        kernel("transpose", "out[...] = x.reshape(out.shape)", "x, out"),
        "transpose/float32/3x4/*",
        "*",
    ),
    "writes behind the end": Mutant(
        kernel("add", "np.add(a, b, out=out); flat(out, 9)[8] = 0"),
        ADD + "packed",
        "*",
        detail="1 elements beside those of the output were written to",
    ),
    "writes to an input": Mutant(
        kernel("add", "np.add(a, b, out=out); flat(b, 1)[0] += 1"),
        ADD + "offset",
        "*",
        detail="The input b was written to",
    ),
    "leaves an element out": Mutant(
        kernel("add", "np.add(a[1:], b[1:], out=out[1:])"), ADD + "packed", "*", detail="got nan"
    ),
    "adds to the output": Mutant(kernel("add", "out += a + b"), ADD + "packed", "*"),
    "gives the result of the call before": Mutant(
        kernel("add", "first or first.append(a + b); out[...] = first[0]"),
        ADD + "[ap]*",
        "*/again",
        detail="In the second run",
    ),
    "keeps the scalars of the first call": Mutant(
        kernel(
            "matmul",
            "first or first.append(alpha); np.multiply(a @ b, first[0], out=out)",
            "a, b, out, alpha, beta",
        ),
        "matmul/float32/2x3,3x4/[ap]*",
        "*/again",
    ),
    "says in place and is not": Mutant(
        kernel("add", "out[...] = 0; out += a; out += b", in_place=True), ADD + "*", "*/in-place-*"
    ),
    "raises": Mutant(
        kernel("add", "raise ValueError('broken on purpose')"),
        ADD + "stream",
        "*",
        detail="broken on purpose",
    ),
    "refuses": Mutant(REFUSES, ADD + "packed", "*", "unsupported", detail="not yet"),
    "is not in place": Mutant(
        kernel("add", "np.add(a, b, out=out)"),
        ADD + "*",
        "*/in-place-*",
        "unsupported",
        detail="doesn't work in place",
    ),
    "claims what it has not": Mutant(
        CLAIMS.format(["float32"]) + REFUSES,
        "add/float32/support",
        "*",
        detail="says that it supports add of float32, but",
    ),
    "hides what it has": Mutant(
        CLAIMS.format([]) + GOOD[0],
        "add/float32/support",
        "*",
        detail="doesn't say that it supports add of float32",
    ),
    "aborts": Mutant(
        kernel("add", ABORTS), "add/float32/?,?/packed", "*/9,9/*", "crash", detail="last words"
    ),
    "exits": Mutant(
        kernel("add", "os._exit(0)"), ADD + "packed", "*", "crash", detail="ended with exit code 0"
    ),
    "hangs": Mutant(
        kernel("add", "time.sleep(60)"), ADD + "packed", "*", "timeout", detail="within 1 s"
    ),
}


def run(tmp_path: Path, members: str, *patterns: str) -> dict[str, Outcome]:
    """The outcomes of the cases on a driver with these members, by their ids."""
    path = tmp_path / "made.py"
    path.write_text(
        MODULE + textwrap.indent(members, "    ") + "\n\nwia.register_driver(Made)\n",
        encoding="utf-8",
    )
    cases = select_cases(CASES, patterns)
    options = Options(
        device="made", modules=(str(path),), timeout=1.0 if "sleep" in members else 60
    )
    items = [item for item in run_cases(cases, options) if not isinstance(item, Ready)]
    assert [case for case, _ in items] == cases
    return {case.id: outcome for case, outcome in items}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutant_is_found(tmp_path: Path, name: str) -> None:
    mutant = MUTANTS[name]
    outcomes = run(tmp_path, mutant.members, mutant.cases)
    found = {case for case, outcome in outcomes.items() if outcome.result != "pass"}
    assert found == set(fnmatch.filter(outcomes, mutant.found))
    assert found
    for case in found:
        assert outcomes[case].result == mutant.result
        assert mutant.detail in outcomes[case].detail


def test_a_driver_that_is_not_broken_passes(tmp_path: Path) -> None:
    """On all that the mutants were run on, so that these checks don't fail by themselves."""
    outcomes = run(tmp_path, "".join(GOOD), *{mutant.cases for mutant in MUTANTS.values()})
    assert len(outcomes) > 30
    assert {case: o for case, o in outcomes.items() if o.result != "pass"} == {}
