"""The driver: its memory, and which program runs an operation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from math import prod

from wia import InvalidArgumentError
from wia.catalog import BY_NAME, cost
from wia.driver import (
    Cost,
    DeviceFlag,
    Driver,
    Group,
    Layout,
    NativeKernel,
    Node,
    ReservedMemory,
    kernel,
)
from wia_npu import (
    _compiler,
    _elements,
    _images,
    _layers,
    _losses,
    _makes,
    _moves,
    _norms,
    _pads,
    _products,
    _rows,
    _steps,
)
from wia_npu._dtypes import CODES
from wia_npu._words import Program

__all__ = ["NpuDriver"]

FLOAT32 = ("float32",)
ANY = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"),
)
"""Every dtype whose elements are whole bytes."""
GIB = 1 << 30
_SIZE = re.compile(r"(\d+) *([KMGT]?)(?:iB)?")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": GIB, "T": 1 << 40}


class NpuDriver(Driver):
    """The device "npu:0"."""

    name = "npu"
    version = "0.1.0"
    vendor = "WIA"
    description = "Simulated NPU: Numba on all cores of the host"
    architecture = "wia-npu-1"
    flags = DeviceFlag.SIMULATED

    def __init__(self) -> None:
        self.reserved = ReservedMemory(self._memory_size)
        self.memory = self.reserved

    def device_count(self) -> int:
        """One, or an error that says what is missing."""
        _compiler.require_numba()
        return 1

    def _memory_size(self, device: int) -> int:
        given = self.get_option("MEMORY")
        if given is None:
            return GIB
        match = _SIZE.fullmatch(given.strip())
        if match is None or int(match[1]) == 0:
            raise InvalidArgumentError(
                f"WIA_NPU_MEMORY is {given!r}; expected a number of bytes above 0, or one with the "
                "unit K, M, G or T, as in 512M."
            )
        return int(match[1]) * _UNITS[match[2]]

    def prepare_group(self, device: int, group: Group) -> object:
        """One operation, or a layer: a product with a bias and a function behind it."""
        if len(group.nodes) == 1:
            return super().prepare_group(device, group)
        program = _layers.layer(group)
        return self._compile(program, _group_cost(group), f"npu_{_name(group)}")

    def _kernel(self, node: Node, program: Program, *, in_place: bool = False) -> NativeKernel:
        node.attributes.refuse_ignored(node.op)  # the cost reads all of them, which says nothing
        cost = partial(_cost, node.op, dict(node.attributes))
        return self._compile(program, cost, f"npu_{program.code}", in_place=in_place)

    def _compile(
        self, program: Program, cost: Cost | partial[Cost], name: str, *, in_place: bool = False
    ) -> NativeKernel:
        """The compiled kernel for a program."""
        cache = self.get_option("CACHE")
        entry = "run_any_shape" if program.any_shape else "run"
        part, run, each = (
            _compiler.load(module, name, cache, self.log)
            for module, name in ((program.code, program.code), ("run", entry), ("run", "each"))
        )
        finish = 0
        if program.finish:
            finish = _compiler.load(program.code, program.finish, cache, self.log).address
        threads = _compiler.thread_count()
        words = program.assemble(
            distance=self.reserved.distance(0),
            threads=threads,
            part=part.address,
            each=each.address,
            finish=finish,
        )
        return NativeKernel(
            run,
            state=int(words.__array_interface__["data"][0]),
            keepalive=words,
            workspace_size=program.workspace,
            any_shape=program.any_shape,
            in_place=in_place,
            prompt=program.prompt,
            cost=cost,
            name=name,
        )

    @kernel(*_elements.BINARY, dtypes=FLOAT32, in_place=True)
    def prepare_binary(self, node: Node) -> NativeKernel:
        """Sums and their like."""
        return self._kernel(node, _elements.binary(node), in_place=True)

    @kernel(*_elements.UNARY, dtypes=FLOAT32, in_place=True)
    def prepare_unary(self, node: Node) -> NativeKernel:
        """Functions of one element."""
        return self._kernel(node, _elements.unary(node), in_place=True)

    @kernel(*_elements.COMPARISONS, dtypes=_elements.COMPARED)
    def prepare_compare(self, node: Node) -> NativeKernel:
        """Comparisons and logic."""
        return self._kernel(node, _elements.compare(node))

    @kernel("where", dtypes=ANY, in_place=True)
    def prepare_where(self, node: Node) -> NativeKernel:
        """Choices."""
        return self._kernel(node, _moves.where(node), in_place=True)

    @kernel("gather", dtypes=ANY)
    def prepare_gather(self, node: Node) -> NativeKernel:
        """Rows."""
        return self._kernel(node, _moves.gather(node))

    @kernel("gather_gradient", dtypes=FLOAT32)
    def prepare_add_rows(self, node: Node) -> NativeKernel:
        """What picked rows give back."""
        return self._kernel(node, _moves.add_rows(node))

    @kernel("concat", dtypes=ANY)
    def prepare_concat(self, node: Node) -> NativeKernel:
        """One behind the other."""
        return self._kernel(node, _moves.concat(node))

    @kernel("split", dtypes=ANY)
    def prepare_split(self, node: Node) -> NativeKernel:
        """Parts that stood one behind the other."""
        return self._kernel(node, _moves.split(node))

    @kernel("pad", dtypes=FLOAT32)
    def prepare_pad(self, node: Node) -> NativeKernel:
        """Elements around others."""
        return self._kernel(node, _pads.pad(node))

    @kernel("slice", dtypes=ANY)
    def prepare_slice(self, node: Node) -> NativeKernel:
        """Parts."""
        return self._kernel(node, _moves.cut(node))

    @kernel("layer_norm", dtypes=FLOAT32)
    def prepare_layer_norm(self, node: Node) -> NativeKernel:
        """Normalisation of rows."""
        return self._kernel(node, _norms.layer_norm(node))

    @kernel("batch_norm", dtypes=FLOAT32)
    def prepare_batch_norm(self, node: Node) -> NativeKernel:
        """Normalisation of channels."""
        return self._kernel(node, _norms.batch_norm(node))

    @kernel("cast", dtypes=CODES)
    def prepare_cast(self, node: Node) -> NativeKernel:
        """Conversions."""
        return self._kernel(node, _moves.cast(node))

    @kernel("copy", dtypes=ANY, in_place=True)
    def prepare_copy(self, node: Node) -> NativeKernel:
        """Elements in the same order."""
        return self._kernel(node, _moves.move(node), in_place=True)

    @kernel("broadcast", "reshape", "transpose", dtypes=ANY)
    def prepare_move(self, node: Node) -> NativeKernel:
        """Elements in another order."""
        return self._kernel(node, _moves.move(node))

    @kernel("matmul", dtypes=FLOAT32)
    def prepare_matmul(self, node: Node) -> NativeKernel:
        """Matrix product."""
        return self._kernel(node, _products.matmul(node))

    @kernel("addmm", dtypes=FLOAT32)
    def prepare_addmm(self, node: Node) -> NativeKernel:
        """Matrix product plus a tensor."""
        return self._kernel(node, _products.addmm(node))

    @kernel("linear", dtypes=FLOAT32)
    def prepare_linear(self, node: Node) -> NativeKernel:
        """Fully connected layer."""
        return self._kernel(node, _products.linear(node))

    @kernel("conv", "conv2d", dtypes=FLOAT32)
    def prepare_conv(self, node: Node) -> NativeKernel:
        """Convolution."""
        return self._kernel(node, _images.conv(node))

    @kernel("conv_transpose", dtypes=FLOAT32)
    def prepare_conv_transpose(self, node: Node) -> NativeKernel:
        """Transpose of a convolution."""
        return self._kernel(node, _images.conv_transpose(node))

    @kernel("conv2d_input_gradient", "conv2d_weight_gradient", dtypes=FLOAT32)
    def prepare_conv2d_gradient(self, node: Node) -> NativeKernel:
        """What a convolution gives back to its input and its weight."""
        return self._kernel(node, _images.conv2d_gradient(node))

    @kernel("avg_pool2d", "max_pool2d", dtypes=FLOAT32)
    def prepare_pool2d(self, node: Node) -> NativeKernel:
        """Pooling."""
        return self._kernel(node, _images.pool2d(node))

    @kernel("avg_pool2d_gradient", "max_pool2d_gradient", dtypes=FLOAT32)
    def prepare_pool2d_gradient(self, node: Node) -> NativeKernel:
        """What a pool gives back."""
        return self._kernel(node, _images.pool2d_gradient(node))

    @kernel(*_rows.GLOBAL_POOLS, dtypes=FLOAT32)
    def prepare_global_pool(self, node: Node) -> NativeKernel:
        """Pooling of whole images."""
        return self._kernel(node, _rows.global_pool(node))

    @kernel(*_rows.REDUCTIONS, dtypes=FLOAT32)
    def prepare_reduce(self, node: Node) -> NativeKernel:
        """Reductions."""
        return self._kernel(node, _rows.reduce(node))

    @kernel("sum_to", dtypes=FLOAT32)
    def prepare_sum_to(self, node: Node) -> NativeKernel:
        """Sums over what was repeated."""
        return self._kernel(node, _rows.sum_to(node))

    @kernel(*_rows.FINDS, dtypes=FLOAT32)
    def prepare_find(self, node: Node) -> NativeKernel:
        """Where the largest or smallest element is."""
        return self._kernel(node, _rows.find(node))

    @kernel(*_rows.SOFTMAXES, dtypes=FLOAT32, in_place=True)
    def prepare_softmax(self, node: Node) -> NativeKernel:
        """Softmax and its logarithm."""
        return self._kernel(node, _rows.softmax(node), in_place=True)

    @kernel("nll_loss", "softmax_cross_entropy", dtypes=FLOAT32)
    def prepare_class_loss(self, node: Node) -> NativeKernel:
        """Losses against the index of the right class."""
        return self._kernel(node, _losses.class_loss(node))

    @kernel(*_steps.STEPS, dtypes=FLOAT32, in_place=True)
    def prepare_step(self, node: Node) -> NativeKernel:
        """Steps of optimisers."""
        return self._kernel(node, _steps.step(node), in_place=True)

    @kernel("fill", "iota", dtypes=CODES)
    def prepare_make(self, node: Node) -> NativeKernel:
        """Tensors of one value, and series."""
        return self._kernel(node, _makes.make(node))


def _cost(op: str, values: dict[str, object], layouts: Sequence[Layout | None]) -> Cost:
    entry = BY_NAME[op]
    shapes = [None if layout is None else layout.shape for layout in layouts]
    widths = [0 if layout is None else layout.numpy_dtype.itemsize for layout in layouts]
    flops, moved = cost(entry, shapes, widths, {**entry.defaults(), **values})
    return Cost(flops=flops, bytes=moved)


def _node_cost(node: Node) -> Cost:
    node.attributes.refuse_ignored(node.op)  # all of them are read here, which says nothing
    return _cost(node.op, dict(node.attributes), [*node.inputs, node.output])


def _name(group: Group) -> str:
    return "_".join(node.op for node in group.nodes)


def _group_cost(group: Group) -> Cost:
    """The operations of all nodes; only what the group reads and writes is moved."""
    operands = [group.values[value] for value in (*group.inputs, *group.outputs)]
    return Cost(
        flops=sum(_node_cost(node).flops for node in group.nodes),
        bytes=sum(_size(layout) for layout in operands),
    )


def _size(layout: Layout | None) -> int:
    return 0 if layout is None else prod(layout.shape) * layout.numpy_dtype.itemsize
