"""Inputs of `wia run`: arrays, numbers and pictures from files and from the command line."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wia._errors import InvalidArgumentError, ResourceExhaustedError

if TYPE_CHECKING:
    import numpy as np

    from wia.onnx import InputInfo

__all__ = ["add_options", "read_inputs", "read_labels"]

_MODES: Mapping[object, str] = {1: "L", 3: "RGB", 4: "RGBA"}
"""Pillow's names of what has so many channels."""
_PICTURES = {".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say what the inputs are."""
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="the value of an input: a .npy or .npz file, a picture, or numbers as 16000 or 1,2,3; "
        "without names in the model's order",
    )
    pictures = parser.add_argument_group(
        "pictures",
        "The value of a pixel, 0 to 255, becomes (value - mean) * scale. One number stands for all "
        "channels.",
    )
    pictures.add_argument(
        "--size",
        type=_sizes,
        metavar="HEIGHT,WIDTH",
        help="scale to this size; default: the model's, and where it leaves that open the "
        "picture's own",
    )
    pictures.add_argument(
        "--mean", type=_numbers, default=[0.0], metavar="N[,N,N]", help="default: 0"
    )
    pictures.add_argument(
        "--scale", type=_numbers, default=[1.0], metavar="N[,N,N]", help="default: 1"
    )
    pictures.add_argument(
        "--bgr", action="store_true", help="blue first: also in --mean and --scale"
    )


def _numbers(text: str) -> list[float]:
    try:
        return [float(item) for item in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} was given; expected numbers as 1,2.5") from None


def _sizes(text: str) -> tuple[int, int]:
    sizes = [int(item) if item.isdecimal() else 0 for item in text.split(",")]
    if len(sizes) != 2 or min(sizes) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} was given; expected HEIGHT,WIDTH as 224,224")
    return sizes[0], sizes[1]


def read_inputs(infos: Sequence[InputInfo], options: argparse.Namespace) -> dict[str, Any]:
    """The values of --input, by the names of the model's inputs."""
    known = {info.name: info for info in infos}
    given: dict[str, Any] = {}
    for text in options.input:
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            if equals and not Path(text).exists():
                raise InvalidArgumentError(
                    f"--input {text} was given; the inputs of {options.model} are "
                    f"{', '.join(known)}."
                )
            free = [other for other in known if other not in given]
            if not free:
                raise InvalidArgumentError(f"--input {text} is one more than the model has.")
            name, value = free[0], text
        if name in given:
            raise InvalidArgumentError(f"--input {text} is the second value for {name!r}.")
        given[name] = _read_value(value, known[name], options)
    return given


def _read_value(text: str, info: InputInfo, options: argparse.Namespace) -> Any:
    import numpy as np

    path = Path(text)
    if path.suffix in (".npy", ".npz"):
        return _read_array(path)
    if path.suffix.lower() in _PICTURES:
        return _read_picture(path, info, options)
    numbers = text.split(",")
    try:
        _numbers(text)
    except argparse.ArgumentTypeError:
        raise InvalidArgumentError(
            f"{text!r} was given for input {info.name!r}; expected a .npy or .npz file, a picture "
            "or numbers."
        ) from None
    array = np.array([int(item) if item.strip().isdecimal() else float(item) for item in numbers])
    array = array if info.dtype in ("", "string") else _convert(array, info, f"{text!r} was given")
    return array.reshape(()) if info.shape == () and array.size == 1 else array


def _convert(array: np.ndarray[Any, Any], info: InputInfo, what: str) -> np.ndarray[Any, Any]:
    """The array in the dtype of an input. Raises InvalidArgumentError where integers would wrap."""
    import numpy as np

    with np.errstate(invalid="ignore"):
        made = array.astype(info.dtype)
    if info.dtype.startswith(("int", "uint")) and not np.array_equal(made, array):
        raise InvalidArgumentError(
            f"{what} for input {info.name!r}, numbers from {array.min():g} to {array.max():g}; "
            f"expected those that {info.dtype} has."
        )
    return made


