"""Programs: what a kernel is told, as int64 words that it reads at each launch.

A program begins with a header of HEADER words; what follows is the kernel's own. A space in it is
a loop nest of up to RANK dimensions over one or more operands: its rank, its sizes, then the
strides of each operand in elements. Spaces are simplified, so that kernels see few and long
dimensions.

Words that depend on shapes are described by terms (wia_npu._terms). They are looked up at each
launch, so that the kernel works for any shape, or once, when it is prepared.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from wia.driver import Layout
from wia_npu._terms import END, Product, Space, Term, encode, look_up

__all__ = [
    "CHUNKS",
    "CHUNKS_A_THREAD",
    "DISTANCE",
    "EACH",
    "FINISH",
    "HEADER",
    "PART",
    "RANK",
    "THREADS",
    "UNITS",
    "WORDS",
    "WORTH_A_CHUNK",
    "Item",
    "Program",
    "simplify",
    "space_size",
]

DISTANCE, UNITS, CHUNKS, THREADS, PART, EACH, FINISH, HEADER = range(8)
"""Of the header: bytes from an address to its backing; units of work, chunks to do them in, and the
most threads to take; addresses of the code of a chunk, of the code that calls it in each thread,
and of what is done once behind all chunks (0: nothing)."""
RANK = 8
WORDS = 96
"""The most words that a program has."""
WORTH_A_CHUNK = 1 << 17
"""Elements: for fewer it takes longer to wake a thread than to do the work."""
MAX_PROMPT_WORK = 1 << 14
"""Elements: some microseconds of the caller's thread alone."""
CHUNKS_A_THREAD = 4
"""Where there is work enough, so that no thread waits for long."""

Strides = tuple[int, ...]
Item = Term | Product | Space


class Program:
    """The words of one kernel, and what else its launch needs.

    `code` names what a chunk runs: a function in a module of the same name in wia_npu.kernels. The
    product of `units` is shared out over chunks; that of `work` is about how many elements one unit
    touches. `finish` names another function there, which runs once, behind all chunks; they leave
    what it needs in the workspace, of that many bytes.
    """

    __slots__ = ("code", "finish", "units", "words", "work", "workspace")

    def __init__(
        self,
        code: str,
        words: Sequence[Item],
        *,
        units: Sequence[Term],
        work: Sequence[Term] = (),
        finish: str = "",
        workspace: int = 0,
    ) -> None:
        self.code = code
        self.finish = finish
        self.workspace = workspace
        self.words = tuple(words)
        self.units = Product(tuple(units))
        self.work = Product(tuple(work))

    @property
    def any_shape(self) -> bool:
        """Whether something is looked up at the launch; all is of one shape otherwise."""
        terms: list[Term] = [*self.units.factors, *self.work.factors]
        for item in self.words:
            if isinstance(item, Product):
                terms += item.factors
            elif isinstance(item, Space):
                terms += [*item.sizes, *(term for own in item.strides for term in own)]
            else:
                terms.append(item)
        return any(not isinstance(term, int) for term in terms)

    @property
    def prompt(self) -> bool:
        """Whether small operands take microseconds: then work grows no faster than in a product."""
        if self.any_shape:
            return True
        units, work = (prod(look_up(own.factors, ())) for own in (self.units, self.work))
        return units * work <= MAX_PROMPT_WORK

    def numbers(self, layouts: Sequence[Layout | None] = ()) -> list[int]:
        """The words for operands of these layouts; none are needed where all are numbers."""
        words: list[int] = []
        for item in self.words:
            if isinstance(item, Space):
                strides = [look_up(own, layouts) for own in item.strides]
                words += _space_words(look_up(item.sizes, layouts), strides)
            elif isinstance(item, Product):
                words.append(prod(look_up(item.factors, layouts)))
            else:
                words += look_up([item], layouts)
        return words

    def fixed(self, layouts: Sequence[Layout | None]) -> Program:
        """The same for operands of these layouts alone."""
        units, work = (look_up(own.factors, layouts) for own in (self.units, self.work))
        return Program(
            self.code,
            self.numbers(layouts),
            units=units,
            work=work,
            finish=self.finish,
            workspace=self.workspace,
        )

    def assemble(
        self, *, distance: int, threads: int, part: int, each: int, finish: int = 0
    ) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """int64 [HEADER + n]: the recipe of a program for any shape, else its words.

        A recipe begins with the terms of units and work. `part`, `each` and
        `finish` are addresses.
        """
        header = [0] * HEADER
        header[DISTANCE], header[THREADS] = distance, threads
        header[PART], header[EACH], header[FINISH] = part, each, finish
        if self.any_shape:
            words = [*encode([self.units, self.work, *self.words]), END]
            return np.array([*header, *words], np.int64)
        header[UNITS] = prod(look_up(self.units.factors, ()))
        work = max(1, prod(look_up(self.work.factors, ())))
        wanted = header[UNITS] * work // WORTH_A_CHUNK
        header[CHUNKS] = max(1, min(header[UNITS], wanted, CHUNKS_A_THREAD * threads))
        return np.array([*header, *self.numbers()], np.int64)


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


def _space_words(shape: Sequence[int], strides: Sequence[Strides]) -> list[int]:
    sizes, steps = simplify(shape, strides)
    padding = [0] * (RANK - len(sizes))
    words = [len(sizes), *sizes, *padding]
    for step in steps:
        words += [*step, *padding]
    return words
