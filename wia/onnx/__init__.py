"""ONNX models on any device. Needs the package onnx: pip install 'wia[onnx]'.

>>> import wia.onnx
>>> session = wia.onnx.load("model.onnx", device="npu:0")  # doctest: +SKIP
>>> session.run({"x": array})["y"]  # doctest: +SKIP
"""

from __future__ import annotations

from wia.onnx._errors import ModelError, UnsupportedError
from wia.onnx._inspect import Inspection, inspect
from wia.onnx._own import register
from wia.onnx._session import InputInfo, Placement, Session, load

__all__ = [
    "InputInfo",
    "Inspection",
    "ModelError",
    "Placement",
    "Session",
    "UnsupportedError",
    "inspect",
    "load",
    "register",
]

# Programs see the public name, in tracebacks too.
for _public in (ModelError, UnsupportedError, Session, Placement, InputInfo, Inspection):
    _public.__module__ = __name__
