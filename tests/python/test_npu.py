"""The simulated NPU: results, memory, threads, the cache of kernels, what it says when it can't."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalog_calls import IDS, assert_close, attributes_of, call
from support import RunPython
from test_reference import strided

import wia
from wia._config import prefix
from wia.catalog import BY_NAME, OPERATIONS, Operation, Sample

pytest.importorskip("numba")

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "examples" / "digits"
ONE_RESULT = "ctx = wia.Context('npu'); x = ctx.tensor([1.0, -2.0]); print(ctx.relu(x).tolist())"


@pytest.fixture(scope="module")
def ctx() -> Iterator[wia.Context]:
    """A context on the simulated device."""
    with wia.Context("npu") as context:
        yield context


@pytest.mark.parametrize("operation", OPERATIONS, ids=IDS)
@pytest.mark.parametrize("form", ["contiguous", "strided"])
def test_samples(ctx: wia.Context, operation: Operation, form: str) -> None:
    """Every sample in every dtype that the device says it has, whatever the strides."""
    dtypes = ctx.device.supports(operation.name)
    if not dtypes.intersection(operation.dtypes):
        pytest.skip("no kernel, and the device says so")
    done = 0
    for sample in operation.samples:
        for dtype in sorted(dtypes.intersection(sample.dtypes or operation.dtypes)):
            inputs, values, expected = call(operation, sample, dtype)
            if operation.outputs_read(values):
                continue
            given = attributes_of(values)
            if operation.name == "cast" and values["dtype"].name not in dtypes:
                with pytest.raises(wia.UnimplementedError, match="it converts bool, uint8"):
                    ctx.execute("cast", [ctx.tensor(inputs[0])], **given)
                continue
            make = ctx.tensor if form == "contiguous" else lambda array: strided(ctx, array)
            tensors = [None if array is None else make(array) for array in inputs]
            outputs = None if form == "contiguous" else [make(np.zeros_like(e)) for e in expected]
            results = ctx.execute(operation.name, tensors, outputs, **given)
            assert_close(operation, inputs, values, expected, results)
            done += 1
    assert done


IN_PLACE = {op.name for op in OPERATIONS if op.family in ("elementwise", "step")}
IN_PLACE |= {"copy", "scale", "softmax", "log_softmax"}


@pytest.mark.parametrize("operation", OPERATIONS, ids=IDS)
def test_in_place(ctx: wia.Context, operation: Operation) -> None:
    """An output that is exactly an input: right, or refused."""
    if "float32" not in ctx.device.supports(operation.name):
        pytest.skip("no kernel, and the device says so")
    for sample in operation.samples:
        if sample.dtypes:
            continue
        inputs, values, expected = call(operation, sample, "float32")
        if operation.outputs_read(values):
            continue
        for position, array in enumerate(inputs):
            same = (array.shape, array.dtype) if array is not None else None
            for place, wanted in enumerate(expected):
                if same != (wanted.shape, wanted.dtype):
                    continue
                tensors = [None if item is None else ctx.tensor(item) for item in inputs]
                outputs = [ctx.empty(item.shape, item.dtype) for item in expected]
                target = tensors[position]
                assert target is not None
                outputs[place] = target
                given = attributes_of(values)
                if operation.name not in IN_PLACE and wanted.size:
                    with pytest.raises(wia.UnimplementedError, match="in place"):
                        ctx.execute(operation.name, tensors, outputs, **given)
                    continue
                ctx.execute(operation.name, tensors, outputs, **given)
                assert_close(operation, inputs, values, expected, outputs)


LARGE: dict[str, tuple[tuple[tuple[int, ...] | None, ...], dict[str, Any]]] = {
    "matmul": (((3, 97, 64), (64, 1100)), {}),
    "linear": (((513, 65), (700, 65), (700,)), {}),
    "conv2d": (((2, 16, 33, 31), (24, 16, 3, 3), (24,)), {"padding": (1, 1, 1, 1)}),
    "conv": (((2, 16, 1031), (24, 16, 5), (24,)), {"padding": (2, 2)}),
    "conv_transpose": (((2, 16, 33, 31), (16, 24, 4, 4), (24,)), {"stride": (2, 2)}),
    "batch_norm": (((7, 64, 33, 31), *((64,),) * 4), {}),
    "max_pool2d": (((4, 64, 33, 32),), {"kernel": (3, 3), "stride": (2, 2)}),
    "add": (((700, 1, 333), (7, 333)), {}),
    "relu": (((1 << 18,),), {}),
    "softmax": (((300, 777),), {"axis": 0}),
    "reduce_sum": (((70, 80, 90),), {"axes": (0, 2)}),
    "reduce_max": (((70, 80, 90),), {"axes": (1,)}),
    "argmax": (((999, 300),), {"axis": 0}),
    "transpose": (((300, 40, 50),), {"perm": (2, 0, 1)}),
    "concat": (((70, 900, 3), (70, 1, 3), (70, 0, 3), (70, 800, 3)), {"axis": 1}),
    "split": (((70, 1701, 3),), {"axis": 1, "sizes": (900, 1, 0, 800)}),
    "reshape": (((1000, 333),), {"shape": (333, 1000)}),
    "cast": (((600, 500),), {"dtype": "int32"}),
    "sum_to": (((70, 80, 90),), {"shape": (70, 1, 90), "factor": 0.5}),
    "iota": ((), {"shape": (600, 500), "axis": 1, "start": 3.0}),
    "gelu_gradient": (((300, 500), (300, 500)), {}),
    "conv2d_input_gradient": (
        ((2, 24, 33, 31), (24, 16, 3, 3)),
        {"shape": (2, 16, 33, 31), "padding": (1, 1, 1, 1)},
    ),
    "conv2d_weight_gradient": (
        ((2, 24, 33, 31), (2, 16, 33, 31)),
        {"shape": (24, 16, 3, 3), "padding": (1, 1, 1, 1)},
    ),
    "max_pool2d_gradient": (
        ((4, 64, 16, 15), (4, 64, 33, 32)),
        {"kernel": (3, 3), "stride": (2, 2)},
    ),
    "gather_gradient": (((900, 70), (900,)), {"shape": (37, 70)}),
    "softmax_cross_entropy": (((9000, 37), (9000,), None), {}),
    "adamw_step": (((300, 77),) * 4, {"step": 3.0}),
}
FILLS = {
    "batch_norm": ("normal", "normal", "positive", "normal", "normal"),
    "gather_gradient": ("normal", "0..37"),
    "softmax_cross_entropy": ("normal", "0..37"),
    "adamw_step": ("normal", "normal", "normal", "positive"),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_operands(ctx: wia.Context, name: str) -> None:
    """So large that several threads share the work: nothing is left out and nothing done twice."""
    shapes, values = LARGE[name]
    sample = Sample(shapes=shapes, values=values, fills=FILLS.get(name, ()))
    operation = replace(BY_NAME[name], samples=(sample,))
    inputs, values, expected = call(operation, sample, "float32")
    tensors = [None if array is None else ctx.tensor(array) for array in inputs]
    results = [ctx.empty(item.shape, item.dtype.name) for item in expected]
    for result in results:
        if result.dtype.kind == "f":
            result.fill(float("nan"))
    ctx.execute(name, tensors, results, **attributes_of(values))
    assert_close(operation, inputs, values, expected, results)


def test_beta_reads_the_output(ctx: wia.Context) -> None:
    """c = 2 * a b + 3 * c, and NaN in c stays out with beta 0."""
    a, b = ctx.full((2, 3), 2.0), ctx.full((3, 2), 1.0)
    c = ctx.full((2, 2), 10.0)
    assert ctx.matmul(a, b, c, alpha=2.0, beta=3.0) is c
    assert c.numpy().tolist() == [[42.0, 42.0]] * 2
    c.fill(float("nan"))
    assert ctx.matmul(a, b, c).numpy().tolist() == [[6.0, 6.0]] * 2


def test_what_it_has_no_kernel_for(ctx: wia.Context) -> None:
    """Operation, dtype and driver are named."""
    x = ctx.zeros((2, 2), "int32")
    with pytest.raises(wia.UnimplementedError, match=r"npu has no kernel for matmul of int32"):
        ctx.matmul(x, x)
    with pytest.raises(wia.UnimplementedError, match=r"cast of float32 to float16"):
        ctx.cast(ctx.zeros(3), "float16")


def test_is_never_the_default() -> None:
    device = wia.find_device("npu")
    assert wia.DeviceFlag.SIMULATED in device.flags
    assert wia.DeviceFlag.HOST_ADDRESSABLE not in device.flags
    with wia.Context() as default:
        assert default.device.driver_name != "npu"


def test_discovery_imports_no_numba(run_python: RunPython) -> None:
    """Nor do opening the device and moving data."""
    code = "import sys, wia; wia.devices(); ctx = wia.Context('npu'); x = ctx.tensor([1.0])\n"
    result = run_python(code + "print(x.tolist(), 'numba' in sys.modules, len(wia.load_report()))")
    assert result.stdout.startswith("[1.0] False "), result.stderr


def test_without_numba(run_python: RunPython) -> None:
    """The other devices are there, and the reason why this one isn't can be read."""
    code = """
import sys
sys.modules["numba"] = None
import wia
print([device.driver_name for device in wia.devices()].count("npu"))
print([c.message for c in wia.load_report() if "npu" in c.name][0])
wia.Context("npu")
"""
    result = run_python(code)
    assert result.stdout.count("pip install 'wia[npu]'") == 1, (result.stdout, result.stderr)
    assert result.stdout.startswith("0\n")
    assert "UnavailableError" in result.stderr
    assert "pip install 'wia[npu]'" in result.stderr


