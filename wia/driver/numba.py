"""Kernels compiled by Numba: the kernel structs as Numba types, and operands as arrays.

A kernel is a cfunc of the signature KERNEL_SIGNATURE, compiled for its dtypes and ranks:

    @numba.cfunc(KERNEL_SIGNATURE)
    def add(state, args):
        a = operand_array(args, 0, numba.float32, 2)
        b = operand_array(args, 1, numba.float32, 2)
        c = operand_array(args, 2, numba.float32, 2)
        for i in range(c.shape[0]):
            for j in range(c.shape[1]):
                c[i, j] = a[i, j] + b[i, j]
        return 0

A method marked with @kernel returns it as it is. Needs the extra wia[numba].
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import extending, types

from wia._errors import NotFoundError
from wia._native import ffi

__all__ = [
    "KERNEL_SIGNATURE",
    "operand_address",
    "operand_array",
    "operand_size",
    "operand_stride",
    "pointer",
    "record",
    "record_dtype",
    "scalar",
    "workspace_address",
]

# Annotated, or a type checker would want its callers to pass the typing context.
intrinsic: Any = extending.intrinsic

# Addresses are integers here: Numba can't map pointers to structs that hold void pointers.
KERNEL_SIGNATURE = types.int32(types.uintp, types.uintp)
"""int32 kernel(state, args): state is the NativeKernel's, args the address of wia_kernel_args_t."""


@cache
def record_dtype(name: str) -> np.dtype[Any]:
    """The numpy dtype of a C struct such as "wia_kernel_args_t"; pointers are uintp.

    Raises NotFoundError for a name that is no struct of wia.h or wia_driver.h.
    """
    try:
        struct = ffi.typeof(name)
    except ffi.error:
        struct = None
    if struct is None or struct.kind not in ("struct", "union"):
        raise NotFoundError(f"{name!r} is no struct of wia.h or wia_driver.h.")
    fields = dict(struct.fields)
    return np.dtype(
        {
            "names": list(fields),
            "formats": [_format(field.type) for field in fields.values()],
            "offsets": [field.offset for field in fields.values()],
            "itemsize": ffi.sizeof(struct),
        }
    )


def _format(kind: Any) -> Any:
    if kind.kind in ("struct", "union"):
        return record_dtype(kind.cname)
    if kind.kind == "array":
        return (_format(kind.item), (kind.length,))
    if kind.kind in ("pointer", "function"):
        return np.uintp
    size = ffi.sizeof(kind)
    if kind.cname in ("float", "double"):
        return np.dtype(f"f{size}")
    return np.dtype(f"{'u' if int(ffi.cast(kind, -1)) > 0 else 'i'}{size}")


def record(name: str) -> types.Record:
    """The Numba type of a C struct, for pointer()."""
    made: types.Record = numba.from_dtype(record_dtype(name))
    return made


def _intrinsic(*, prefer_literal: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """numba's decorator, whose type says that the typing context is an argument of the caller."""
    decorator: Callable[[Callable[..., Any]], Any] = intrinsic(prefer_literal=prefer_literal)
    return decorator


def _offset(struct: str, field: str) -> int:
    return int(ffi.offsetof(struct, field))


@_intrinsic()
def pointer(typing_context: Any, address: Any, kind: Any) -> Any:
    """A typed pointer to an address, for numba.carray: pointer(address, numba.float32)."""
    if not isinstance(address, types.Integer):
        return None
    pointee = kind.instance_type if isinstance(kind, types.TypeRef) else kind.dtype
    result = types.CPointer(pointee)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(result))

    return result(types.uintp, kind), generate


