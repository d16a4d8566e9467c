"""The process that runs cases: those of a batch one after the other, as the pool hands it over."""

from __future__ import annotations

import faulthandler
import gc
import importlib
import importlib.util
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from wia_conformance._outcome import Outcome

__all__ = ["Answer", "Ready", "Refused", "work"]


@dataclass(frozen=True, kw_only=True)
class Ready:
    """What a worker found when it opened the device."""

    device: str
    description: str
    driver: str
    driver_version: str
    vendor: str
    architecture: str
    library: str


@dataclass(frozen=True)
class Refused:
    """Why a worker could not open the device."""

    reason: str


class Answer(NamedTuple):
    """What became of a case, and how much had been printed by then."""

    outcome: Outcome
    printed: int


def work(connection: Connection, device: str, modules: Sequence[str], seed: int, log: str) -> None:
    """Opens the device, tells of it, and then answers each case of a batch with its outcome."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the pool ends its workers
    # What a driver prints, and what is said at a crash, goes where the pool finds it.
    output = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    faulthandler.enable(file=output, all_threads=False)
    try:
        import wia
        from wia_conformance._run import run_case

        for module in modules:
            _import(module)
        context = wia.Context(device)
    except Exception as error:
        cause = getattr(error, "cause", "")
        known = "wia" in sys.modules and isinstance(error, sys.modules["wia"].WiaError)
        reason = f"{error}\n{cause}".rstrip() if known else traceback.format_exc(limit=-3)
        connection.send(Refused(reason))
        return
    with context:
        found = context.device
        connection.send(
            Ready(
                device=found.name,
                description=found.description,
                driver=found.driver_name,
                driver_version=found.driver_version,
                vendor=found.vendor,
                architecture=found.architecture,
                library=wia.__version__,
            )
        )
        gc.freeze()  # what is imported stays: collections need not look at it
        while (batch := connection.recv()) is not None:
            for case in batch:
                outcome = run_case(context, case, seed)
                connection.send(Answer(outcome, os.fstat(output).st_size))


def _import(module: str) -> None:
    """Imports a module by name, or a file that ends in .py."""
    if not module.endswith(".py"):
        importlib.import_module(module)
        return
    path = Path(module).resolve()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{module} can't be imported")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = loaded
    spec.loader.exec_module(loaded)
