"""DLPack capsules with anything in them: one process of `python tests/fuzz dlpack`.

A capsule holds what its memory holds, or fields that are wrong: versions, dimensions, strides,
NULL, offsets, dtypes. What is wrong in itself gets an error of WIA with a message. Its deleter is
called once if the capsule was taken over, and else never. What a producer says of sizes can't be
checked, so the elements are only looked at when they are where the capsule says.
"""

from __future__ import annotations

import ctypes
import gc
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import wia
from wia._native import NULL, ffi, lib

COUNT = 24  # elements of the memory
DTYPES = ((2, 32, np.float32), (0, 32, np.int32), (0, 8, np.int8), (1, 8, np.uint8))
NUMBERS = (-(2**63), 2**63 - 1, -1, 0, 1, 2**31, 2**32, 2**62, 2**61 + 1)
NAMES = {True: b"dltensor_versioned", False: b"dltensor"}
OTHER_NAMES = (b"used_dltensor", b"used_dltensor_versioned", b"dltensor_unversioned", b"x")

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = (
    ctypes.py_object,
    (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p),
)
_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = ctypes.c_char_p, (ctypes.py_object,)


class Case:
    """A capsule made from a seed, and what is to be expected of it."""

    def __init__(self, seed: int) -> None:
        pick = self.pick = random.Random(seed)
        self.versioned = pick.random() < 0.7
        kind = "versioned" if self.versioned else "legacy"
        self.managed = ffi.new(f"wia__dlpack_{kind}_t *")
        self.deleted = 0
        self.deleter = ffi.callback(f"void(wia__dlpack_{kind}_t *)", self._delete)
        self.managed.deleter = self.deleter
        self.has_deleter = pick.random() < 0.9
        if not self.has_deleter:
            self.managed.deleter = NULL
        self.memory = np.arange(COUNT, dtype=np.int64)
        self.expected: Any = None  # the elements, where they are known
        self.is_safe = True  # to be read
        self.is_wrong = False  # in itself: there has to be an error
        self._fill_in()
        if pick.random() < 0.7:
            # Each once and in their order: none puts right what another made wrong.
            for index in sorted(pick.sample(range(len(CHANGES)), pick.choice((1, 1, 2, 3)))):
                CHANGES[index](self)
        name = NAMES[self.versioned]
        if pick.random() < 0.05:
            name = pick.choice(OTHER_NAMES)
            self.is_wrong = True
        self.name = name
        self.capsule = _new_capsule(int(ffi.cast("uintptr_t", self.managed)), name, None)

    def _delete(self, managed: Any) -> None:
        self.deleted += 1

    def _fill_in(self) -> None:
        code, bits, dtype = self.pick.choice(DTYPES)
        self.memory = np.arange(COUNT).astype(dtype)
        array = self.managed.array
        rank = self.pick.randrange(4)
        sizes = [self.pick.randrange(1, 3) for _ in range(rank)]
        steps = [self.pick.choice((-2, -1, 0, 1, 2, 4)) for _ in range(rank)]
        first = sum(-step * (n - 1) for n, step in zip(sizes, steps, strict=True) if step < 0)
        has_strides = self.pick.random() < 0.6
        self.shape = ffi.new("int64_t[]", [*sizes, 0])
        self.strides = ffi.new("int64_t[]", [*steps, 0])
        array.data = ffi.cast("void *", self.memory.ctypes.data)
        array.device_type, array.rank = 1, rank
        array.dtype_code, array.dtype_bits, array.dtype_lanes = code, bits, 1
        array.shape = self.shape if rank or self.pick.random() < 0.5 else NULL
        array.strides = self.strides if has_strides else NULL
        array.byte_offset = first * bits // 8 if has_strides else 0
        if self.versioned:
            self.managed.major, self.managed.minor = 1, self.pick.randrange(4)
            self.managed.flags = self.pick.randrange(4)
        packed = self.memory[: int(np.prod(sizes, dtype=int))].reshape(sizes)
        self.expected = packed
        if has_strides:
            size = self.memory.itemsize
            self.expected = np.lib.stride_tricks.as_strided(
                self.memory[first:], sizes, [step * size for step in steps]
            )

    def change(self, *, is_wrong: bool = False) -> None:
        """Nothing is known of the elements any more."""
        self.expected, self.is_safe = None, False
        self.is_wrong = self.is_wrong or is_wrong

    def release(self) -> None:
        """What the destructor of a capsule that nobody took does."""
        if _name_of(self.capsule) == self.name == NAMES[self.versioned] and self.has_deleter:
            self.managed.deleter(self.managed)


