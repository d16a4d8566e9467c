"""`wia run`: runs an ONNX model on pictures, sounds and arrays from files."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wia._cli._output import Commands, add_json, print_fields, print_json, print_table
from wia._errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy as np

    from wia.onnx import InputInfo, Session

__all__ = ["add_parser"]

_PICTURES = {".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"}
_TOP = 5


def add_parser(commands: Commands, debug: argparse.ArgumentParser) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "run",
        parents=[debug],
        help="run an ONNX model on a device",
        description="Runs an ONNX model on inputs from files: .npy and .npz, and pictures, whose "
        "channels come first where the model says so and which are scaled to its size. Numbers may "
        "be given in place of a file. Needs the extra wia[onnx], for pictures also Pillow.",
    )
    parser.add_argument("model", metavar="MODEL", help="a file in the format ONNX")
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="the value of an input: a file, or numbers as 16000 or 1,2,3",
    )
    parser.add_argument(
        "--device", default="", metavar="DEVICE", help="for example npu:1; none: the default device"
    )
    parser.add_argument(
        "--strict", action="store_true", help="fail where the device lacks an operation"
    )
    parser.add_argument(
        "--mean",
        type=_numbers,
        metavar="N,N,N",
        help="taken off a picture's channels",
    )
    parser.add_argument(
        "--scale",
        type=float,
        default=1.0,
        metavar="N",
        help="factor of a picture's values, after that",
    )
    parser.add_argument("--bgr", action="store_true", help="blue comes first in a picture")
    parser.add_argument(
        "--labels", metavar="FILE", help="a name per line for the numbers of the last dimension"
    )
    parser.add_argument(
        "--top",
        type=int,
        default=_TOP,
        metavar="N",
        help=f"how many of the largest outputs to show with --labels; default: {_TOP}",
    )
    parser.add_argument("--save", metavar="FILE", help="write the outputs to a .npz file")
    parser.add_argument(
        "--repeat", type=_positive, default=1, metavar="N", help="run N times and show the times"
    )
    add_json(parser)
    parser.set_defaults(run=_run)


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} was given; expected a whole number above 0")
    return number


def _numbers(text: str) -> list[float]:
    try:
        return [float(item) for item in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} was given; expected numbers as 1,2.5") from None


def _run(options: argparse.Namespace) -> int:
    from wia import onnx

    labels = _read_labels(options.labels)
    with onnx.load(options.model, options.device, strict=options.strict) as session:
        inputs = _read_inputs(session, options)
        times, results = list[float](), dict[str, Any]()
        for number in range(options.repeat):
            start = time.perf_counter()
            results = session.run(inputs)
            times.append(time.perf_counter() - start)
            _tell(number + 1, options.repeat)
        placement = session.placement()
        device = session.device.name
    if options.save:
        _save(options.save, results)
    answer = {
        "model": options.model,
        "device": device,
        "outputs": {name: _summary(value, labels, options.top) for name, value in results.items()},
        "placement": {
            place: list(getattr(placement, place))
            for place in ("device", "reference", "shapes", "host")
        },
        "seconds": _statistics(times),
    }
    if options.json:
        print_json(answer)
    else:
        _print(answer, options.repeat)
    return 0


def _tell(done: int, total: int) -> None:
    """Progress of many runs, on a terminal only."""
    if total > 1 and sys.stderr.isatty():
        end = "\n" if done == total else ""
        print(f"\rrun {done} of {total}", end=end, file=sys.stderr, flush=True)


# -- inputs ---------------------------------------------------------------------------------------


def _read_inputs(session: Session, options: argparse.Namespace) -> dict[str, Any]:
    infos = {info.name: info for info in session.inputs}
    free = list(infos)
    given: dict[str, Any] = {}
    for text in options.input:
        name, equals, value = text.partition("=")
        if not equals or name not in infos:
            if equals and not Path(text).exists():
                raise InvalidArgumentError(
                    f"--input {text} was given; the inputs of {options.model} are "
                    f"{', '.join(infos)}."
                )
            if not free:
                raise InvalidArgumentError(f"--input {text} is one more than the model has.")
            name, value = free[0], text
        given[name] = _read_value(value, infos[name], options)
        free = [other for other in free if other != name]
    return given


def _read_value(text: str, info: InputInfo, options: argparse.Namespace) -> Any:
    import numpy as np

    path = Path(text)
    if path.suffix in (".npy", ".npz"):
        loaded = np.load(path, allow_pickle=False)
        if path.suffix == ".npy":
            return loaded
        if len(loaded.files) != 1:
            raise InvalidArgumentError(f"{path} has {len(loaded.files)} arrays; expected one.")
        return loaded[loaded.files[0]]
    if path.suffix.lower() in _PICTURES:
        return _read_picture(path, info, options)
    try:
        numbers = _numbers(text)
    except argparse.ArgumentTypeError:
        raise InvalidArgumentError(
            f"{text!r} was given for input {info.name!r}; expected a .npy or .npz file, a picture "
            "or numbers."
        ) from None
    array = np.array(numbers, info.dtype or None)
    return array.reshape(()) if info.shape == () and array.size == 1 else array


def _read_picture(path: Path, info: InputInfo, options: argparse.Namespace) -> np.ndarray[Any, Any]:
    """A picture as the model wants it: [1, 3, height, width] or [1, height, width, 3]."""
    import numpy as np

    try:
        from PIL import Image
    except ImportError:
        raise InvalidArgumentError(
            f"{path} is a picture, which Pillow reads. Install it with: pip install Pillow."
        ) from None
    shape = info.shape or ()
    if len(shape) != 4:
        raise InvalidArgumentError(
            f"Input {info.name!r} has the shape {list(shape)}; a picture needs 4 dimensions."
        )
    channels_last = shape[3] in (1, 3) and shape[1] not in (1, 3)
    channels = shape[3] if channels_last else shape[1]
    height, width = shape[1:3] if channels_last else shape[2:4]
    with Image.open(path) as picture:
        wanted = picture.convert("L" if channels == 1 else "RGB")
        if isinstance(height, int) and isinstance(width, int):
            wanted = wanted.resize((width, height), Image.Resampling.BILINEAR)
        pixels = np.atleast_3d(np.asarray(wanted))
    if options.bgr:
        pixels = pixels[:, :, ::-1]
    if info.dtype != "uint8":
        mean = np.array(options.mean or [0.0], np.float32)
        pixels = ((pixels.astype(np.float32) - mean) * options.scale).astype(info.dtype)
    return (pixels if channels_last else pixels.transpose(2, 0, 1))[None]


def _read_labels(path: str | None) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines() if path else []


# -- outputs --------------------------------------------------------------------------------------


def _save(path: str, results: dict[str, Any]) -> None:
    import numpy as np

    arrays = {name: value for name, value in results.items() if isinstance(value, np.ndarray)}
    left_out = [name for name in results if name not in arrays]
    if left_out:
        raise InvalidArgumentError(f"The outputs {left_out} are no arrays; {path} can't hold them.")
    # Not np.savez, of which a name like "file" would be an argument.
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name.replace('/', '_')}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def _summary(value: Any, labels: Sequence[str], top: int) -> dict[str, Any]:
    import numpy as np

    if not isinstance(value, np.ndarray):
        return {
            "kind": "sequence" if isinstance(value, list) else "nothing",
            "count": len(value or ()),
        }
    found: dict[str, Any] = {"dtype": value.dtype.name, "shape": list(value.shape)}
    if value.dtype.kind == "O":
        return {**found, "first": value.reshape(-1)[:top].tolist()}
    if value.size:
        wide = value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)
        if value.dtype.kind != "c":
            found |= {
                "min": float(wide.min()),
                "max": float(wide.max()),
                "mean": float(wide.mean()),
            }
        if labels or value.size <= top:
            found["values"] = _largest(wide.reshape(-1), labels, top)
    return found


def _largest(values: np.ndarray[Any, Any], labels: Sequence[str], top: int) -> list[Any]:
    """The largest values with their names; all of a few, in their order, without names."""
    import numpy as np

    if not labels:
        return [float(value.real) for value in values]
    order = np.argsort(-values, kind="stable")[:top]
    named = [labels[i] if i < len(labels) else str(i) for i in order]
    return [[name, float(values[i])] for name, i in zip(named, order, strict=True)]


def _statistics(times: Sequence[float]) -> dict[str, float]:
    return {
        "count": len(times),
        "first": times[0],
        "min": min(times),
        "median": statistics.median(times),
        "max": max(times),
    }


def _print(answer: dict[str, Any], repeats: int) -> None:
    rows = []
    for name, found in answer["outputs"].items():
        if "dtype" not in found:
            rows.append((name, f"{found['kind']} of {found['count']}", ""))
            continue
        sizes = ", ".join(map(str, found["shape"]))
        span = f"{found['min']:.6g} to {found['max']:.6g}" if "min" in found else ""
        rows.append((name, f"{found['dtype']}[{sizes}]", span))
    print_table(("OUTPUT", "IS", "VALUES"), rows)
    for name, found in answer["outputs"].items():
        values = found.get("values", found.get("first"))
        if values:
            shown = [f"{v[1]:.4f} {v[0]}" if isinstance(v, list) else f"{v}" for v in values]
            print()
            print_fields({name: "\n".join(shown)})
    print()
    placed = answer["placement"]
    nodes = ", ".join(f"{len(names)} {place}" for place, names in placed.items() if names)
    fields = {"device": answer["device"], "nodes": nodes}
    seconds = answer["seconds"]
    if repeats == 1:
        fields["time"] = f"{seconds['first']:.3f} s"
    else:
        fields["time"] = (
            f"first {seconds['first']:.3f} s, then {seconds['min']:.3f} to {seconds['max']:.3f} s, "
            f"median {seconds['median']:.3f} s of {repeats}"
        )
    print_fields(fields, indent=0)
