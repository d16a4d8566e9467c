"""Where operations run: on the device, or on the reference driver where the device lacks them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from wia._context import Context
from wia._dtype import BITS, NAMES
from wia._errors import ResourceExhaustedError, UnimplementedError
from wia._tensor import Tensor, allocate
from wia.catalog import Operation, find_entry
from wia.onnx._errors import UnsupportedError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["DEVICE", "HOST", "REFERENCE", "SHAPES", "Placer"]

DEVICE, REFERENCE, SHAPES, HOST = "device", "reference", "shapes", "host"
"""Where a node ran; SHAPES: on the reference driver, since it computes with sizes of tensors."""

_SMALL = 1024
"""Elements of a tensor that may be one of sizes."""
_SIZE_DTYPES = ("int64", "int32", "bool")
_CACHED = 256
_UNKNOWN_MEMORY = 2**34


class Placer:
    """Runs operations of the catalog.

    Sizes of tensors and small constants stay on the reference driver, and so does what is computed
    from nothing else: shapes, axes and the like, which the host needs soon. All other values stay
    on the device; what the reference driver computes in its place comes back at once.
    """

    def __init__(self, device: Context, strict: bool = False, *, apart: bool = False) -> None:
        """With apart sizes have a context of their own also where the device is the reference."""
        own = apart or device.device.driver_name != "reference"
        self.device = device
        self._own = Context("reference") if own else None
        self.small = self._own or device
        self.strict = strict
        # Devices that don't say how much memory they have get a bound too.
        self.memory = device.device.total_memory_size or _UNKNOWN_MEMORY
        """Bytes of the device, the most that values can take."""
        self.places: Counter[str] = Counter()
        """Operations since they were last cleared, by place."""
        self.operations: Counter[str] = Counter()
        self._refused: set[object] = set()
        self._moved: dict[int, tuple[Tensor, Tensor]] = {}
        self._literals: dict[object, Tensor] = {}
        self._moved_literals: dict[int, tuple[Tensor, Tensor]] = {}

    def close(self) -> None:
        """Gives up what was kept, and the context of the reference driver."""
        self._moved.clear()
        self._moved_literals.clear()
        self._literals.clear()
        if self._own is not None:
            self._own.close()

    # -- values -----------------------------------------------------------------------------------

    def put(self, array: np.ndarray[Any, Any]) -> Tensor:
        """A tensor for an array, where its values will be needed."""
        small = array.size <= _SMALL and array.ndim <= 1 and array.dtype.name in _SIZE_DTYPES
        return (self.small if small else self.device).tensor(array)

    def literal(self, array: np.ndarray[Any, Any]) -> Tensor:
        """A tensor of a few numbers that a lowering needs, made once."""
        key = (array.dtype.name, array.shape, array.tobytes())
        if key not in self._literals:
            if len(self._literals) >= _CACHED:
                self._literals.clear()
                self._moved_literals.clear()
            made = self.small.tensor(array)
            self._literals[key], self._moved_literals[id(made)] = made, (made, made)
        return self._literals[key]

    def keep(self, tensor: Tensor) -> Tensor:
        """Marks a constant: where it has to be moved to the device, that is done once."""
        self._moved[id(tensor)] = (tensor, tensor)
        return tensor

    def read(self, tensor: Tensor) -> np.ndarray[Any, Any]:
        """The elements on the host: waits for the device if they are there."""
        return tensor.numpy()

    def to_device(self, tensor: Tensor) -> Tensor:
        """The tensor, or a copy on the device."""
        if tensor.context is self.device:
            return tensor
        for known in (self._moved, self._moved_literals):
            kept = known.get(id(tensor))
            if kept is None:
                continue
            if kept[1].context is not self.device:
                known[id(tensor)] = kept = (tensor, tensor.to(self.device))
            return kept[1]
        return tensor.to(self.device)

    # -- operations -------------------------------------------------------------------------------

    def run(
        self,
        name: str,
        inputs: Sequence[Tensor | None],
        attributes: dict[str, Any],
        count: int | None = None,
    ) -> tuple[Tensor, ...]:
        """The first outputs of an operation. Raises UnsupportedError where nobody has it."""
        entry = _find(name, inputs)
        self.operations[name] += 1
        if self._own is None:
            return self._execute(DEVICE, self.device, entry, inputs, attributes, count)
        if inputs and all(tensor is None or tensor.context is self._own for tensor in inputs):
            results = self._execute(SHAPES, self._own, entry, inputs, attributes, count)
            return tuple(r if r.size <= _SMALL else r.to(self.device) for r in results)
        signature = (name, count, *map(_describe, inputs), *sorted(map(str, attributes.items())))
        if signature not in self._refused:
            moved = [t if t is None else self.to_device(t) for t in inputs]
            try:
                return self._execute(DEVICE, self.device, entry, moved, attributes, count)
            except UnsupportedError as error:
                if self.strict:
                    raise UnsupportedError(
                        f"strict=True forbids the reference driver, and {error}"
                    ) from None
            self._refused.add(signature)
        moved = [t if t is None else t.to(self._own) for t in inputs]
        results = self._execute(REFERENCE, self._own, entry, moved, attributes, count)
        return tuple(result.to(self.device) for result in results)

    def _execute(
        self,
        place: str,
        context: Context,
        entry: Operation,
        inputs: Sequence[Tensor | None],
        attributes: dict[str, Any],
        count: int | None,
    ) -> tuple[Tensor, ...]:
        described = context._find_outputs(entry.number, tuple(inputs), attributes)
        made: list[Tensor | None] = []
        for i, (shape, code) in enumerate(described):
            if count is not None and i >= count and entry.outputs[i].optional:
                made.append(None)
                continue
            self._check_size(entry.name, shape, code)
            made.append(allocate(context, shape, code))
        try:
            context.execute(entry.name, inputs, made, **attributes)
        except UnimplementedError as error:
            raise UnsupportedError(str(error)) from None
        self.places[place] += 1
        return tuple(item for item in made[:count] if item is not None)

    def _check_size(self, name: str, shape: tuple[int, ...], code: int) -> None:
        """Raises ResourceExhaustedError for what no device could hold, before memory is taken."""
        size = math.prod(shape) * BITS[code] // 8
        if size > self.memory:
            raise ResourceExhaustedError(
                f"the operation {name} would give {NAMES[code]}{list(shape)}, {size} bytes; the "
                f"memory of {self.device.device.name} has {self.memory}"
            )


def _find(name: str, inputs: Sequence[Tensor | None]) -> Operation:
    entry = find_entry(name)
    if entry is None:
        raise UnsupportedError(f"WIA has no operation {name}")
    lead = 0 if entry.variadic else entry.lead
    first = inputs[lead] if 0 <= lead < len(inputs) else None
    if first is not None and first.dtype.name not in entry.dtypes:
        raise UnsupportedError(
            f"the operation {name} has no {first.dtype}; it has {', '.join(entry.dtypes)}"
        )
    return entry


def _describe(tensor: Tensor | None) -> str:
    return "" if tensor is None else f"{tensor.dtype}{tensor.shape}"
