"""Sessions: a model on a device, its weights loaded, to be run many times."""

from __future__ import annotations

import os
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from wia._context import Context
from wia._device import Device
from wia._errors import (
    ArgumentTypeError,
    FailedPreconditionError,
    InvalidArgumentError,
    WiaError,
)
from wia._tensor import Tensor
from wia.onnx._errors import rename
from wia.onnx._load import Model, read_model
from wia.onnx._place import DEVICE, HOST, REFERENCE, SHAPES, Placer
from wia.onnx._run import NodeRecord, Runtime
from wia.onnx._values import Value, describe, is_text, take_map, texts

if TYPE_CHECKING:
    import numpy as np

__all__ = ["InputInfo", "Placement", "Session", "describe_value", "load"]


class InputInfo(NamedTuple):
    """What a model says about an input or output.

    ``dtype`` is the name of one, "string", or "" for a sequence, map or optional; sizes that aren't
    fixed are texts, "?" without a name. ``shape`` is None where the model says nothing.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...] | None


class Placement(NamedTuple):
    """Where the nodes of a model ran: names by place.

    ``reference`` are those of which the reference driver computed at least a part in place of the
    device; ``shapes`` compute with sizes of tensors, also there. ``host`` are strings, sequences,
    optionals, control flow whose graphs issued nothing, and what only gives a value another shape.
    ``operations`` counts those of the catalog, by place.
    """

    device: tuple[str, ...]
    reference: tuple[str, ...]
    shapes: tuple[str, ...]
    host: tuple[str, ...]
    operations: Mapping[str, int]


class Session:
    """A model that is ready to run. wia.onnx.load() makes it."""

    def __init__(self, model: Model, device: str | Device | None, strict: bool) -> None:
        self._context: Context | None = Context(device)
        self._model = model
        self._placer = Placer(self._context, strict)
        # A model that is loaded and run in one expression is closed by nobody else.
        weakref.finalize(self, _close, self._placer, self._context)
        self._runtime = Runtime(self._placer, model.bodies)
        self._records: list[NodeRecord] = []
        graph = model.graph
        self._runtime.constants(graph)
        own = set(graph.constants)
        self._inputs = tuple(
            describe_value(i) for i in model.proto.graph.input if i.name not in own
        )
        self._defaulted = tuple(describe_value(i) for i in model.proto.graph.input if i.name in own)
        self._outputs = tuple(describe_value(item) for item in model.proto.graph.output)
        self._types = {item.name: item.type for item in model.proto.graph.input}

    @property
    def device(self) -> Device:
        """The device that the model runs on."""
        return self._open().device

    @property
    def context(self) -> Context:
        """The context that the model runs in."""
        return self._open()

    @property
    def inputs(self) -> tuple[InputInfo, ...]:
        """The inputs that have to be given."""
        return self._inputs

    @property
    def outputs(self) -> tuple[InputInfo, ...]:
        """The outputs."""
        return self._outputs

    def run(
        self,
        inputs: Mapping[str, Any] | Sequence[Any] | None = None,
        outputs: Sequence[str] | None = None,
        *,
        keep: bool = False,
    ) -> dict[str, Any]:
        """The outputs by name: numpy arrays, lists for sequences, dicts for maps, None for nothing.

        Inputs are given by name or in their order, as arrays, tensors of any device, lists for
        sequences, dicts for maps, or numpy arrays of strings. With keep=True tensors stay on the
        device, as wia.Tensor, which may share memory with the model: don't write to them.
        """
        context = self._open()
        graph = self._model.graph
        wanted = list(graph.outputs) if outputs is None else list(outputs)
        unknown = [name for name in wanted if name not in graph.outputs]
        if unknown:
            raise InvalidArgumentError(
                f"The outputs {unknown} were asked for; {self._model.name} has "
                f"{', '.join(graph.outputs)}."
            )
        given = {
            name: self._take(context, info, value)
            for name, (info, value) in self._match(inputs).items()
        }
        self._records = []
        self._placer.operations.clear()
        results = dict(
            zip(graph.outputs, self._runtime.run(graph, given, self._records), strict=True)
        )
        return {name: results[name] if keep else _to_host(results[name]) for name in wanted}

    def placement(self) -> Placement:
        """Where the nodes ran in the last run. Raises FailedPreconditionError before the first."""
        if not self._records:
            raise FailedPreconditionError(
                f"{self._model.name} has not run yet; placement() tells of the last run."
            )
        names: dict[str, list[str]] = {place: [] for place in (DEVICE, REFERENCE, SHAPES, HOST)}
        counts: Counter[str] = Counter()
        for record in self._records:
            counts.update({p: n for p, n in record.places.items() if p != HOST})
            order = (REFERENCE, DEVICE, SHAPES, HOST)
            names[next(p for p in order if record.places.get(p))].append(record.name)
        device, reference, shapes, host = (tuple(names[place]) for place in names)
        return Placement(device, reference, shapes, host, counts)

    def records(self) -> Sequence[NodeRecord]:
        """What each node of the main graph did in the last run."""
        return tuple(self._records)

    def close(self) -> None:
        """Gives up the weights and the device."""
        if self._context is not None:
            self._runtime = Runtime(self._placer, self._model.bodies)
            _close(self._placer, self._context)
            self._context = None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        where = "closed" if self._context is None else self._context.device.name
        return f"wia.onnx.Session({self._model.name!r}, {where})"

    # -- inputs -----------------------------------------------------------------------------------

    def _open(self) -> Context:
        if self._context is None:
            raise FailedPreconditionError(f"The session of {self._model.name} is closed.")
        return self._context

    def _match(
        self, inputs: Mapping[str, Any] | Sequence[Any] | None
    ) -> dict[str, tuple[InputInfo, Any]]:
        known = {info.name: info for info in (*self._inputs, *self._defaulted)}
        if inputs is None:
            inputs = {}
        if not isinstance(inputs, Mapping):
            order = [info.name for info in (*self._inputs, *self._defaulted)]
            if len(inputs) > len(order):
                raise InvalidArgumentError(
                    f"{len(inputs)} inputs were given; {self._model.name} has {len(order)}."
                )
            inputs = dict(zip(order, inputs, strict=False))
        missing = [info.name for info in self._inputs if info.name not in inputs]
        unknown = [name for name in inputs if name not in known]
        if missing or unknown:
            what = "lacks" if missing else "was given what it doesn't have:"
            raise InvalidArgumentError(
                f"{self._model.name} {what} {', '.join(map(repr, missing or unknown))}; its inputs "
                f"are {', '.join(map(_say, self._inputs)) or 'none'}."
            )
        return {name: (known[name], value) for name, value in inputs.items()}

    def _take(self, context: Context, info: InputInfo, value: Any) -> Value:
        import numpy as np

        if isinstance(value, Mapping):
            kind = self._types[info.name]
            while kind.WhichOneof("value") in ("sequence_type", "optional_type"):
                kind = getattr(kind, kind.WhichOneof("value")).elem_type
            if kind.HasField("map_type"):
                return take_map(value, kind.map_type)
            raise ArgumentTypeError(
                f"Input {info.name!r} was given as a map; expected {_say(info)}."
            )
        if value is None or isinstance(value, list | tuple):
            if info.dtype:
                value = _to_array(info, value)
            else:
                free = InputInfo(info.name, "", None)
                return None if value is None else [self._take(context, free, v) for v in value]
        if isinstance(value, Tensor):
            taken: Value = value.to(context)
        else:
            taken = self._take_array(info, value)
        found = "string" if is_text(taken) else getattr(taken, "dtype", np.dtype(object)).name
        if info.dtype and found != info.dtype:
            raise ArgumentTypeError(
                f"Input {info.name!r} was given as {describe(taken)}; expected {_say(info)}."
            )
        return taken

    def _take_array(self, info: InputInfo, value: Any) -> Value:
        import numpy as np

        array = np.asarray(value)
        try:
            return texts(array) if array.dtype.kind in "OSU" else self._placer.put(array)
        except WiaError as error:  # a dtype that WIA doesn't have, or no memory
            raise rename(error, f"Input {info.name!r}") from None


def load(source: Any, device: str | Device | None = None, *, strict: bool = False) -> Session:
    """Loads a model onto a device: a path, the bytes of a file, or an onnx.ModelProto.

    What the device lacks runs on the reference driver, as placement() tells; with strict=True it
    raises UnsupportedError. Raises ModelError for files that are damaged or no valid model,
    UnavailableError without the package onnx.

    >>> import wia.onnx
    >>> from onnx import helper
    >>> x, y = (helper.make_tensor_value_info(name, 1, [2]) for name in "xy")
    >>> graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", [x], [y])
    >>> with wia.onnx.load(helper.make_model(graph), device="reference") as session:
    ...     session.run({"x": [-1.0, 2.0]})["y"].tolist()
    [0.0, 2.0]
    """
    if isinstance(source, str) and not source:
        raise InvalidArgumentError("An empty path was given; expected that of a model.")
    if isinstance(source, os.PathLike):
        source = os.fspath(source)
    return Session(read_model(source), device, strict)


def _to_array(info: InputInfo, value: Any) -> np.ndarray[Any, Any]:
    """An array of lists of Python's numbers or texts."""
    import numpy as np

    try:
        return np.asarray(value, object if info.dtype == "string" else info.dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidArgumentError(
            f"Input {info.name!r} can't be made of what was given: {error}; expected {_say(info)}."
        ) from None


def _close(placer: Placer, context: Context) -> None:
    placer.close()
    context.close()


def describe_value(item: Any) -> InputInfo:
    """What a ValueInfoProto says."""
    from onnx import TensorProto, helper

    kind = item.type.tensor_type
    if not item.type.HasField("tensor_type"):
        return InputInfo(item.name, "", None)
    try:
        dtype = (
            "string"
            if kind.elem_type == TensorProto.STRING
            else helper.tensor_dtype_to_np_dtype(kind.elem_type).name
        )
    except KeyError:
        dtype = ""
    shape = tuple(
        dim.dim_value if dim.HasField("dim_value") and dim.dim_value > 0 else dim.dim_param or "?"
        for dim in kind.shape.dim
    )
    return InputInfo(item.name, dtype, shape if kind.HasField("shape") else None)


def _say(info: InputInfo) -> str:
    sizes = "" if info.shape is None else f"[{', '.join(map(str, info.shape))}]"
    return f"{info.name}: {info.dtype or 'a sequence, map or optional'}{sizes}"


def _to_host(value: Value) -> Any:
    if isinstance(value, list):
        return [_to_host(item) for item in value]
    return value.numpy() if isinstance(value, Tensor) else value