def _read_array(path: Path) -> np.ndarray[Any, Any]:
    import zipfile

    import numpy as np

    try:
        loaded: Any = np.load(path, allow_pickle=False)
        if path.suffix == ".npz":
            if len(loaded.files) != 1:
                raise InvalidArgumentError(f"{path} has {len(loaded.files)} arrays; expected one.")
            loaded = loaded[loaded.files[0]]
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, InvalidArgumentError):
            raise
        raise InvalidArgumentError(f"{path} is no array of numpy's: {error}.") from None
    array: np.ndarray[Any, Any] = loaded
    return array


def _read_picture(path: Path, info: InputInfo, options: argparse.Namespace) -> np.ndarray[Any, Any]:
    """A picture as the model wants it: [1, 3, height, width] or [1, height, width, 3]."""
    import numpy as np

    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise InvalidArgumentError(
            f"{path} is a picture, which Pillow reads. Install it with: pip install Pillow."
        ) from None
    shape = info.shape or ()
    if len(shape) != 4:
        raise InvalidArgumentError(
            f"Input {info.name!r} has the shape {list(shape)}; a picture needs 4 dimensions."
        )
    usual = {1, 3} if {shape[1], shape[3]} & {1, 3} else {4}
    channels_last = shape[3] in usual and shape[1] not in usual
    channels = shape[3] if channels_last else shape[1]
    if isinstance(channels, int) and channels not in _MODES:
        raise InvalidArgumentError(
            f"Input {info.name!r} has the shape {list(shape)}; a picture has 1, 3 or 4 channels, "
            "in the second dimension or the last."
        )
    height, width = options.size or (shape[1:3] if channels_last else shape[2:4])
    try:
        with Image.open(path) as picture:
            wanted = _to_8_bits(picture, path).convert(_MODES.get(channels, "RGB"))
        if isinstance(height, int) and isinstance(width, int):
            wanted = wanted.resize((width, height), Image.Resampling.BILINEAR)
    except UnidentifiedImageError:
        raise InvalidArgumentError(f"{path} is no picture that Pillow knows.") from None
    except MemoryError:
        raise ResourceExhaustedError(
            f"{path} takes more memory than there is, at the size {height}, {width}."
        ) from None
    except (Image.DecompressionBombError, OSError, SyntaxError) as error:  # SyntaxError: Pillow's
        reason = getattr(error, "strerror", None) or error
        raise InvalidArgumentError(f"{path} can't be read: {reason}.") from None
    pixels: np.ndarray[Any, Any] = np.atleast_3d(np.asarray(wanted))
    if options.bgr:
        pixels = pixels[:, :, [*range(min(pixels.shape[2], 3))[::-1], *range(3, pixels.shape[2])]]
    for name in ("mean", "scale"):
        if len(getattr(options, name)) not in (1, pixels.shape[2]):
            raise InvalidArgumentError(
                f"--{name} has {len(getattr(options, name))} numbers; expected 1 or one for each "
                f"of {pixels.shape[2]} channels."
            )
    if (options.mean, options.scale) != ([0.0], [1.0]) or info.dtype != "uint8":
        mean, scale = (np.array(v, np.float32) for v in (options.mean, options.scale))
        pixels = (pixels.astype(np.float32) - mean) * scale
        if info.dtype.startswith(("int", "uint")):
            pixels = np.rint(pixels)
        pixels = _convert(pixels, info, f"{path} was given with --mean and --scale")
    return (pixels if channels_last else pixels.transpose(2, 0, 1))[None]


def _to_8_bits(picture: Any, path: Path) -> Any:
    """The picture, of 16 bits a pixel the upper ones, which Pillow would cut at 255 instead."""
    import numpy as np
    from PIL import Image

    if picture.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
    if picture.mode in ("I", "F"):
        raise InvalidArgumentError(
            f"{path} has pixels of 32 bits; expected 8 or 16. Give the values as a .npy file."
        )
    return picture


def read_labels(path: str | None) -> list[str]:
    """The lines of a file of names."""
    try:
        return Path(path).read_text(encoding="utf-8").splitlines() if path else []
    except UnicodeDecodeError:
        raise InvalidArgumentError(f"{path} is no text in UTF-8.") from None
