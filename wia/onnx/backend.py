"""The standard interface of ONNX back ends, for programs that are written to it.

>>> import wia.onnx.backend as backend
>>> backend.supports_device("CPU")
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import wia
from wia.onnx._errors import ModelError
from wia.onnx._load import need_onnx, read_model
from wia.onnx._session import Session, load

need_onnx()

from onnx import helper  # noqa: E402  # only when it is known to be there
from onnx.backend.base import Backend, BackendRep, namedtupledict  # noqa: E402

__all__ = [
    "WiaBackend",
    "WiaBackendRep",
    "is_compatible",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
]

_DEFAULT = "reference:0"


class WiaBackendRep(BackendRep):
    """A model that is ready to run."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs in their order, for inputs by name, in their order, or a single array."""
        if not isinstance(inputs, Mapping | list | tuple):
            inputs = [inputs]
        results = self.session.run(inputs)
        names = [info.name for info in self.session.outputs]
        made: tuple[Any, ...] = namedtupledict("Outputs", names)(*(results[n] for n in names))
        return made


class WiaBackend(Backend):
    """Devices are named as WIA names them, "npu:0"; "CPU" is the reference driver."""

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether the model is valid. What it needs is known when it runs."""
        try:
            read_model(model)
        except ModelError:
            return False
        return True

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> WiaBackendRep:
        """Loads a model; strict=True as in wia.onnx.load()."""
        return WiaBackendRep(load(model, _name(device), strict=bool(kwargs.get("strict", False))))

    @classmethod
    def run_node(
        cls,
        node: Any,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[Any] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Runs one node on inputs in the order of its names, of the newest opset or opset_version.

        outputs_info isn't needed.
        """
        import numpy as np

        if isinstance(inputs, Mapping):
            inputs = [inputs[name] for name in node.input if name]
        names = [name for name in node.input if name]
        infos = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(np.asarray(value).dtype), np.shape(value)
            )
            for name, value in zip(names, inputs, strict=True)
        ]
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = helper.make_graph([node], "node", infos, outputs)
        opset = kwargs.get("opset_version")
        opsets = None if opset is None else [helper.make_opsetid(node.domain, opset)]
        model = helper.make_model(graph, opset_imports=opsets)
        return cls.prepare(model, device).run(dict(zip(names, inputs, strict=True)))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether there is a device of this name."""
        try:
            wia.find_device(_name(device))
        except wia.WiaError:
            return False
        return True


def _name(device: str) -> str:
    return _DEFAULT if device.partition(":")[0].upper() == "CPU" else device


is_compatible = WiaBackend.is_compatible
prepare = WiaBackend.prepare
run_model = WiaBackend.run_model
run_node = WiaBackend.run_node
supports_device = WiaBackend.supports_device
