"""The entry point of the command `wia`.

It stands outside the package wia, so that it can say what is wrong when that can't be imported: the
library is missing, or was built for another Python.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

__all__ = ["main"]


def main() -> int:
    """Runs the command line and returns the exit code."""
    try:
        import wia  # noqa: F401  (whether it can be imported is the question)
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        return _explain(error)
    from wia._cli import main as run

    return run()


def _explain(error: Exception) -> int:
    """Tells why wia can't be imported; `wia doctor` also what its files lack."""
    checks = _load_checks() if "doctor" in sys.argv[1:] else None
    reason = f"wia can't be imported: {type(error).__name__}: {' '.join(str(error).split())}"
    if checks is None:
        print(f"wia: error: {reason} (wia doctor says more)", file=sys.stderr)
    else:
        bridge = checks.Check("import", checks.WRONG, reason, f"{checks.REINSTALL}.")
        checks.print_plain([*checks.check_files(), bridge])
    return 1


def _load_checks() -> ModuleType | None:
    """The module wia._cli._installation, loaded without the package that it is in."""
    package = importlib.util.find_spec("wia")
    for folder in (package.submodule_search_locations if package else None) or ():
        path = Path(folder, "_cli", "_installation.py")
        spec = importlib.util.spec_from_file_location("wia_installation", path)
        if path.is_file() and spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    return None
