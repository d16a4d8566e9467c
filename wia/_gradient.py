"""The gradient of one operation, as the library makes it of its program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wia._attributes import find_operation, pack_attributes
from wia._dtype import numpy_dtype
from wia._errors import check
from wia._native import NULL, ffi, lib, new_struct, text
from wia._resource import Resource, destroyer

if TYPE_CHECKING:
    from wia._tensor import Tensor

__all__ = ["Gradient"]

_LEFT_OUT = 0xFFFFFFFF


class Gradient(Resource):
    """The group of operations that gives the gradients of some inputs of a call."""

    __slots__ = ("_group", "_inputs")
    _destroy = destroyer("gradient")

    def __init__(
        self,
        op: str,
        inputs: Sequence[Tensor | None],
        outputs: Sequence[Tensor | None],
        values: Mapping[str, object],
        wanted: Sequence[int],
        known: Sequence[Tensor | None],
    ) -> None:
        """wanted are numbers of inputs; known are the gradients of outputs, None for those of 0.

        Raises UnimplementedError, saying why, where there is no gradient.
        """
        entry = find_operation(op)
        attributes, count, kept = pack_attributes(entry, values)
        layouts = _layouts(inputs), _layouts(outputs)
        config = new_struct(
            "wia_gradient_config_t",
            op=entry.number,
            inputs=layouts[0],
            outputs=layouts[1],
            attributes=attributes,
            input_count=len(inputs),
            output_count=len(outputs),
            attribute_count=count,
            wanted=sum(1 << place for place in wanted),
            known=sum(1 << i for i, tensor in enumerate(known) if tensor is not None),
        )
        out = ffi.new("wia_gradient_t **")
        check(lib.wia_query_gradient(config, out))
        del kept
        super().__init__(out[0])
        info = new_struct("wia_gradient_info_t")
        check(lib.wia_get_gradient_info(self._handle, info))
        self._group, self._inputs = info.group, info.inputs

    def run(
        self,
        inputs: Sequence[Tensor | None],
        outputs: Sequence[Tensor | None],
        known: Sequence[Tensor | None],
    ) -> list[Tensor]:
        """Executes the nodes one by one; the results are in the order of the wanted inputs."""
        group = self._group
        sources = {
            lib.WIA_ROLE_INPUT: inputs,
            lib.WIA_ROLE_OUTPUT: outputs,
            lib.WIA_ROLE_GRADIENT: known,
        }
        tensors: dict[int, Tensor | None] = {_LEFT_OUT: None}
        for i in range(group.input_count):
            given = self._inputs[i]
            tensors[group.inputs[i]] = sources[given.role][given.index]
        context = next(t.context for t in (*known, *inputs) if t is not None)
        for n in range(group.node_count):
            node = group.nodes[n]
            operands = [tensors[node.inputs[i]] for i in range(node.input_count)]
            made = context.execute(node.op, operands, None, **_attributes(node))
            for i in range(node.output_count):
                if node.outputs[i] != _LEFT_OUT:
                    tensors[node.outputs[i]] = made[i]
        results = [tensors[group.outputs[i]] for i in range(group.output_count)]
        return [tensor for tensor in results if tensor is not None]


def _layouts(tensors: Sequence[Tensor | None]) -> Any:
    layouts = ffi.new("wia_tensor_layout_t *[]", len(tensors))
    for i, tensor in enumerate(tensors):
        if tensor is not None:
            info = new_struct("wia_tensor_info_t")
            check(lib.wia_get_tensor_info(tensor._handle, info))
            layouts[i] = ffi.cast("wia_tensor_layout_t *", info.layout)
    return layouts


def _attributes(node: Any) -> dict[str, Any]:
    """The attributes of a node, as Context.execute takes them."""
    return {
        text(node.attributes[i].name): _value(node.attributes[i])
        for i in range(node.attribute_count)
    }


def _value(attribute: Any) -> object:
    if attribute.type == lib.WIA_ATTRIBUTE_DTYPE:
        return numpy_dtype(ffi.cast("int32_t *", attribute.data)[0])
    kind = "double" if attribute.type == lib.WIA_ATTRIBUTE_FLOAT64 else "int64_t"
    if attribute.data == NULL:
        return []
    return list(ffi.unpack(ffi.cast(f"{kind} *", attribute.data), attribute.count))
