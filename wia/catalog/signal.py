"""Signals: Fourier transforms, windows and filters."""

from __future__ import annotations

from typing import Any

from ._cost import elements
from ._forms import flag, one_axis
from ._model import FLOATS, Operand, Sample, Shape, Standard, Tolerance, Values
from ._moving import count, moving
from ._numeric import narrow, widen


def dft(np: Any, x: Any, *, axis: int, length: int, inverse: int, onesided: int) -> Any:
    """A discrete Fourier transform along an axis; the last dimension holds real and imaginary."""
    axis = axis % x.ndim
    wide = widen(np, x)
    values = _complex(np, wide)
    size = length or dft_length(x.shape[axis], inverse and onesided)
    if inverse and onesided:
        result = np.fft.irfft(values, n=size, axis=axis)[..., None]
    elif inverse:
        result = _parts(np, np.fft.ifft(values, n=size, axis=axis))
    else:
        result = _parts(np, np.fft.fft(values, n=size, axis=axis))
        if onesided:
            result = np.take(result, np.arange(size // 2 + 1), axis=axis)
    return narrow(np, result, x.dtype)


def dft_length(size: int, halved: int) -> int:
    """The length of a transform that isn't given one; half of what is real is enough."""
    return 2 * (size - 1) if halved else size


def _complex(np: Any, wide: Any) -> Any:
    """Of parts in the last dimension, which may be the real one alone."""
    values = np.zeros(wide.shape[:-1], np.complex128)
    values.real = wide[..., 0]
    if wide.shape[-1] == 2:
        values.imag = wide[..., 1]
    return values


def _parts(np: Any, values: Any) -> Any:
    return np.stack([values.real, values.imag], axis=-1)


def stft(np: Any, x: Any, window: Any, *, frame_step: int, frame_length: int, onesided: int) -> Any:
    """The transform of each frame, after the window."""
    length = frame_length or len(window)
    count = (x.shape[1] - length) // frame_step + 1
    values = _complex(np, widen(np, x))
    starts = np.arange(count)[:, None] * frame_step + np.arange(length)
    frames = values[:, starts]
    if window is not None:
        frames = frames * widen(np, window)
    result = _parts(np, np.fft.fft(frames, axis=-1))
    if onesided:
        result = result[:, :, : length // 2 + 1]
    return narrow(np, result, x.dtype)


def _transform_flops(shapes: tuple[Shape | None, ...], out: Shape, values: Values) -> float:
    """5 n log n for each transform, as is usual."""
    return 5.0 * elements(shapes[0]) * max(elements(shapes[0]), 2).bit_length()


def _tolerance(length: Any, magnitude: Any) -> Tolerance:
    return Tolerance(
        ulps=1.0,
        length=length,
        magnitude=magnitude,
        reason="Any algorithm, also the sum by the formula: two roundings for each element, "
        "relative to the sum of absolute values, and one of the result.",
    )


def _line_sum(np: Any, x: Any, *, axis: int, length: int, inverse: int, onesided: int) -> Any:
    size = length or dft_length(x.shape[axis % x.ndim], inverse and onesided)
    total = abs(x).sum(axis=(axis % x.ndim, x.ndim - 1), keepdims=True)
    return total * (2.0 / max(size, 1) if inverse else 1.0)


def _frame_sum(np: Any, x: Any, window: Any, **values: Any) -> Any:
    return np.full((), abs(x).sum() * (1.0 if window is None else abs(window).max(initial=0.0)))


DFT = moving(
    410,
    "dft",
    dft,
    summary="Discrete Fourier transform along a dimension.",
    formula="output[..., k, :] = sum_n input[..., n, :] exp(-2 pi i k n / length); inverse: with "
    "+2 pi i, and divided by the length",
    inputs=(
        Operand(
            name="input",
            summary="Rank 2 or more; the last dimension is 1, or 2 for real and imaginary parts.",
        ),
    ),
    output=Operand(
        name="output",
        summary="The shape of input, with the length at the axis and 2 at the end; onesided: "
        "length / 2 + 1, rounded down, at the axis; inverse and onesided: 1 at the end.",
    ),
    dtypes=FLOATS,
    notes=(
        "A longer input is cut off, a shorter one followed by zeros.",
        "onesided is enough for real numbers: the other half of their frequencies is the mirror "
        "image. An inverse one takes that half, and gives real numbers.",
    ),
    standard=Standard(name="DFT", opset=20, note="dft_length and axis are attributes"),
    attributes=(
        one_axis("The dimension to transform, but not the last; below 0 from the last.", -2),
        count(
            "length",
            "Of the transform; 0: as the axis, or 2 (size - 1) for inverse and onesided.",
            0,
            minimum=0,
        ),
        flag("inverse", "From frequencies to places."),
        flag("onesided", "Half of the frequencies."),
    ),
    tolerance=_tolerance(
        lambda shapes, values: 2 * max(shapes[0][values["axis"]], values["length"], 1), _line_sum
    ),
    flops=_transform_flops,
    samples=(
        Sample(shapes=((8, 1),)),
        Sample(shapes=((2, 33, 2),)),
        Sample(shapes=((3, 9, 2, 1),), values={"axis": 1, "onesided": 1}),
        Sample(shapes=((2, 7, 2),), values={"inverse": 1, "length": 5}),
        Sample(shapes=((2, 6, 2),), values={"inverse": 1, "onesided": 1, "length": 11}),
        Sample(shapes=((2, 4, 1),), values={"length": 7}, fills=("wide",)),
        Sample(shapes=((0, 4, 1),)),
    ),
    source="ONNX node tests dft*; scipy.fft",
)

STFT = moving(
    411,
    "stft",
    stft,
    summary="Fourier transforms of the frames of a signal.",
    formula="output[b, f, k, :] = sum_n window[n] input[b, f * frame_step + n, :] "
    "exp(-2 pi i k n / frame length)",
    inputs=(
        Operand(
            name="input",
            summary="[b, n, 1], or [b, n, 2] for real and imaginary parts.",
        ),
        Operand(name="window", summary="[frame length].", optional=True),
    ),
    output=Operand(
        name="output",
        summary="[b, (n - frame length) / frame_step + 1, frame length, 2]; onesided: "
        "frame length / 2 + 1 frequencies, rounded down.",
    ),
    dtypes=FLOATS,
    notes=("The frame length is that of the window where frame_length isn't given.",),
    standard=Standard(name="STFT", opset=17, note="frame_step and frame_length are attributes"),
    attributes=(
        count("frame_step", "From one frame to the next.", 0, minimum=0),
        count("frame_length", "Elements of a frame; 0: as many as the window has.", 0, minimum=0),
        flag("onesided", "Half of the frequencies, for a real signal.", default=1),
    ),
    tolerance=_tolerance(
        lambda shapes, values: 2 * max(values["frame_length"], elements(shapes[1])) + 1, _frame_sum
    ),
    flops=_transform_flops,
    samples=(
        Sample(shapes=((1, 16, 1), (8,)), values={"frame_step": 4}),
        Sample(
            shapes=((2, 33, 2), None), values={"frame_step": 5, "frame_length": 9, "onesided": 0}
        ),
        Sample(shapes=((1, 9, 1), (9,)), values={"frame_step": 1, "frame_length": 9}),
        Sample(shapes=((0, 9, 1), (4,)), values={"frame_step": 2}),
    ),
    source="ONNX node tests stft*; scipy.signal.ShortTimeFFT",
)

OPERATIONS = (DFT, STFT)
