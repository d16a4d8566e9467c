"""Reading a model: the file, its checks, the data beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from wia._errors import NotFoundError, UnavailableError
from wia.onnx._bodies import Bodies
from wia.onnx._errors import ModelError, UnsupportedError
from wia.onnx._graph import Graph, read_graph
from wia.onnx._values import load_tensor

__all__ = ["Model", "infer", "need_onnx", "read_model"]

_LARGEST = 2**31
"""Bytes of a protobuf message."""


class Model(NamedTuple):
    """A model that passed the checks."""

    name: str
    proto: Any
    graph: Graph
    bodies: Bodies


def need_onnx() -> Any:
    """The package onnx. Raises UnavailableError with the command that installs it."""
    try:
        import onnx
    except ImportError as error:
        raise UnavailableError(
            f"wia.onnx reads models with the package onnx, which can't be imported: {error}. "
            "Install it with: pip install 'wia[onnx]'."
        ) from None
    return onnx


def read_model(source: Any) -> Model:
    """A model from a path, the bytes of a file, or a ModelProto."""
    onnx = need_onnx()
    folder = ""
    if isinstance(source, onnx.ModelProto):
        proto, name = source, source.graph.name or "model"
    elif isinstance(source, bytes | bytearray | memoryview):
        proto, name = _parse(bytes(source), "the model"), "model"
    else:
        path = Path(source)
        name, folder = str(path), str(path.resolve().parent)
        proto = _parse(_read(path), str(path))
    if not proto.HasField("graph"):
        raise ModelError(f"{name} is no ONNX model: it has no graph.")
    _check(onnx, proto, name, folder)
    opsets = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in proto.opset_import}
    if not opsets and proto.ir_version < 3:  # before there were opsets
        opsets = {"": 1}

    newest = onnx.defs.onnx_opset_version()
    if opsets.get("", 0) > newest:
        raise UnsupportedError(
            f"{name} is of opset {opsets['']}; onnx {onnx.__version__} knows those up to {newest}. "
            "Install a newer one: pip install --upgrade onnx."
        )

    def load(tensor: Any) -> Any:
        return load_tensor(tensor, folder)

    graph = read_graph(proto.graph, opsets, load)
    return Model(name, proto, graph, Bodies(proto.functions, opsets, load))


def infer(proto: Any) -> Any:
    """The main graph with what onnx infers of its values; as it is where that fails.

    A file may declare wrong shapes, which doesn't matter for a run. A Split that asks for more
    outputs than it has is left to the run too: onnx would take memory for each.
    """
    import onnx

    counts = (
        attribute.i - len(part.output)
        for part in _parts(proto)
        for attribute in getattr(part, "attribute", ())
        if attribute.name == "num_outputs"
    )
    if any(count > 0 for count in counts):
        return proto.graph
    try:
        return onnx.shape_inference.infer_shapes(proto).graph
    except (onnx.shape_inference.InferenceError, ValueError, RuntimeError, TypeError, MemoryError):
        return proto.graph


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > _LARGEST:
            raise ModelError(
                f"{path} has {path.stat().st_size} bytes; a model has at most {_LARGEST}, and its "
                "weights in files beside it."
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {path}.") from None
    except OSError as error:
        raise ModelError(f"{path} can't be read: {error.strerror}") from None


def _parse(data: bytes, name: str) -> Any:
    from google.protobuf.message import DecodeError
    from onnx import ModelProto

    try:
        return ModelProto.FromString(data)
    except DecodeError:
        raise ModelError(
            f"{name} is no ONNX model, or only a part of one: its {len(data)} bytes don't parse."
        ) from None


def _check(onnx: Any, proto: Any, name: str, folder: str) -> None:
    outside = [t for t in _tensors(proto) if t.data_location == onnx.TensorProto.EXTERNAL]
    for tensor in outside:
        _check_place(tensor, name, folder)
    if proto.ir_version > onnx.IR_VERSION:
        raise UnsupportedError(
            f"{name} is of IR version {proto.ir_version}; onnx {onnx.__version__} knows those up "
            f"to {onnx.IR_VERSION}. Install a newer one: pip install --upgrade onnx."
        )
    try:
        with _shapes_declared(proto), _emptied(outside):
            onnx.checker.check_model(proto, full_check=False)
    except onnx.checker.ValidationError as error:
        text = str(error).split("==> Context:")[0]
        raise ModelError(f"{name} is no valid model: {' '.join(text.split())}") from None
    except (ValueError, RuntimeError, UnicodeDecodeError) as error:
        raise ModelError(f"{name} is no valid model: {error}") from None


@contextmanager
def _shapes_declared(proto: Any) -> Iterator[None]:
    """Gives inputs and outputs without a shape one for the check, which files in the wild lack."""
    bare = [
        item.type.tensor_type
        for item in (*proto.graph.input, *proto.graph.output)
        if item.type.HasField("tensor_type") and not item.type.tensor_type.HasField("shape")
    ]
    for kind in bare:
        kind.shape.SetInParent()
    try:
        yield
    finally:
        for kind in bare:
            kind.ClearField("shape")


@contextmanager
def _emptied(tensors: Sequence[Any]) -> Iterator[None]:
    """Takes tensors for ones without elements: the check would look for their data."""
    copies = [type(tensor).FromString(tensor.SerializeToString()) for tensor in tensors]
    for tensor in tensors:
        tensor.dims[:] = [0]
        tensor.ClearField("data_location")
        tensor.ClearField("external_data")
    try:
        yield
    finally:
        for tensor, copy in zip(tensors, copies, strict=True):
            tensor.CopyFrom(copy)


def _tensors(proto: Any) -> Iterator[Any]:
    """All tensors of a model."""
    for part in _parts(proto):
        if hasattr(part, "op_type"):
            for attribute in part.attribute:
                yield from attribute.tensors
                if attribute.HasField("t"):
                    yield attribute.t
            continue
        yield from part.initializer
        for sparse in part.sparse_initializer:
            yield from (sparse.values, sparse.indices)


def _parts(proto: Any) -> Iterator[Any]:
    """All graphs and nodes of a model, also those inside of nodes and of functions."""
    parts = [proto.graph, *(node for function in proto.functions for node in function.node)]
    while parts:
        part = parts.pop()
        yield part
        if not hasattr(part, "op_type"):
            parts.extend(part.node)
            continue
        for attribute in part.attribute:
            parts.extend(attribute.graphs)
            if attribute.HasField("g"):
                parts.append(attribute.g)


def _check_place(tensor: Any, name: str, folder: str) -> None:
    """The file of a tensor's data lies in the folder of the model, and has the bytes."""
    what = f"{name}: the data of tensor {tensor.name!r}"
    if not folder:
        raise ModelError(f"{what} is in another file; give the path of the model instead.")
    entries: Mapping[str, str] = {item.key: item.value for item in tensor.external_data}
    location = entries.get("location", "")
    if "\0" in location:
        raise ModelError(f"{what} is in {location!r}, which is no name of a file.")
    path = os.path.realpath(os.path.join(folder, location))
    if not location or os.path.isabs(location) or not path.startswith(folder + os.sep):
        raise ModelError(
            f"{what} is in {location!r}, outside of the model's folder, which isn't allowed."
        )
    if not os.path.isfile(path):
        raise ModelError(f"{what} is in {location!r}, a file that isn't there.")
    try:
        begin, size = int(entries.get("offset", 0)), int(entries.get("length", 0))
    except ValueError:
        raise ModelError(f"{what} has an offset or length that is no number.") from None
    if begin < 0 or size < 0 or begin + size > os.path.getsize(path):
        raise ModelError(
            f"{what} is said to be at {begin} to {begin + size} of {location!r}, which has "
            f"{os.path.getsize(path)} bytes."
        )
