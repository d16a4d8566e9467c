"""WIA: one interface to AI accelerators, with their drivers as plugins.

>>> import wia
>>> with wia.Context("reference") as ctx:
...     (ctx.tensor([1.0, 2.0]) + 1).tolist()
[2.0, 3.0]
"""

from __future__ import annotations

from wia._call import start as _start_calls
from wia._context import Context
from wia._custom import Op, op
from wia._custom_gradient import GradientCall
from wia._device import (
    Device,
    DeviceFlag,
    Extension,
    LinkInfo,
    LoadRecord,
    MemoryInfo,
    PlanCacheStats,
    devices,
    find_device,
    load_report,
)
from wia._dlpack import from_dlpack
from wia._errors import (
    AbortedError,
    AlreadyExistsError,
    ArgumentTypeError,
    CancelledError,
    DataLossError,
    DeadlineExceededError,
    DeviceLostError,
    FailedPreconditionError,
    ForkedError,
    IncompatibleError,
    InternalError,
    InvalidArgumentError,
    InvalidHandleError,
    NotFoundError,
    OutOfRangeError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnauthenticatedError,
    UnavailableError,
    UnimplementedError,
    UnknownError,
    WiaError,
)
from wia._event import Event
from wia._graph import Executable, Graph, GraphNode, GraphOperand
from wia._group import Group, Value
from wia._infer import TensorSpec, infer_outputs
from wia._layer import EnabledLayer, LayerInfo, disable_layer, enable_layer, layers
from wia._log import set_log_level
from wia._memory_pool import MemoryStats
from wia._plan import Plan
from wia._profile import KernelTotal, Profile, ProfileEvent, annotate, profile
from wia._registration import register_driver
from wia._scalar import Scalar
from wia._stream import Stream
from wia._tape import Tape, grad
from wia._tensor import Tensor
from wia._validation import Finding, clear_findings, leak_report, validation_report
from wia._version import __version__

_start_calls(Context, Tensor, Stream, Plan)

__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "ArgumentTypeError",
    "CancelledError",
    "Context",
    "DataLossError",
    "DeadlineExceededError",
    "Device",
    "DeviceFlag",
    "DeviceLostError",
    "EnabledLayer",
    "Event",
    "Executable",
    "Extension",
    "FailedPreconditionError",
    "Finding",
    "ForkedError",
    "GradientCall",
    "Graph",
    "GraphNode",
    "GraphOperand",
    "Group",
    "IncompatibleError",
    "InternalError",
    "InvalidArgumentError",
    "InvalidHandleError",
    "KernelTotal",
    "LayerInfo",
    "LinkInfo",
    "LoadRecord",
    "MemoryInfo",
    "MemoryStats",
    "NotFoundError",
    "Op",
    "OutOfRangeError",
    "PermissionDeniedError",
    "Plan",
    "PlanCacheStats",
    "Profile",
    "ProfileEvent",
    "ResourceExhaustedError",
    "Scalar",
    "Stream",
    "Tape",
    "Tensor",
    "TensorSpec",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "Value",
    "WiaError",
    "__version__",
    "annotate",
    "clear_findings",
    "devices",
    "disable_layer",
    "enable_layer",
    "find_device",
    "from_dlpack",
    "grad",
    "infer_outputs",
    "layers",
    "leak_report",
    "load_report",
    "op",
    "profile",
    "register_driver",
    "set_log_level",
    "validation_report",
]
