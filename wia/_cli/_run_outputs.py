"""Outputs of `wia run`: summaries of values, the largest by name, and the file that keeps them."""

from __future__ import annotations

import errno
import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wia._cli._output import print_fields, print_table
from wia._errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["check_writable", "print_outputs", "save", "summarize"]

_FEW = 5
_ROWS = 8


def check_writable(path: str | None) -> None:
    """Raises OSError where a file couldn't be written: its folder is tried with another one."""
    if not path or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)):
        return
    try:
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with tempfile.TemporaryFile(dir=os.path.dirname(path) or "."):
            pass
    except OSError as error:
        raise type(error)(error.errno, error.strerror, path) from None


def save(path: str, results: Mapping[str, Any]) -> None:
    """Writes arrays to a .npz file."""
    import numpy as np

    arrays = {
        name: value
        for name, value in results.items()
        if isinstance(value, np.ndarray) and value.dtype.kind != "O"
    }
    left_out = [name for name in results if name not in arrays]
    if left_out:
        raise InvalidArgumentError(
            f"The outputs {left_out} are no arrays of numbers; {path} can't hold them."
        )
    # Not np.savez, of which a name like "file" would be an argument.
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name.replace('/', '_')}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def summarize(value: Any, labels: Sequence[str], top: int) -> dict[str, Any]:
    """What a value is; with top above 0 also the largest numbers of each row, with their names."""
    import numpy as np

    if not isinstance(value, np.ndarray):
        return {
            "kind": "sequence" if isinstance(value, list) else "nothing",
            "count": len(value or ()),
        }
    found: dict[str, Any] = {"dtype": value.dtype.name, "shape": list(value.shape)}
    if value.dtype.kind == "O":
        return {"dtype": "string", "shape": found["shape"], "values": _few(value)}
    if value.dtype.kind == "c":
        return found
    if value.size:
        wide = value.astype(np.float64)
        found |= {"min": float(wide.min()), "max": float(wide.max()), "mean": float(wide.mean())}
        if top:
            found["top"] = _largest(wide, labels, top)
        elif value.size <= _FEW:
            found["values"] = _few(wide)
    return found


def _few(value: np.ndarray[Any, Any]) -> list[Any]:
    found: list[Any] = value.reshape(-1)[:_FEW].tolist()
    return found


def _largest(value: np.ndarray[Any, Any], labels: Sequence[str], top: int) -> list[Any]:
    """For each of the first rows its largest numbers, with names or else their place."""
    import numpy as np

    rows = value.reshape(-1, value.shape[-1] if value.ndim else 1)
    found = []
    for row in rows[:_ROWS]:
        order = np.argsort(-row, kind="stable")[:top]
        found.append([[labels[i] if i < len(labels) else str(i), float(row[i])] for i in order])
    return found


def print_outputs(outputs: Mapping[str, Mapping[str, Any]]) -> None:
    """Prints summaries: a table of all outputs, then the numbers of each."""
    rows = []
    for name, found in outputs.items():
        if "dtype" not in found:
            rows.append((name, f"{found['kind']} of {found['count']}", ""))
            continue
        sizes = ", ".join(map(str, found["shape"]))
        span = f"{found['min']:.6g} to {found['max']:.6g}" if "min" in found else ""
        rows.append((name, f"{found['dtype']}[{sizes}]", span))
    print_table(("OUTPUT", "IS", "VALUES"), rows)
    for name, found in outputs.items():
        if found.get("values"):
            print()
            print_fields({name: "\n".join(map(str, found["values"]))})
        for number, row in enumerate(found.get("top", ())):
            print()
            where = f"{name}[{number}]" if len(found["top"]) > 1 else name
            print_fields({where: "\n".join(f"{value:.4f} {label}" for label, value in row)})
