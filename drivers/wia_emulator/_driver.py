"""The driver: forwards everything to the base device."""

from __future__ import annotations

import re
from typing import NamedTuple

from wia import InvalidArgumentError, LinkInfo, UnavailableError, load_report
from wia.driver import BaseDevice, BaseMemory, DeviceFlag, Driver, Group

__all__ = ["EmulatorDriver"]

_DEFAULT = "2xreference"
_SETTING = re.compile(
    r"(?P<count>[1-9][0-9]{0,2})x(?P<base>[a-z][a-z0-9_]*(:[0-9]+)?)"
    r"(,memory=(?P<size>[1-9][0-9]{0,17})(?P<unit>[KMGT]iB|B)?)?"
)
_UNITS = {None: 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_MAX_COUNT = 256
_MAX_MEMORY = 1 << 62


class _Setting(NamedTuple):
    devices: int
    base: str
    memory: int  # bytes of each device; 0: as much as the base has


class EmulatorDriver(Driver):
    """The devices "emulator:0", "emulator:1", ...

    Options: WIA_EMULATOR, and the figures of the links between the devices, WIA_EMULATOR_BANDWIDTH
    in bytes per second and WIA_EMULATOR_LATENCY in nanoseconds. A device has those that were set
    when it was opened.
    """

    name = "emulator"
    version = "0.1.0"
    vendor = "WIA"
    description = "Emulated device"
    architecture = "emulated"
    flags = DeviceFlag.SIMULATED
    base_graphs = True

    def __init__(self) -> None:
        self._bases: dict[int, BaseDevice] = {}
        self._memory_sizes: dict[int, int] = {}
        self._links: dict[int, tuple[float, float]] = {}
        self.memory = BaseMemory(
            self._bases.__getitem__,
            limit=self._memory_sizes.__getitem__,
            link=self._links.__getitem__,
        )

    def device_count(self) -> int:
        """As the setting says now.

        Raises InvalidArgumentError for one that is malformed, UnavailableError when the base's
        driver can't be used: then a list of devices leaves the emulated ones out, and says why.
        """
        count, base, _ = self._read_setting()
        name = base.partition(":")[0]
        if name != self.name and not any(
            record.name == name and record.state in ("found", "loaded") for record in load_report()
        ):
            raise UnavailableError(
                f"{self.variable} asks for devices over {base!r}, and no driver named {name!r} can "
                "be used; name another one, or see what `wia devices -v` says of it."
            )
        return count

    def open_device(self, device: int) -> None:
        """Finds the base device."""
        setting = self._read_setting()
        self._links[device] = self._read_figure("bandwidth"), self._read_figure("latency")
        self._memory_sizes[device] = setting.memory
        self._bases[device] = self.find_base(setting.base)

    def describe_device(self, device: int) -> str:
        """Names the base device."""
        base = self._bases[device]
        return f"Emulated over {base.name}: {base.description}"

    def get_flags(self, device: int) -> DeviceFlag:
        """Those of the base device, and that the device is simulated."""
        return self.flags | self._bases[device].flags

    def get_support(self, device: int, op: str) -> frozenset[str]:
        """What the base device supports."""
        return self._bases[device].get_support(op)

    def get_link(self, device: int, peer: int) -> LinkInfo:
        """The configured figures, which copies keep to; direct over one base device."""
        bandwidth, latency = self._links[device]
        return LinkInfo(
            direct=self._bases[device].name == self._bases[peer].name,
            bandwidth=bandwidth,
            latency_ns=latency,
        )

    def prepare_group(self, device: int, group: Group) -> object:
        """The base device's kernel."""
        return self._bases[device].prepare(group)

    @property
    def variable(self) -> str:
        """The environment variable of the setting."""
        return f"WIA_{self.name.upper()}"

    def _read_setting(self) -> _Setting:
        text = self.get_option("") or _DEFAULT
        match = _SETTING.fullmatch(text)
        memory = int(match["size"] or 0) * _UNITS[match["unit"]] if match else 0
        if match is None or int(match["count"]) > _MAX_COUNT or memory > _MAX_MEMORY:
            raise InvalidArgumentError(
                f"{self.variable} is {text!r}; expected a number of devices from 1 to "
                f"{_MAX_COUNT}, x, and the device to build on, then perhaps the memory of each: "
                "2xreference, 4xnpu:1 or 2xreference,memory=64MiB."
            )
        return _Setting(int(match["count"]), match["base"], memory)

    def _read_figure(self, name: str) -> float:
        text = self.get_option(name)
        if not text:
            return -1.0
        try:
            figure = float(text)
        except ValueError:
            figure = -1.0
        if not 0 <= figure < float("inf"):
            raise InvalidArgumentError(
                f"{self.variable}_{name.upper()} is {text!r}; expected a number that is "
                "not below 0, such as 16e9."
            )
        return figure
