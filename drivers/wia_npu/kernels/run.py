"""The kernels that the library calls: they share the chunks of a program out over threads.

What a chunk does is a compiled part, whose address is a word of the program; so it can be any code.
The threads are those of Numba's threading layer, called as Numba calls it, but for one thing: what
Numba makes of a `prange` takes the GIL on its way in and out.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

from wia.driver.numba import KERNEL_SIGNATURE, pointer
from wia_npu import _compiler
from wia_npu._words import CHUNKS, EACH, FINISH, PART, THREADS, WORDS
from wia_npu.kernels.common import PART_SIGNATURE, serial, stack, word
from wia_npu.kernels.recipe import make_words

__all__ = ["each", "run", "run_any_shape"]

_PROGRAM_BYTES = 8 * WORDS

EACH_SIGNATURE = types.void(types.uintp, types.uintp, types.uintp, types.uintp)
"""What the threading layer calls: (char **arrays, size_t *sizes, size_t *steps, void *data)."""
STATE, ARGS, STATUS = range(3)
"""The words of data."""


@extending.intrinsic
def _call(typing_context: Any, part: Any, state: Any, args: Any, chunk: Any) -> Any:
    """Calls the part at an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = [context.get_value_type(kind) for kind in PART_SIGNATURE.args]
        returned = context.get_value_type(PART_SIGNATURE.return_type)
        address = ir.FunctionType(returned, words).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], address), arguments[1:])

    return PART_SIGNATURE.return_type(numba.uintp, *PART_SIGNATURE.args), generate


@extending.intrinsic
def _share_out(
    typing_context: Any, each: Any, state: Any, args: Any, chunks: Any, threads: Any
) -> Any:
    """Has threads call `each` for all chunks and waits; returns a status.

    The layer walks over "arrays", adding their step for each chunk: the one here begins at 0 and
    has steps of 1, so its address is the number of the chunk.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        each, state, args, chunks, threads = arguments
        size, byte = context.get_value_type(types.intp), ir.IntType(8).as_pointer()

        def stored(values: list[Any]) -> Any:
            array = cgutils.alloca_once(builder, size, size=size(len(values)))
            for i, value in enumerate(values):
                builder.store(value, cgutils.gep_inbounds(builder, array, i))
            return array

        data = stored([state, args, size(0)])
        given = [stored([size(0)]), stored([chunks]), stored([size(1)]), data]
        kind = ir.FunctionType(ir.VoidType(), [byte] * 5 + [size] * 3)
        share = cgutils.get_or_insert_function(builder.module, kind, "numba_parallel_for")
        function = builder.inttoptr(each, byte)
        pointers = [builder.bitcast(value, byte) for value in given]
        builder.call(share, [function, *pointers, size(0), size(1), threads])
        status = builder.load(cgutils.gep_inbounds(builder, data, STATUS))
        return builder.trunc(status, context.get_value_type(types.int32))

    words = (types.uintp, types.uintp, types.uintp, types.intp, types.intp)
    return types.int32(*words), generate


@numba.cfunc(EACH_SIGNATURE, error_model="numpy", cache=_compiler.is_cached())
def each(arrays: Any, sizes: Any, steps: Any, data: Any) -> None:
    """Does some chunks, one after the other, on a thread of the layer."""
    given = pointer(data, numba.int64)
    first = pointer(arrays, numba.int64)[0]
    for i in range(pointer(sizes, numba.int64)[0]):
        status = _call(word(given[STATE], PART), given[STATE], given[ARGS], first + i)
        if status != 0:
            given[STATUS] = status


@serial
def _run(words: Any, args: Any) -> Any:
    """One chunk is done by the caller itself: waking threads takes longer."""
    chunks = word(words, CHUNKS)
    if chunks == 1:
        status = _call(word(words, PART), words, args, 0)
    else:
        status = _share_out(word(words, EACH), words, args, chunks, word(words, THREADS))
    if status == 0 and word(words, FINISH) != 0:
        status = _call(word(words, FINISH), words, args, chunks)
    return status


@numba.cfunc(KERNEL_SIGNATURE, error_model="numpy", cache=_compiler.is_cached())
def run(state: Any, args: Any) -> Any:
    """Runs a program whose words are the state."""
    return _run(state, args)


@numba.cfunc(KERNEL_SIGNATURE, error_model="numpy", cache=_compiler.is_cached())
def run_any_shape(state: Any, args: Any) -> Any:
    """Runs a program whose recipe is the state. Its words are there until all threads are done."""
    words = stack(_PROGRAM_BYTES)
    make_words(state, args, words)
    return _run(words, args)
