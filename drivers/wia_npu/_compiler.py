"""Numba, made ready for kernels that any number of threads of a C program may call.

Three things have to be right before the first kernel is compiled or loaded from disk: the threading
layer is one that takes calls from several threads; it is started, since kernels that come from the
cache expect that; and the cache has a folder that changes with the sources of all kernels.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from wia import FailedPreconditionError, UnavailableError

__all__ = ["is_cached", "load", "require_numba", "thread_count"]

SAFE_LAYERS = ("omp", "tbb")
"""Threading layers that may be entered from several threads at once; workqueue aborts then."""

_lock = threading.RLock()


class _Started:
    """What was decided when Numba was made ready: the process, and the folder of the cache."""

    process = 0
    folder: Path | None = None


def require_numba() -> None:
    """Raises UnavailableError when numba is not installed. Doesn't import it."""
    if find_spec("numba") is None:
        raise UnavailableError(
            "The driver npu needs numba, which is not installed: pip install 'wia[npu]'."
        )


def is_cached() -> bool:
    """Whether kernels are kept on disk; decided before the first of them is imported."""
    return _Started.folder is not None


def thread_count() -> int:
    """The threads that work on one launch."""
    import numba

    return int(numba.get_num_threads())


def load(module: str, name: str, folder: str | None, warn: Callable[[str], None]) -> Any:
    """Code of a module of wia_npu.kernels, compiled or from the cache.

    `folder` is where the cache is; None: below the user's cache folder. `warn` gets a text when
    there can be no cache. Raises UnavailableError where numba or a threading layer is missing, and
    FailedPreconditionError in a forked process or with a layer that takes one thread at a time.
    """
    with _lock:
        if _Started.process == 0:
            require_numba()
            _start_threads()
            _Started.folder = _make_folder(folder, warn)
            _Started.process = os.getpid()
        if _Started.process != os.getpid():
            raise FailedPreconditionError(
                "This process was forked after the driver npu had started threads, which the child "
                "doesn't have. Start it anew (multiprocessing: the start method spawn)."
            )
        with _cache_in(_Started.folder):
            code = importlib.import_module(f"wia_npu.kernels.{module}")
    return getattr(code, name)


def _start_threads() -> None:
    import numba

    if numba.config.DISABLE_JIT:
        raise UnavailableError("The driver npu compiles its kernels: unset NUMBA_DISABLE_JIT.")
    wanted = numba.config.THREADING_LAYER
    candidates = SAFE_LAYERS if wanted in ("default", "safe", "threadsafe") else (wanted,)
    reasons = []
    for layer in candidates:
        if layer not in SAFE_LAYERS:
            reasons.append(f"{layer} can't be entered by several threads at once")
            continue
        numba.config.THREADING_LAYER = layer
        try:
            # Starts the layer, unless the program has started one before.
            numba.set_num_threads(numba.get_num_threads())
        except ValueError as error:
            reasons.append(f"{layer}: {' '.join(str(error).split())}")
            numba.config.THREADING_LAYER = wanted
            continue
        if (running := numba.threading_layer()) not in SAFE_LAYERS:
            reasons.append(f"the program has started {running} already")
            break
        return
    raise FailedPreconditionError(
        f"The driver npu needs one of Numba's threading layers {' or '.join(SAFE_LAYERS)}: "
        f"{'; '.join(reasons)}. Set NUMBA_THREADING_LAYER to one of them before the program "
        "starts; omp needs the library libgomp, tbb the package tbb."
    )


def _make_folder(folder: str | None, warn: Callable[[str], None]) -> Path | None:
    """The folder for this version of the kernels; None, with a warning, where none can be made."""
    import numba
    from numba.misc.appdirs import AppDirs

    base = folder or numba.config.CACHE_DIR
    name = f"wia-npu-{_key()}"
    path = Path(base, name) if base else Path(AppDirs(appname=name).user_cache_dir)
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(path, os.W_OK | os.X_OK):
            return path
        reason = "it may not be written to"
    except OSError as error:
        reason = str(error)
    warn(
        f"Kernels can't be kept in {path}: {reason}. Each process compiles them anew, which takes "
        "seconds; WIA_NPU_CACHE names another folder."
    )
    return None


def _key() -> str:
    """A hash of the sources of all kernels: Numba's own check sees one file, not what it calls."""
    spec = find_spec("wia.driver.numba")
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    sources += [Path(spec.origin)] if spec and spec.origin else []
    digest = hashlib.sha256(sys.version.encode())
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def _cache_in(folder: Path | None) -> Iterator[None]:
    """Numba asks for the folder when a decorator runs: that is while a module is imported."""
    import numba

    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder) if folder else before
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before