# -- memory --


def test_the_host_cannot_touch_its_memory(run_python: RunPython) -> None:
    code = f"import ctypes, wia\n{ONE_RESULT}\n"
    whole = run_python(code)
    assert (whole.returncode, whole.stdout) == (0, "[1.0, 0.0]\n"), whole.stderr
    fault = run_python(code + "import sys; sys.stdout.flush(); ctypes.string_at(x.address, 1)")
    assert (fault.returncode, fault.stdout) == (-11, "[1.0, 0.0]\n"), fault.stderr


def test_its_memory_has_a_size(run_python: RunPython) -> None:
    """WIA_NPU_MEMORY: what is beyond it is refused, and later calls work."""
    code = """
import wia
ctx = wia.Context("npu")
print(ctx.device.total_memory_size)
try:
    ctx.empty(1 << 20)
except wia.ResourceExhaustedError as error:
    print("exhausted:", "Free memory" in str(error))
print(ctx.relu(ctx.tensor([3.0])).tolist())
"""
    for given, size in (("2M", 2 << 20), ("2 MiB", 2 << 20), ("2097152", 2 << 20)):
        result = run_python(code, environment={"WIA_NPU_MEMORY": given})
        assert result.stdout == f"{size}\nexhausted: True\n[3.0]\n", result.stderr


