"""Programs: what a kernel is told when it is prepared, as int64 words that it reads at each launch.

A program begins with a header of HEADER words; what follows is the kernel's own. A space in it is
a loop nest of up to RANK dimensions over one or more operands: its rank, its sizes, then the
strides of each operand in elements. Spaces are simplified here, so that kernels see few and long
dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = [
    "CHUNKS",
    "DISTANCE",
    "EACH",
    "HEADER",
    "PART",
    "RANK",
    "SCRATCH",
    "THREADS",
    "UNITS",
    "Program",
    "simplify",
    "space_size",
    "space_words",
]

DISTANCE, UNITS, CHUNKS, THREADS, PART, EACH, SCRATCH, HEADER = range(8)
"""Of the header: bytes from an address to its backing; units of work, chunks to do them in, and the
most threads to take; addresses of the code of a chunk and of the code that calls it in each thread;
the bytes of workspace that a chunk has."""
RANK = 8

Strides = tuple[int, ...]


class Program:
    """The words of one kernel, and what else its launch needs.

    `code` names what a chunk runs: a function in a module of the same name in wia_npu.kernels.
    `work` is about how many elements one unit touches; small programs are not worth waking threads
    for. `scratch` is the bytes of workspace that each chunk needs.
    """

    __slots__ = ("code", "scratch", "units", "words", "work")

    def __init__(
        self,
        code: str,
        words: Sequence[int],
        *,
        units: int,
        work: int = 1,
        scratch: int = 0,
    ) -> None:
        self.code = code
        self.words = tuple(words)
        self.units = units
        self.work = work
        self.scratch = scratch

    def chunks(self, threads: int) -> int:
        """Several per thread where there is work, so that no thread waits for long."""
        wanted = self.units * self.work // _WORTH_A_CHUNK
        return max(1, min(self.units, wanted, 4 * threads))

    def assemble(
        self, *, distance: int, threads: int, part: int, each: int
    ) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The words with their header, int64 [HEADER + n]; `part` and `each` are addresses."""
        header = [0] * HEADER
        header[DISTANCE], header[SCRATCH] = distance, self.scratch
        header[UNITS], header[CHUNKS], header[THREADS] = self.units, self.chunks(threads), threads
        header[PART], header[EACH] = part, each
        return np.array([*header, *self.words], np.int64)


_WORTH_A_CHUNK = 1 << 17


def simplify(shape: Sequence[int], strides: Sequence[Strides]) -> tuple[list[int], list[list[int]]]:
    """The same loop nest in as few dimensions as there can be, at least one.

    Dimensions of size 1 go, and those that follow one another in every operand are joined.
    """
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for i, size in enumerate(shape):
        if size == 1:
            continue
        own = [operand[i] for operand in strides]
        if sizes and all(s[-1] == o * size for s, o in zip(steps, own, strict=True)):
            sizes[-1] *= size
            for step, stride in zip(steps, own, strict=True):
                step[-1] = stride
            continue
        sizes.append(size)
        for step, stride in zip(steps, own, strict=True):
            step.append(stride)
    if not sizes:
        sizes, steps = [1], [[0] for _ in strides]
    return sizes, steps


def space_size(operands: int) -> int:
    """The words that a space over that many operands takes."""
    return 1 + RANK * (1 + operands)


def space_words(shape: Sequence[int], *strides: Strides) -> list[int]:
    """A space over operands with these strides, simplified."""
    sizes, steps = simplify(shape, strides)
    padding = [0] * (RANK - len(sizes))
    words = [len(sizes), *sizes, *padding]
    for step in steps:
        words += [*step, *padding]
    return words
