"""What a lowering sees of its node: inputs, attributes, and operations to issue."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from wia._tensor import Tensor
from wia.onnx._errors import ModelError, UnsupportedError
from wia.onnx._values import Value, describe

if TYPE_CHECKING:
    import numpy as np

    from wia.onnx._graph import Node
    from wia.onnx._run import Runtime

__all__ = ["Call", "Lowering", "Result"]

Result: TypeAlias = "Value | tuple[Value, ...]"
"""One output, or a tuple of all. A list is one output that is a sequence."""

Lowering: TypeAlias = "Callable[[Call], Result]"

Made = TypeVar("Made")


def _make(make: Callable[[], Made]) -> Made:
    """What a function makes of attributes, whose numbers may be beyond what a dtype holds."""
    try:
        return make()
    except OverflowError as error:
        raise ModelError(f"a number of an attribute has no place: {error}") from None


class Call:
    """One node that is about to run.

    ``version`` is the opset in which the operator last changed: what a lowering has to ask for.
    """

    __slots__ = ("_runtime", "attributes", "inputs", "node", "version")

    def __init__(
        self,
        runtime: Runtime,
        node: Node,
        inputs: Sequence[Value],
        attributes: dict[str, Any],
    ) -> None:
        self._runtime = runtime
        self.node = node
        self.version = node.version
        self.inputs = tuple(inputs)
        self.attributes = attributes

    # -- inputs -----------------------------------------------------------------------------------

    def value(self, index: int) -> Value:
        """An input, None where it is left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def get(self, index: int) -> Tensor | None:
        """An input that is a tensor of numbers, None where it is left out."""
        value = self.value(index)
        if value is None or isinstance(value, Tensor):
            return value
        raise UnsupportedError(
            f"input {index} is a {describe(value)}; expected a tensor of numbers"
        )

    def tensor(self, index: int) -> Tensor:
        """An input that has to be given."""
        tensor = self.get(index)
        if tensor is None:
            raise ModelError(f"input {index} is not given")
        return tensor

    def tensors(self) -> list[Tensor]:
        """All inputs, which have to be given."""
        return [self.tensor(index) for index in range(len(self.inputs))]

    def host(self, index: int) -> np.ndarray[Any, Any]:
        """The elements of an input on the host: waits for the device if they are there."""
        return self.read(self.tensor(index))

    def read(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        """The elements of a tensor on the host, as host()."""
        return self._runtime.placer.read(tensor)

    def number(self, tensor: Tensor) -> int:
        """The only element of a tensor of integers or bool."""
        if tensor.size != 1:
            raise ModelError(f"a tensor has {tensor.size} elements; expected one")
        return int(self.read(tensor).reshape(-1)[0])

    def item(self, index: int) -> Any:
        """The only element of an input as Python's int, float or bool."""
        elements = self.host(index).reshape(-1)
        if elements.size != 1:
            raise ModelError(f"input {index} has {elements.size} elements; expected one")
        if elements.dtype.kind == "c":
            raise ModelError(f"input {index} is a complex number; expected a real one")
        return elements.astype(object)[0]

    def ints(self, index: int) -> tuple[int, ...] | None:
        """The elements of an input as integers, None where it is left out."""
        if self.value(index) is None:
            return None
        elements = self.host(index).reshape(-1)
        if elements.dtype.kind == "c":
            raise ModelError(f"input {index} has complex numbers; expected integers")
        try:
            return tuple(int(item) for item in elements)
        except (ValueError, OverflowError):  # NaN and infinity
            raise ModelError(f"input {index} has {elements.tolist()}; expected integers") from None

    def integer(self, index: int, default: int | None = None) -> int:
        """The only element of an input as an integer; the default where it is left out."""
        elements = self.ints(index)
        if elements is None and default is not None:
            return default
        if elements is None or len(elements) != 1:
            given = "not given" if elements is None else f"{list(elements[:10])}"
            raise ModelError(f"input {index} is {given}; expected one integer")
        return elements[0]

    # -- attributes -------------------------------------------------------------------------------

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute or what it is when it isn't given."""
        return self.attributes.get(name, default)

    def required(self, name: str) -> Any:
        """An attribute that has to be given."""
        if name not in self.attributes:
            raise ModelError(f"the attribute {name!r} is not given")
        return self.attributes[name]

    def choice(self, name: str, choices: Mapping[Any, Any], default: Any = None) -> Any:
        """What a value of an attribute stands for, of those that it may have."""
        value = self.required(name) if default is None else self.attribute(name, default)
        if value not in choices:
            expected = ", ".join(map(repr, choices))
            raise ModelError(f"the attribute {name!r} is {value!r}; expected one of {expected}")
        return choices[value]

    def dtype(self, name: str, default: Any = None) -> Any:
        """The dtype of numbers that an attribute says; the default where it is absent or 0."""
        from onnx import TensorProto, helper

        code = self.attribute(name, 0)
        if not code and default is not None:
            return default
        numbers = {*TensorProto.DataType.values()} - {TensorProto.UNDEFINED, TensorProto.STRING}
        if code not in numbers:
            raise ModelError(f"the attribute {name!r} is {code}; expected a type of numbers")
        return helper.tensor_dtype_to_np_dtype(code)

    def axes(self, name: str = "axes", index: int = 1) -> tuple[int, ...] | None:
        """Numbers that are an attribute in old opsets and an input in new ones."""
        given = self.attributes.get(name)
        return tuple(given) if given is not None else self.ints(index)

    @property
    def wanted(self) -> int:
        """The number of outputs up to the last one that has a name."""
        names = self.node.outputs
        return max((i + 1 for i, name in enumerate(names) if name), default=0)

    # -- operations -------------------------------------------------------------------------------

    def op(self, name: str, *inputs: Tensor | None, **attributes: Any) -> Tensor:
        """The output of an operation of the catalog, the first one where there are several."""
        return self._run(name, inputs, attributes, 1)[0]

    def ops(
        self, name: str, *inputs: Tensor | None, count: int | None = None, **attributes: Any
    ) -> tuple[Tensor, ...]:
        """The first outputs of an operation of the catalog, all of them without a count."""
        return self._run(name, inputs, attributes, count)

    def _run(
        self,
        name: str,
        inputs: Sequence[Tensor | None],
        attributes: dict[str, Any],
        count: int | None,
    ) -> tuple[Tensor, ...]:
        given = list(inputs)
        while given and given[-1] is None:
            given.pop()
        return self._runtime.placer.run(name, given, attributes, count)

    def literal(self, value: Any, dtype: Any) -> Tensor:
        """A tensor of a few numbers."""
        import numpy as np

        return self._runtime.placer.literal(_make(lambda: np.array(value, dtype)))

    def put(self, array: np.ndarray[Any, Any]) -> Tensor:
        """A tensor for an array that was computed on the host."""
        return self._runtime.placer.put(array)

    def kept(self, make: Callable[[], Any], *key: object) -> Any:
        """What is made of nothing but attributes: made in the first run that asks for this key."""
        return self._runtime.kept(self.node, lambda: _make(make), key)

    def once(self, make: Callable[[], np.ndarray[Any, Any]], *key: object) -> Tensor:
        """A tensor for an array that is made as kept() says."""
        placer = self._runtime.placer
        tensor: Tensor = self.kept(lambda: placer.keep(placer.put(make())), *key)
        return tensor

    def cast(self, tensor: Tensor, dtype: Any) -> Tensor:
        """The tensor in another dtype."""
        if tensor.dtype == dtype:
            return tensor
        return self.op("cast", tensor, dtype=dtype)

    def reshape(self, tensor: Tensor, *shape: int) -> Tensor:
        """The tensor under another shape: a view, since tensors of a model have no gaps."""
        return tensor.reshape(shape)

    def draw_seed(self) -> float:
        """A new seed for random numbers, of a node that doesn't say one."""
        return float(random.getrandbits(31))

    @property
    def memory(self) -> int:
        """Bytes that all values together can't exceed."""
        return self._runtime.placer.memory

    # -- graphs -----------------------------------------------------------------------------------

    def run_graph(self, graph: Any, *inputs: Value) -> list[Value]:
        """Runs a graph of the node, which also sees the values around it."""
        return self._runtime.run_inner(graph, inputs)