@pytest.mark.parametrize("given", ["", "0", "-1", "2X", "a lot", "1.5G"])
def test_sizes_that_are_none(run_python: RunPython, given: str) -> None:
    result = run_python("import wia; wia.Context('npu')", environment={"WIA_NPU_MEMORY": given})
    assert result.returncode == 1
    assert "WIA_NPU_MEMORY" in result.stderr
    assert "512M" in result.stderr


def test_default_size(ctx: wia.Context) -> None:
    assert ctx.device.total_memory_size == 1 << 30


# -- threads and the cache --


@pytest.fixture(scope="module")
def threads_program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The C program that classifies the digits in several threads."""
    program = tmp_path_factory.mktemp("threads") / "digits_threads"
    sources = [ROOT / "tests" / "programs" / "digits_threads.c", DIGITS / "network.c"]
    flags = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{DIGITS}"]
    flags += [f'-DDIGITS_DATA="{DIGITS / "data"}"', f"-I{prefix()}/include"]
    link = [f"-L{prefix()}/lib", f"-Wl,-rpath,{prefix()}/lib", "-lwia", "-lpthread", "-lm"]
    files = [*map(str, sources), str(DIGITS / "npy.c")]
    subprocess.run(["cc", *flags, *files, *link, "-o", str(program)], check=True)
    return str(program)


def test_four_threads_of_a_c_program(threads_program: str, tmp_path: Path) -> None:
    """With a cold cache, then with a warm one, from which all kernels come."""
    environment = {**os.environ, "WIA_NPU_CACHE": str(tmp_path), "NUMBA_DEBUG_CACHE": "1"}
    outputs = []
    for _ in range(2):
        result = subprocess.run(
            [threads_program, "npu:0", "4", "3"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert result.returncode == 0, result.stderr
        lines = [line for line in result.stdout.splitlines() if line.startswith("thread")]
        assert lines == [f"thread {i}: 356 of 360 right" for i in range(4)], result.stdout
        outputs.append(result.stdout)
    cold, warm = outputs
    assert "data saved to" in cold
    assert "data saved to" not in warm
    assert "data loaded from" in warm
    assert os.stat(next(tmp_path.iterdir())).st_mode & 0o77 == 0, "the cache is for its owner alone"


def test_kernels_do_without_the_gil(ctx: wia.Context) -> None:
    """This thread keeps the GIL while it waits, so a kernel that wants it would never end."""
    library = ctypes.PyDLL(f"{prefix()}/lib/libwia.so.0")
    library.wia_synchronize_stream.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    a, c = ctx.full((300, 300), 0.5), ctx.empty((300, 300))
    ctx.matmul(a, a, c)
    ctx.relu(c, c)
    with wia.Stream(ctx) as stream:
        for _ in range(20):
            ctx.matmul(a, a, c, stream=stream)
            ctx.relu(c, c, stream=stream)
        from wia._native import ffi

        handle = int(ffi.cast("uintptr_t", stream._handle))
        assert library.wia_synchronize_stream(handle, 60_000_000_000) == 0
    assert c.numpy()[0, 0] == 75.0


def test_results_do_not_depend_on_threads(run_python: RunPython, ctx: wia.Context) -> None:
    """One thread gives the same bits as several."""
    code = """
