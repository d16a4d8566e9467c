"""Changes models of ONNX's suite and of ai.onnx.ml by chance: they run, or get an error of WIA's.

`python onnx_fuzz.py` does so for a minute, `--seconds` takes another time and `--seed` the seed
that a failing run printed. Any other exception is a fault of WIA and is shown once per place.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnx.backend.test.case.node
import onnx_learned
from onnx import AttributeProto, helper, numpy_helper

import wia
import wia.onnx

_INTS = (-100, -3, -2, -1, 0, 1, 2, 3, 5, 100, 2**31, 2**40, -(2**63))
_FLOATS = (0.0, -1.0, float("nan"), float("inf"), 1e30)
_TEXTS = (
    *(b"", b"none", b"\xff\xfe", b"linear", b"NOTSET", b"SAME_UPPER", b"mean", b"ij,jk->ik"),
    *(b"LEAF", b"RBF", b"PROBIT"),
)
_DTYPES = ("float32", "int64", "bool", "uint8", "int32", "float16", "complex64", "float64")
_PATIENCE = 2
"""Seconds for a model, which may ask for 2**40 turns of a loop."""


class _Slow(BaseException):
    """A model takes too long."""


@cache
def cases() -> list[tuple[str, Any, dict[str, Any]]]:
    """Names, models and inputs of the cases whose inputs are tensors."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in onnx.backend.test.case.node.collect_testcases(None):
            if case.model is None or not case.data_sets:
                continue
            names = [item.name for item in case.model.graph.input]
            inputs = dict(zip(names, case.data_sets[0][0], strict=False))
            if all(isinstance(value, np.ndarray) for value in inputs.values()):
                found.append((case.name, case.model, inputs))
    for name, own in onnx_learned.CASES.items():
        inputs = {f"x{i}": value for i, value in enumerate(own.inputs)}
        found.append((name, own.model(), inputs))
    return found


class Changer:
    """Changes attributes, names of inputs, and the inputs' shapes, dtypes and elements."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def change(self, model: Any, inputs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """A changed copy of a model, and of its inputs."""
        made, values = onnx.ModelProto.FromString(model.SerializeToString()), dict(inputs)
        for _ in range(self.chance.randint(1, 2)):
            node, kind = self.chance.choice(made.graph.node), self.chance.randrange(6)
            if kind <= 2 and node.attribute:
                self._change_attribute(node)
            elif kind == 3 and node.input:
                at = self.chance.randrange(len(node.input))
                node.input[at] = self.chance.choice(["", *values])
            elif values:
                name = self.chance.choice([*values])
                values[name] = self._change_array(values[name])
                _declare(made, name, values[name])
        return made, values

    def _change_attribute(self, node: Any) -> None:
        chosen = self.chance.choice(node.attribute)
        if self.chance.random() < 0.15:
            node.attribute.remove(chosen)
        elif chosen.type == AttributeProto.INT:
            chosen.i = self.chance.choice(_INTS)
        elif chosen.type == AttributeProto.FLOAT:
            chosen.f = self.chance.choice(_FLOATS)
        elif chosen.type == AttributeProto.STRING:
            chosen.s = self.chance.choice(_TEXTS)
        elif chosen.type == AttributeProto.INTS:
            self._change_list(chosen.ints, _INTS)
        elif chosen.type == AttributeProto.FLOATS:
            self._change_list(chosen.floats, _FLOATS)
        elif chosen.type == AttributeProto.STRINGS:
            self._change_list(chosen.strings, _TEXTS)
        elif chosen.type == AttributeProto.TENSOR and not chosen.t.string_data:
            flat = numpy_helper.to_array(chosen.t).reshape(-1)
            cut = flat[: self.chance.randrange(flat.size + 1)]
            chosen.t.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(cut)))

    def _change_list(self, items: Any, values: Sequence[Any]) -> None:
        kind = self.chance.randrange(4)
        if kind == 0:
            del items[:]
        elif kind == 1 and len(items):
            del items[-1]
        elif kind == 2 and len(items):
            items.append(items[0])
        elif len(items):
            items[self.chance.randrange(len(items))] = self.chance.choice(values)

    def _change_array(self, array: Any) -> Any:
        kind = self.chance.randrange(6)
        if kind == 0:
            array = array.reshape(-1)
        elif kind == 1:
            array = array[None]
        elif kind == 2 and array.ndim:
            array = array[..., :-1]
        elif kind == 3 and array.size:
            array = array.reshape(-1)[:1].reshape(())
        elif kind == 4 and array.ndim:
            array = array[:0]
        elif kind == 5 and array.dtype.kind in "biuf":
            with np.errstate(all="ignore"):
                array = array.astype(self.chance.choice(_DTYPES))
        if array.dtype.kind == "i" and array.size and self.chance.random() < 0.5:
            array = array.copy()
            at = self.chance.randrange(array.size)
            array.reshape(-1)[at] = self.chance.choice((-100, -1, 0, 1, 5, 100))
        return array


def _declare(model: Any, name: str, array: Any) -> None:
    """Makes the model say of an input what it is."""
    for item in model.graph.input:
        if item.name == name and array.dtype.kind in "biufc":
            item.type.tensor_type.ClearField("shape")
            item.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(array.dtype)


def _stop(number: int, frame: object) -> None:
    raise _Slow


def fuzz(seed: int, seconds: float) -> tuple[int, int, dict[str, str]]:
    """Runs changed models: how many ran, how many were refused, and faults by place."""
    changer, ran, refused, faults = Changer(seed), 0, 0, dict[str, str]()
    known = cases()
    before = signal.signal(signal.SIGALRM, _stop)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        name, model, inputs = changer.chance.choice(known)
        changed, values = changer.change(model, inputs)
        signal.setitimer(signal.ITIMER_REAL, _PATIENCE)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                with wia.onnx.load(changed, "reference") as session:
                    session.run(values)
            ran += 1
        except wia.WiaError:
            refused += 1
        except _Slow:
            pass
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            own = [frame for frame in frames if "onnx" in frame.filename] or frames
            place = f"{own[-1].filename}:{own[-1].lineno}"
            faults.setdefault(place, f"{name}: {type(error).__name__}: {error}")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    return ran, refused, faults


def main(arguments: Sequence[str] | None = None) -> int:
    """Fuzzes and tells the faults."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}", flush=True)
    ran, refused, faults = fuzz(options.seed, options.seconds)
    print(f"{ran} changed models ran, {refused} were refused")
    for place, text in sorted(faults.items()):
        print(f"{place}: {text}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