def _major(case: Case) -> None:
    if case.versioned:
        case.managed.major = case.pick.choice((0, 2, 3, 2**32 - 1))
        case.change(is_wrong=True)


def _flags(case: Case) -> None:
    if case.versioned:
        case.managed.flags = case.pick.getrandbits(64)


def _rank(case: Case) -> None:
    case.managed.array.rank = case.pick.choice((-1, -(2**31), 9, 100, 2**31 - 1))
    case.change(is_wrong=True)


def _size(case: Case) -> None:
    rank = case.managed.array.rank
    if 0 < rank < 4:
        size = case.pick.choice(NUMBERS)
        case.shape[case.pick.randrange(rank)] = size
        case.change(is_wrong=size < 0)


def _stride(case: Case) -> None:
    rank = case.managed.array.rank
    if 0 < rank < 4:
        case.strides[case.pick.randrange(rank)] = case.pick.choice(NUMBERS)
        case.change()


def _no_shape(case: Case) -> None:
    if case.managed.array.rank:
        case.managed.array.shape = NULL
        case.change(is_wrong=True)


def _no_data(case: Case) -> None:
    case.managed.array.data = NULL
    case.change(is_wrong=all(case.shape[i] for i in range(min(max(case.managed.array.rank, 0), 3))))


def _offset(case: Case) -> None:
    case.managed.array.byte_offset = case.pick.choice((1, 3, 2**63, 2**64 - 1, 2**64 - 4096))
    case.change()


def _dtype(case: Case) -> None:
    array = case.managed.array
    field, values = case.pick.choice(
        (
            ("dtype_code", (3, 7, 18, 99, 255)),
            ("dtype_bits", (0, 1, 3, 24, 128, 255)),
            ("dtype_lanes", (0, 2, 4, 65535)),
        )
    )
    setattr(array, field, case.pick.choice(values))
    known = (array.dtype_code, array.dtype_bits) in KNOWN and array.dtype_lanes == 1
    case.change(is_wrong=not known)


KNOWN = {(kind, bits) for kind, bits in wia._dlpack._FROM_DLPACK}
CHANGES: tuple[Callable[[Case], None], ...] = (
    _major,
    _flags,
    _rank,
    _size,
    _stride,
    _no_shape,
    _no_data,
    _offset,
    _dtype,
)


class Producer:
    """Hands out one capsule, as often as it is asked."""

    def __init__(self, capsule: object, legacy: bool) -> None:
        self.capsule, self.legacy = capsule, legacy

    def __dlpack__(self, **keywords: Any) -> Any:
        if self.legacy and keywords:
            raise TypeError("an unexpected keyword")
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def expect(holds: bool, what: object) -> None:
    """End the process with what was wrong."""
    if not holds:
        raise AssertionError(what)


def settle(case: Case, count: int) -> None:
    """Wait until the deleter was called: the library does it a little later."""
    for _ in range(2000):
        lib.wia_free(NULL)
        if case.deleted >= count:
            return
        time.sleep(0.001)


def run(seed: int, context: wia.Context) -> None:
    """Take a capsule in, and give it back."""
    case = Case(seed)
    producer = Producer(case.capsule, not case.versioned)
    copy = case.pick.random() < 0.4 and (case.is_safe or case.is_wrong)
    tensor = None
    try:
        tensor = context.from_dlpack(producer, copy=copy or None)
    except wia.WiaError as error:
        expect(not isinstance(error, wia.InternalError), error)
        expect(len(str(error)) > 20, repr(error))
        expect(case.expected is None or case.is_wrong, error)
    else:
        expect(not case.is_wrong, "what is wrong in itself was taken")
        if case.expected is not None:
            expect(tensor.tolist() == case.expected.tolist(), tensor)
        if case.pick.random() < 0.5:  # each serves once
            try:
                context.from_dlpack(producer)
            except wia.InvalidArgumentError:
                pass
            else:
                raise AssertionError("a capsule was taken twice")
    was_taken = _name_of(case.capsule) != case.name
    if tensor is not None:
        expect(was_taken, "the capsule was left as it was")
        tensor.close()
    del tensor
    expected = int(case.has_deleter and was_taken)
    settle(case, expected)
    gc.collect(0)
    expect(case.deleted == expected, f"{case.deleted} calls of the deleter, not {expected}")
    case.release()


def main() -> None:
    """Run the cases of some seeds: `dlpack.py FIRST COUNT`."""
    first, count = map(int, sys.argv[1:])
    with wia.Context("reference") as context:
        for seed in range(first, first + count):
            print(f"case {seed}", flush=True)
            run(seed, context)


if __name__ == "__main__":
    main()