import hashlib, numpy, wia
random = numpy.random.default_rng(7)
a, b = (random.standard_normal(shape).astype("f") for shape in ((257, 300), (300, 129)))
x = random.standard_normal((3, 8, 40, 40)).astype("f")
w = random.standard_normal((12, 8, 3, 3)).astype("f")
ctx = wia.Context("npu")
results = [ctx.matmul(ctx.tensor(a), ctx.tensor(b)), ctx.conv2d(ctx.tensor(x), ctx.tensor(w))]
results.append(ctx.softmax(ctx.tensor(a)))
print([hashlib.sha256(result.numpy().tobytes()).hexdigest() for result in results])
"""
    one, several = (
        run_python(code, environment={"NUMBA_NUM_THREADS": count}) for count in ("1", "3")
    )
    assert one.returncode == 0, one.stderr
    assert one.stdout == several.stdout


@pytest.mark.parametrize(
    ("before", "environment", "parts"),
    [
        ("", {"NUMBA_THREADING_LAYER": "workqueue"}, ["omp or tbb", "workqueue can't be entered"]),
        (
            "import numba; numba.config.THREADING_LAYER = 'workqueue'; numba.set_num_threads(1)\n"
            "numba.config.THREADING_LAYER = 'default'\n",
            {},
            ["the program has started workqueue already"],
        ),
        ("", {"NUMBA_DISABLE_JIT": "1"}, ["unset NUMBA_DISABLE_JIT"]),
    ],
)
def test_numba_that_is_not_fit(
    run_python: RunPython, before: str, environment: dict[str, str], parts: list[str]
) -> None:
    result = run_python(f"{before}import wia; {ONE_RESULT}", environment=environment)
    assert result.returncode == 1
    for part in parts:
        assert part in result.stderr


def test_a_program_that_has_started_omp(run_python: RunPython) -> None:
    code = "import numba; numba.config.THREADING_LAYER = 'omp'; numba.set_num_threads(1)\n"
    result = run_python(f"{code}import wia; {ONE_RESULT}")
    assert result.stdout == "[1.0, 0.0]\n", result.stderr


def test_without_a_folder_for_the_cache(run_python: RunPython, tmp_path: Path) -> None:
    """It says so, and compiles for this process."""
    (tmp_path / "file").touch()
    folder = str(tmp_path / "file" / "below")
    environment = {"WIA_NPU_CACHE": folder}
    result = run_python(f"import wia; {ONE_RESULT}", environment=environment)
    assert result.stdout == "[1.0, 0.0]\n", result.stderr
    assert folder in result.stderr
    assert "WIA_NPU_CACHE" in result.stderr


def test_a_forked_process_is_told(run_python: RunPython) -> None:
    """Instead of being ended by OpenMP, which has no threads there."""
    code = f"""
import os, wia
{ONE_RESULT}
from wia_npu import _compiler
pid = os.fork()
if pid == 0:
    try:
        _compiler.load("unary", "unary", None, print)
    except wia.FailedPreconditionError as error:
        os._exit(7 if "spawn" in str(error) else 8)
    os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    result = run_python(code)
    assert result.stdout == "[1.0, 0.0]\n7\n", result.stderr


def test_bounds_that_are_no_numbers(ctx: wia.Context) -> None:
    """A status of a part is that of the launch, from one chunk and from many."""
    for size in (3, 1 << 18):
        x = ctx.zeros(size)
        with pytest.raises(wia.InvalidArgumentError):
            ctx.execute("clip", [x], min=float("nan"), max=1.0)
        (result,) = ctx.execute("clip", [x], min=1.0, max=2.0)
        assert set(result.numpy().flat) == {1.0}
