"""What all models here have in common: their packages, and runs on WIA beside onnxruntime."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "models"
Array = np.ndarray[Any, Any]


class Answer(NamedTuple):
    """What a model said, whether that is right, and what draws it into a figure of matplotlib."""

    text: str
    right: bool
    draw: Callable[[Any], None]


class Model(NamedTuple):
    """A file of a package, how far its outputs may be from onnxruntime's, and what asks it."""

    package: str
    file: str
    tolerance: float
    ask: Callable[[Run], Answer]

    @property
    def path(self) -> Path:
        """The file; the package is installed if need be, alone, into a folder of its own."""
        return install(self.package) / self.file


class Run(Protocol):
    """Runs a model: outputs by name for inputs by name."""

    metadata: Mapping[str, str]
    device: str

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """The outputs of WIA."""


class Runner:
    """Runs one file on both sides; keeps the largest difference, and where nodes ran."""

    def __init__(self, path: Path, device: str) -> None:
        import onnxruntime

        import wia.onnx

        foreign = [op for op in wia.onnx.inspect(path).operators if op.startswith("com.")]
        if foreign:
            raise AssertionError(f"{path} has operators of other domains: {foreign}")
        self.device = device
        self._session = wia.onnx.load(path, device)
        self._peer = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        self.metadata = self._peer.get_modelmeta().custom_metadata_map
        self.difference = 0.0
        self.seconds = 0.0
        self.places: dict[str, int] = {}

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """The outputs of WIA. Raises AssertionError if onnxruntime's have another form."""
        start = time.perf_counter()
        found: dict[str, Array] = self._session.run(inputs)
        self.seconds += time.perf_counter() - start
        placement = self._session.placement()
        self.places = {name: len(getattr(placement, name)) for name in placement._fields[:4]}
        names = [info.name for info in self._session.outputs]
        for name, expected in zip(names, self._peer.run(names, dict(inputs)), strict=True):
            if found[name].shape != expected.shape or found[name].dtype != expected.dtype:
                raise AssertionError(f"{name} is {found[name].shape}, expected {expected.shape}")
            off = np.abs(found[name].astype(np.float64) - expected.astype(np.float64))
            self.difference = max(self.difference, float(off.max(initial=0.0)))
        return found

    def close(self) -> None:
        """Gives up the model on WIA's side."""
        self._session.close()


def install(package: str) -> Path:
    """The folder of a package, installed alone."""
    folder = FOLDER / package.partition("==")[0]
    if not folder.is_dir():
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target"]
        subprocess.run([*command, str(folder), package], check=True)
    return folder


def picture(name: str) -> Any:
    """A picture that scikit-image brings."""
    import skimage
    from PIL import Image

    return Image.open(Path(skimage.__file__).parent / "data" / name).convert("RGB")
