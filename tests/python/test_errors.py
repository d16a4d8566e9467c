"""Handles, pointers and numbers that are none, in every function (scenarios 10 to 12)."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

import wia
from wia._gradient import Gradient
from wia._native import NULL, ffi, lib, new_struct, text

HANDLES = {
    ffi.typeof(kind).cname: destroy
    for kind, destroy in (
        ("wia_context_t *", lib.wia_destroy_context),
        ("wia_stream_t *", lib.wia_destroy_stream),
        ("wia_event_t *", lib.wia_destroy_event),
        ("wia_plan_t *", lib.wia_destroy_plan),
        ("wia_gradient_t *", lib.wia_destroy_gradient),
        ("wia_graph_t *", lib.wia_destroy_graph),
        ("wia_executable_t *", lib.wia_destroy_executable),
        ("wia_tensor_t", lib.wia_destroy_tensor),
        ("wia_profiling_session_t *", lib.wia_destroy_profiling_session),
        ("wia_profiling_report_t *", lib.wia_destroy_profile_report),
    )
}
# Writes nothing, starts nothing, or answers with texts.
STATUSLESS = {"wia_get_host", "wia_get_version", "wia_free", "wia_prefetch"}
INVALID_HANDLE = lib.WIA_STATUS_INVALID_HANDLE


def functions() -> dict[str, Any]:
    """The public functions that return a status, and their C types."""
    found = {}
    for name in dir(lib):
        if not name.startswith("wia_") or name.startswith("wia__") or name in STATUSLESS:
            continue
        function = ffi.typeof(ffi.addressof(lib, name))
        if function.kind == "function" and function.result.cname == "int32_t":
            found[name] = function
    return found


FUNCTIONS = functions()


def arguments(name: str, replaced: int, value: Any, valid: dict[str, Any]) -> list[Any]:
    """Arguments of a call: a value at one position, elsewhere good handles, zeros and NULL.

    Calls that look at something before their handles get what they want to see.
    """
    kinds = FUNCTIONS[name].args
    given = [valid[k.cname] if k.cname in HANDLES else blank(k) for k in kinds]
    tensor = valid[ffi.typeof("wia_tensor_t").cname]
    info = new_struct("wia_tensor_info_t")
    lib.wia_get_tensor_info(tensor, info)
    address = info.address
    operands: Any = ffi.new("wia_tensor_t[2]", [tensor, tensor])
    if name in ("wia_execute", "wia_create_operation_plan"):
        given[1:6] = [lib.WIA_OP_RELU, operands, 1, operands, 1]
    elif name == "wia_execute_views":
        shape = ffi.new("int64_t[]", [3])
        view = {"address": address, "shape": shape, "dtype": lib.WIA_FLOAT32, "rank": 1}
        views = ffi.new("wia_view_t[]", [view])
        given[1:6] = [lib.WIA_OP_RELU, views, 1, views, 1]
        operands = (operands, shape)
    elif name == "wia_execute_plan":
        given[1:3] = [operands, 2]
    elif name == "wia_enqueue_host_function":
        given[1] = ffi.addressof(lib, "wia__gate_host_function")
    elif name == "wia_update_graph_function":
        given[2] = ffi.addressof(lib, "wia__gate_host_function")
    elif name == "wia_update_graph_memory":
        given[1:4] = [ffi.cast("void *", address), ffi.cast("void *", address), 1]
    elif name == "wia_call_on_event":
        given[1] = ffi.addressof(lib, "wia__gate_event_function")
    elif name in ("wia_read_tensor", "wia_write_tensor"):
        given[1:3] = [ffi.new("float[3]"), 12]
    elif name == "wia_matmul_strided":
        given[1:4] = [ffi.cast("void *", address + 4 * i) for i in range(3)]
        dims = given[4]
        dims.dtype, dims.m, dims.n, dims.k = lib.WIA_FLOAT32, 1, 1, 1
    elif name in ("wia_concat", "wia_einsum", "wia_stack"):
        given[1:3] = [operands, 1]
    elif name == "wia_einsum_gradient":
        given[1:3] = [operands, 2]
    for own, kind in zip(given, kinds, strict=True):
        if kind.cname.endswith("_config_t *"):
            for field, needed in NEEDED.get(name.removesuffix("_gradient"), {}).items():
                setattr(own, field, needed)
    given[replaced] = ffi.cast(kinds[replaced], value)
    KEPT[:] = [operands, given]
    return given


KEPT: list[Any] = []
NEEDED: dict[str, dict[str, Any]] = {
    "wia_avg_pool2d": {"kernel": [1, 1]},
    "wia_max_pool2d": {"kernel": [1, 1]},
    "wia_max_roi_pool": {"height": 1, "width": 1},
    "wia_roi_align": {"height": 1, "width": 1},
    "wia_mel_weight_matrix": {"bins": 1, "dft_length": 1, "sample_rate": 1},
    "wia_multinomial": {"count": 1},
    "wia_einsum": {"equation_length": 1, "equation": [ord("i")]},
}
"""Fields of config structs that zeros are refused in."""


def blank(kind: Any) -> Any:
    """Zero, or a pointer to 64 zeroed items; structs have their size."""
    if kind.kind == "function":
        return NULL
    if kind.kind != "pointer":
        return 0
    try:
        ffi.sizeof(kind.item)
    except (ValueError, ffi.error):
        return NULL  # a handle; cffi ends the process when it is asked for the fields of such
    fields = dict(kind.item.fields or ()) if kind.item.kind == "struct" else {}
    if kind.item.kind == "void" or (kind.item.kind == "struct" and not fields):
        return NULL
    if "struct_size" in fields:
        struct = ffi.new(f"{kind.item.cname} *")
        struct.struct_size = ffi.sizeof(kind.item)
        return struct
    return ffi.new(f"{kind.item.cname}[64]")


class Handle:
    """A handle that Python has no object for."""

    def __init__(self, kind: str, make: Callable[..., int], *arguments: Any) -> None:
        self.kind = ffi.typeof(f"{kind} *").cname
        out = ffi.new(f"{kind} **")
        assert make(*arguments, out) == 0
        self._handle = out[0]

    def close(self) -> None:
        assert HANDLES[self.kind](self._handle) == 0


def new_session() -> Handle:
    return Handle("wia_profiling_session_t", lib.wia_start_profiling, NULL, NULL)


def new_graph() -> Handle:
    with wia.Context("reference") as ctx, wia.Stream(ctx) as stream:
        tensor = ctx.zeros(3)
        assert lib.wia_begin_capture(stream._handle, NULL) == 0
        ctx.relu(tensor, out=tensor, stream=stream)
        return Handle("wia_graph_t", lib.wia_end_capture, stream._handle)


def new_executable() -> Handle:
    with closing(new_graph()) as graph:
        return Handle("wia_executable_t", lib.wia_instantiate_graph, graph._handle, NULL)


def new_report() -> Handle:
    return Handle("wia_profiling_report_t", lib.wia_stop_profiling, new_session()._handle)


@pytest.fixture(scope="module")
def valid() -> Any:
    """A good handle of each type, and one of each that is destroyed."""
    with (
        wia.Context("reference") as ctx,
        wia.Stream(ctx) as stream,
        wia.Event(ctx) as event,
    ):
        tensor = ctx.zeros(3)
        event.record(stream)
        with (
            ctx.plan("relu", [tensor], [tensor]) as plan,
            closing(new_session()) as session,
            closing(new_report()) as report,
            closing(new_graph()) as graph,
            closing(new_executable()) as executable,
            Gradient("relu", [tensor], [tensor], {}, [0], [tensor]) as gradient,
        ):
            objects: tuple[Any, ...]
            objects = (
                ctx,
                stream,
                event,
                plan,
                tensor,
                session,
                report,
                gradient,
                graph,
                executable,
            )
            yield {ffi.typeof(o._handle).cname: o._handle for o in objects}, tensor


CASES = [
    (name, position)
    for name, function in FUNCTIONS.items()
    for position, kind in enumerate(function.args)
    if kind.cname in HANDLES
]


@pytest.mark.parametrize(("name", "position"), CASES)
def test_handles_that_are_none(name: str, position: int, valid: Any) -> None:
    """Scenario 10: NULL (where it isn't a choice), a wrong type, garbage, each at each position.

    Guard: the look-up in wia__resolve. Without the check of the type, this crashes.
    """
    good, _ = valid
    kind = FUNCTIONS[name].args[position].cname
    rng = random.Random(7)
    others = [int(ffi.cast("uintptr_t", h)) for cname, h in good.items() if cname != kind]
    bad = [1, 8, 0xDEADBEEF, 2**64 - 1, *others, *(rng.getrandbits(64) for _ in range(50))]
    for value in bad:
        call = getattr(lib, name)
        status = call(*arguments(name, position, value, good))
        assert status == INVALID_HANDLE, (name, position, hex(value), status)
    assert text(lib.wia_get_status_name(status)) == "INVALID_HANDLE"


@pytest.mark.parametrize("kind", HANDLES)
def test_destroyed_handles(kind: str, valid: Any) -> None:
    """Scenario 12: destroying twice, and every use of a destroyed handle."""
    _, tensor = valid
    ctx = tensor.context
    makers: dict[str, Callable[[], Any]] = {
        ffi.typeof("wia_context_t *").cname: lambda: wia.Context("reference"),
        ffi.typeof("wia_stream_t *").cname: ctx.stream,
        ffi.typeof("wia_event_t *").cname: lambda: wia.Event(ctx),
        ffi.typeof("wia_plan_t *").cname: lambda: ctx.plan("relu", [tensor], [tensor]),
        ffi.typeof("wia_gradient_t *").cname: lambda: Gradient(
            "relu", [tensor], [tensor], {}, [0], [tensor]
        ),
        ffi.typeof("wia_tensor_t").cname: lambda: tensor[:],
        ffi.typeof("wia_profiling_session_t *").cname: new_session,
        ffi.typeof("wia_profiling_report_t *").cname: new_report,
        ffi.typeof("wia_graph_t *").cname: new_graph,
        ffi.typeof("wia_executable_t *").cname: new_executable,
    }
    resource = makers[kind]()
    handle = ffi.cast(kind, resource._handle)
    resource.close()
    assert HANDLES[kind](handle) == INVALID_HANDLE
    good, _ = valid
    stale = int(ffi.cast("uintptr_t", handle))
    for name, position in CASES:
        if FUNCTIONS[name].args[position].cname == kind:
            status = getattr(lib, name)(*arguments(name, position, stale, good))
            assert status == INVALID_HANDLE, name


def test_closing_twice_is_fine() -> None:
    ctx = wia.Context("reference")
    tensor = ctx.tensor([1.0])
    ctx.close()
    ctx.close()
    assert ctx.closed
    # Parent before child: what was made with the context stays fully usable.
    assert tensor.tolist() == [1.0]
    assert tensor[:].tolist() == [1.0]
    tensor.close()
    tensor.close()
    with pytest.raises(wia.InvalidHandleError) as caught:
        ctx.empty(1)
    assert caught.value.function == "wia_allocate_tensor"
    with pytest.raises(ValueError, match="tensor"):
        tensor.numpy()


# Their last pointer is a config, a context, a text, data of the caller or what they destroy.
WITHOUT_OUTPUT = {
    "wia_allocate_arena",
    "wia_allocate_memory",
    "wia_begin_capture",
    "wia_call_on_event",
    "wia_create_stream_with_config",
    "wia_destroy_profile_report",
    "wia_destroy_profiling_session",
    "wia_enqueue_host_function",
    "wia_free_arena",
    "wia_save_profile_report",
    "wia_set_allocator",
    "wia_set_device_allocator",
    "wia_set_log_callback",
    "wia_configure_memory_pool",
    "wia_configure_validation",
    "wia_signal_event",
    "wia_trim_memory_pool",
    "wia_update_graph_function",
    "wia_update_graph_memory",
    "wia_update_graph_tensor",
}
OUTPUTS = [
    (name, position)
    for name, function in FUNCTIONS.items()
    for position, kind in enumerate(function.args)
    if kind.kind == "pointer"
    and kind.cname not in HANDLES
    and position == len(function.args) - 1
    and name not in WITHOUT_OUTPUT
]


@pytest.mark.parametrize(("name", "position"), OUTPUTS)
def test_outputs_that_are_null(name: str, position: int, valid: Any) -> None:
    """Scenario 11: a NULL where the result should go is refused, not written to."""
    good, _ = valid
    status = getattr(lib, name)(*arguments(name, position, 0, good))
    assert status in (
        lib.WIA_STATUS_INVALID_ARGUMENT,
        lib.WIA_STATUS_OUT_OF_RANGE,
        INVALID_HANDLE,
        lib.WIA_STATUS_NOT_FOUND,
    ), (name, status)


@pytest.mark.parametrize("dtype", [0, -1, 26, 2**31 - 1, -(2**31)])
def test_enumerators_out_of_range(dtype: int, valid: Any) -> None:
    _, tensor = valid
    out = ffi.new("wia_tensor_t *")
    context = tensor.context._handle
    assert lib.wia_allocate_tensor(context, [1], 1, dtype, out) == lib.WIA_STATUS_INVALID_ARGUMENT
    assert out[0] == NULL
    assert text(lib.wia_get_dtype_name(dtype)) == "none"
    assert text(lib.wia_get_status_name(dtype)) in ("OK", "UNKNOWN_STATUS")
    bits = ffi.new("uint64_t *")
    op = 1000 * dtype if dtype == lib.WIA_DTYPE_COUNT else dtype
    status = lib.wia_get_device_support(tensor.device.id, op, bits)
    assert status == lib.WIA_STATUS_INVALID_ARGUMENT


def test_short_buffers(valid: Any) -> None:
    """Scenario 11: nothing is written when not all fits."""
    _, tensor = valid
    count = ffi.new("uint32_t *")
    ids = ffi.new("int32_t[]", [-7])
    assert lib.wia_get_devices(ids, 1, count) == lib.WIA_STATUS_OUT_OF_RANGE
    assert count[0] > 1
    assert ids[0] == -7
    data = ffi.new("char[]", b"\x55" * 12)
    for size in (0, 11, 13, 2**63):
        status = lib.wia_read_tensor(tensor._handle, data, size, NULL)
        assert status == lib.WIA_STATUS_INVALID_ARGUMENT
    assert bytes(ffi.buffer(data, 12)) == b"\x55" * 12
