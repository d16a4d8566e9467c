"""Memory of Python drivers whose entries are native code, and ranges that the host can't touch."""

from __future__ import annotations

import ctypes
import itertools
import threading
from typing import Any

import numpy as np
import pytest
from support import RunPython, made

import wia
from wia._native import ffi, lib
from wia.driver import DeviceFlag, DeviceMemory, Driver, NativeMemory, Node, ReservedMemory, kernel

MIB = 1 << 20


def reserved(size: Any = MIB, **members: Any) -> wia.Context:
    """A context on a device with reserved memory."""
    return made(memory=ReservedMemory(size), flags=DeviceFlag.SIMULATED, **members)


def test_data_goes_in_and_out() -> None:
    with reserved() as ctx:
        array = np.arange(12, dtype=np.float32).reshape(3, 4)
        tensor = ctx.tensor(array)
        np.testing.assert_array_equal(tensor.numpy(), array)
        np.testing.assert_array_equal(tensor[::-1, 1::2].numpy(), array[::-1, 1::2])
        tensor[1] = 7
        assert tensor[1].tolist() == [7.0] * 4
        tensor.fill(3)
        assert set(tensor.numpy().flat) == {3.0}
        with pytest.raises(wia.UnimplementedError, match="host addresses"):
            tensor.numpy(copy=False)
        assert ctx.device.total_memory_size == MIB


def test_kernels_find_data_at_the_distance() -> None:
    memory = ReservedMemory(1000)

    @kernel("relu")
    def relu(self: Driver, node: Node) -> object:
        distance = memory.distance(0)

        def run(state: int, args: int) -> int:
            launch = ffi.cast("wia_kernel_args_t *", args)
            source, target = (
                ffi.cast("float *", launch.operands[i].address + distance) for i in (0, 1)
            )
            target[0] = source[0] + 1
            return 0

        return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(run)

    with made(memory=memory, flags=DeviceFlag.SIMULATED, relu=relu) as ctx:
        assert ctx.relu(ctx.tensor([41.0])).tolist() == [42.0]
    assert memory.distance(0) == ctx.device.total_memory_size >= 1000


def test_a_host_that_dereferences_an_address_faults(run_python: RunPython) -> None:
    """In a process of its own, first without the access, then with it."""
    code = """
import ctypes, sys, wia
from wia.driver import DeviceFlag, Driver, ReservedMemory

class Made(Driver):
    name = "made"
    flags = DeviceFlag.SIMULATED
    memory = ReservedMemory(1 << 20)

wia.register_driver(Made)
ctx = wia.Context("made")
tensor = ctx.tensor([1.0])
print(tensor.tolist(), flush=True)
"""
    whole = run_python(code)
    assert (whole.returncode, whole.stdout) == (0, "[1.0]\n"), whole.stderr
    for access in ("ctypes.string_at(tensor.address, 1)", "ctypes.memset(tensor.address, 0, 1)"):
        fault = run_python(code + access + "\nprint('still here')\n")
        assert (fault.returncode, fault.stdout) == (-11, "[1.0]\n"), fault.stderr


def test_exhausted_and_whole_again() -> None:
    """Blocks that are freed in any order become one piece again."""
    with reserved() as ctx:
        sizes = [1, 64, 100, 4096, 65536, 3, 700]
        for order in (sizes, sizes[::-1], sorted(sizes)):
            tensors = {size: ctx.empty(size, "uint8") for size in sizes}
            addresses = sorted((tensor.address, size) for size, tensor in tensors.items())
            assert all(address % 64 == 0 for address, _ in addresses)
            for (address, size), (following, _) in itertools.pairwise(addresses):
                assert address + size <= following
            with pytest.raises(wia.ResourceExhaustedError, match="not in one piece"):
                ctx.empty(MIB, "uint8")
            for size in order:
                tensors[size].close()
            ctx.empty(MIB, "uint8").close()
        with pytest.raises(wia.ResourceExhaustedError, match=f"{MIB} of {MIB} are free"):
            ctx.empty(MIB + 1, "uint8")


def test_what_is_allocated_stays_apart() -> None:
    """Random sizes and orders from several threads; each block keeps its own pattern."""
    failures: list[str] = []

    def work(seed: int, ctx: wia.Context) -> None:
        random = np.random.default_rng(seed)
        held: list[tuple[wia.Tensor, int]] = []
        for step in range(200):
            if held and random.random() < 0.5:
                tensor, value = held.pop(int(random.integers(len(held))))
                if set(tensor.numpy().flat) != {value}:
                    failures.append(f"seed {seed}, step {step}")
                tensor.close()
            else:
                tensor = ctx.empty(int(random.integers(1, 5000)), "uint8")
                tensor.fill(seed)
                held.append((tensor, seed))
        for tensor, _ in held:
            tensor.close()

    with reserved(4 * MIB) as ctx:
        ctx.configure_memory(pool=False)  # so that each is one of the driver's
        threads = [threading.Thread(target=work, args=(seed, ctx)) for seed in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        ctx.empty(4 * MIB, "uint8").close()


@pytest.mark.parametrize(
    ("size", "error"),
    [(0, wia.InvalidArgumentError), (-1, wia.InvalidArgumentError), (1 << 62, MemoryError)],
)
def test_sizes_that_there_are_not(size: int, error: type[Exception]) -> None:
    with pytest.raises(error, match=str(size)):
        ReservedMemory(lambda device: size).open(0)


def test_native_entries_get_their_state() -> None:
    """Function pointers of a vendor: here they count, then do what those of the library do."""
    seen: list[tuple[str, int]] = []
    keep: list[object] = []

    def counted(name: str) -> Any:
        entry = ffi.addressof(lib, f"wia__host_{name}")

        def call(device: Any, *arguments: Any) -> Any:
            seen.append((name, ffi.cast("uint64_t *", device)[0]))
            return entry(device, *arguments)

        keep.append(ffi.callback(ffi.typeof(entry), call))
        return keep[-1]

    class Counted(NativeMemory):
        def open(self, device: int) -> int:
            return 1000 + device

    names = ("get_memory_kind", "allocate", "free", "copy", "fill")
    memory = Counted(**{name: counted(name) for name in names}, keepalive=keep)
    with made(memory=memory) as ctx:
        tensor = ctx.zeros(3)
        tensor[1] = 2.0
        assert tensor.tolist() == [0.0, 2.0, 0.0]
        tensor.close()
        assert ctx.device.total_memory_size > 0
    assert {name for name, _ in seen} >= {"get_memory_kind", "allocate", "free", "copy"}
    assert {state for _, state in seen} == {1000}


def test_entries_that_are_no_functions() -> None:
    pointer = ffi.addressof(lib, "wia__host_copy")
    for wrong in (None, 0, len, ffi.NULL, DeviceMemory):
        with pytest.raises(wia.ArgumentTypeError, match="given as allocate"):
            NativeMemory(
                get_memory_kind=pointer, allocate=wrong, free=pointer, copy=pointer, fill=pointer
            )