@_intrinsic()
def operand_address(typing_context: Any, args: Any, index: Any) -> Any:
    """The address of element 0 of operand index of a launch; 0 for one that is left out."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = context.get_value_type(types.uintp)
        load = _Loader(builder, word)
        operands = load(arguments[0], _offset("wia_kernel_args_t", "operands"))
        step = builder.mul(arguments[1], word(ffi.sizeof("wia_operand_t")))
        return load(builder.add(operands, step), _offset("wia_operand_t", "address"))

    return types.uintp(types.uintp, types.intp), generate


@_intrinsic(prefer_literal=True)
def operand_array(typing_context: Any, args: Any, index: Any, dtype: Any, ndim: Any) -> Any:
    """Operand index of a launch as an array of that dtype and rank, with its shape and strides.

    dtype and ndim are constants: they have to be those that the kernel was prepared for.
    """
    if not isinstance(ndim, types.IntegerLiteral) or not hasattr(dtype, "dtype"):
        return None
    result = types.Array(dtype.dtype, ndim.literal_value, "A")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = context.get_value_type(types.uintp)
        load = _Loader(builder, word)
        operands = load(arguments[0], _offset("wia_kernel_args_t", "operands"))
        step = builder.mul(arguments[1], word(ffi.sizeof("wia_operand_t")))
        operand = builder.add(operands, step)
        layout = load(operand, _offset("wia_operand_t", "layout"))
        shape = load(layout, _offset("wia_tensor_layout_t", "shape"))
        strides = load(layout, _offset("wia_tensor_layout_t", "strides"))
        width = context.get_abi_sizeof(context.get_data_type(dtype.dtype))
        array = context.make_array(result)(context, builder)
        data = load(operand, _offset("wia_operand_t", "address"))
        rank = range(ndim.literal_value)
        _populate(
            array,
            data=builder.inttoptr(data, array.data.type),
            shape=[load(shape, 8 * i) for i in rank],
            strides=[builder.mul(load(strides, 8 * i), word(width)) for i in rank],
            itemsize=width,
        )
        return array._getvalue()

    return result(types.uintp, types.intp, dtype, ndim), generate


@_intrinsic()
def operand_size(typing_context: Any, args: Any, index: Any, dimension: Any) -> Any:
    """The size of a dimension of operand index of a launch, which is not left out."""
    return types.intp(types.uintp, types.intp, types.intp), _layout_word("shape")


@_intrinsic()
def operand_stride(typing_context: Any, args: Any, index: Any, dimension: Any) -> Any:
    """The stride of a dimension of operand index of a launch, in elements."""
    return types.intp(types.uintp, types.intp, types.intp), _layout_word("strides")


def _layout_word(field: str) -> Callable[..., Any]:
    """Emits the load of one element of an array of an operand's layout."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        args, index, dimension = arguments
        word = context.get_value_type(types.uintp)
        load = _Loader(builder, word)
        operands = load(args, _offset("wia_kernel_args_t", "operands"))
        operand = builder.add(operands, builder.mul(index, word(ffi.sizeof("wia_operand_t"))))
        layout = load(operand, _offset("wia_operand_t", "layout"))
        values = load(layout, _offset("wia_tensor_layout_t", field))
        return load(builder.add(values, builder.mul(dimension, word(8))), 0)

    return generate


def _populate(array: Any, **fields: Any) -> None:
    from numba.np.arrayobj import populate_array

    populate_array(array, meminfo=None, **fields)


class _Loader:
    """Emits the load of a word at an address."""

    def __init__(self, builder: Any, word: Any) -> None:
        self.builder = builder
        self.word = word

    def __call__(self, address: Any, offset: int, kind: Any = None) -> Any:
        place = self.builder.add(address, self.word(offset))
        pointee = kind or self.word
        return self.builder.load(self.builder.inttoptr(place, pointee.as_pointer()))


@_intrinsic()
def scalar(typing_context: Any, args: Any, index: Any) -> Any:
    """Scalar index of a launch, a float64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = context.get_value_type(types.uintp)
        load = _Loader(builder, word)
        scalars = load(arguments[0], _offset("wia_kernel_args_t", "scalars"))
        place = builder.add(scalars, builder.mul(arguments[1], word(8)))
        return load(place, 0, context.get_value_type(types.float64))

    return types.float64(types.uintp, types.intp), generate


@_intrinsic()
def workspace_address(typing_context: Any, args: Any) -> Any:
    """The address of the workspace of a launch."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        load = _Loader(builder, context.get_value_type(types.uintp))
        workspace = _offset("wia_kernel_args_t", "workspace")
        return load(arguments[0], workspace + _offset("wia_operand_t", "address"))

    return types.uintp(types.uintp), generate
