"""Bodies to run in place of a node: functions of the model, and those that onnx defines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wia.onnx._errors import ModelError
from wia.onnx._graph import Function, Load, Node, Reference, read_function
from wia.onnx._values import Value, is_text

__all__ = ["Bodies"]


class Bodies:
    """Finds the body of a node, and reads each one once."""

    def __init__(self, protos: Iterable[Any], imports: Mapping[str, int], load: Load) -> None:
        self._load = load
        self._imports = imports
        self._protos = {(p.domain, p.name, getattr(p, "overload", "")): p for p in protos}
        self._read: dict[object, Function] = {}

    def names(self) -> set[tuple[str, str]]:
        """Domain and name of the functions of the model."""
        return {key[:2] for key in self._protos}

    def find(
        self, node: Node, inputs: Sequence[Value], attributes: Mapping[str, Any]
    ) -> Function | None:
        """The body for a node with these inputs, None where there is none."""
        own = self._protos.get((node.domain, node.op, getattr(node.proto, "overload", "")))
        if own is not None:
            return self._keep(id(own), own)
        schema = node.schema
        if schema is None:
            return None
        if schema.has_function:
            version = _choose(schema.function_opset_versions, node.opset)
            key: object = (node.domain, node.op, node.version, version)
            if key not in self._read:
                self._keep(key, _parse(schema.get_function_with_opset_version(version)), schema)
            return self._read[key]
        if not schema.has_context_dependent_function:
            return None
        types = [_type_of(value) for value in inputs]
        if any(kind is None for kind in types):
            return None
        version = _choose(schema.context_dependent_function_opset_versions, node.opset)
        plain = _settle(node, attributes)
        key = (plain, *types)
        if key in self._read:
            return self._read[key]
        data = schema.get_context_dependent_function_with_opset_version(version, plain, types)
        return self._keep(key, _parse(data), schema) if data else None

    def _keep(self, key: object, proto: Any, schema: Any = None) -> Function:
        if key not in self._read:
            declared = schema.attributes.values() if schema else ()
            defaults = [item.default_value for item in declared if item.default_value.type]
            self._read[key] = read_function(proto, self._imports, self._load, defaults)
        return self._read[key]


def _choose(versions: Sequence[int], opset: int) -> int:
    """The newest body that isn't newer than the opset of the node."""
    return max((v for v in versions if v <= opset), default=min(versions))


def _parse(data: bytes) -> Any:
    from onnx import FunctionProto

    return FunctionProto.FromString(data)


def _settle(node: Node, attributes: Mapping[str, Any]) -> bytes:
    """The proto of the node, with attributes of the function around it put in."""
    from onnx import helper

    if not any(isinstance(value, Reference) for value in node.attributes.values()):
        return bytes(node.proto.SerializeToString())
    proto = type(node.proto)()
    proto.CopyFrom(node.proto)
    del proto.attribute[:]
    for item in node.proto.attribute:
        if not item.ref_attr_name:
            proto.attribute.append(item)
        elif item.name in attributes:
            value = attributes[item.name]
            if not isinstance(value, int | float | str | tuple) or not _is_clean(value):
                raise ModelError(f"attribute {item.name!r} can't be that of a function")
            proto.attribute.append(helper.make_attribute(item.name, value, attr_type=item.type))
    return bytes(proto.SerializeToString())


def _is_clean(value: Any) -> bool:
    """Whether texts are UTF-8, which helper.make_attribute() needs."""
    texts = value if isinstance(value, tuple) else (value,)
    return not any(isinstance(t, str) and any("\ud800" <= c <= "\udfff" for c in t) for t in texts)


def _type_of(value: Value) -> bytes | None:
    """The TypeProto of a value, serialized; empty for an input that is left out."""
    from onnx import TensorProto, TypeProto, helper

    if value is None:
        return bytes(TypeProto().SerializeToString())
    if isinstance(value, dict):
        return None
    if isinstance(value, list):
        inner = _type_of(value[0]) if value else None
        if inner is None:
            return None
        made = TypeProto()
        made.sequence_type.elem_type.ParseFromString(inner)
        # its elements may differ in shape
        made.sequence_type.elem_type.tensor_type.ClearField("shape")
        return bytes(made.SerializeToString())
    code = TensorProto.STRING if is_text(value) else helper.np_dtype_to_tensor_dtype(value.dtype)
    return bytes(helper.make_tensor_type_proto(code, list(value.shape)).SerializeToString())
