"""Windows and filters of signals, made without an input."""

from __future__ import annotations

from math import log10, pi
from typing import Any

from ._cost import per_output
from ._forms import flag, onnx, target_dtype, target_shape
from ._model import FLOATS, Operand, Operation, Sample, Tolerance
from ._moving import count, moving, real
from ._numeric import narrow


def _cosines(parts: tuple[float, ...]) -> Any:
    """A sum of cosines over one period, of which part i has i waves."""

    def window(np: Any, *, shape: Any, dtype: Any, periodic: int) -> Any:
        size = shape[0] if periodic else shape[0] - 1
        if size < 1:
            return np.ones(shape[0], dtype)
        angle = np.arange(shape[0]) * (2 * pi / size)
        total = sum(part * np.cos(angle * i) for i, part in enumerate(parts))
        return narrow(np, total, dtype)

    return window


def mel_weight_matrix(
    np: Any,
    *,
    bins: int,
    dft_length: int,
    sample_rate: int,
    lower_edge: float,
    upper_edge: float,
    dtype: Any,
) -> Any:
    """A triangle over the frequencies for each band of equal width on the mel scale."""
    low, high = (2595 * log10(1 + edge / 700) for edge in (lower_edge, upper_edge))
    mels = np.arange(bins + 2) * ((high - low) / (bins + 2)) + low
    hertz = 700 * (10 ** (mels / 2595) - 1)
    edges = np.floor((dft_length + 1) * hertz / sample_rate).astype(np.int64)
    begin, middle, end = edges[:-2], edges[1:-1], edges[2:]
    row = np.arange(dft_length // 2 + 1)[:, None]
    up = np.where(middle == begin, 1.0, (row - begin) / np.maximum(middle - begin, 1))
    down = (end - row) / np.maximum(end - middle, 1)
    result = np.where((row >= begin) & (row <= middle), up, 0.0)
    result = np.where((row >= middle) & (row < end), down, result)
    return narrow(np, result, dtype)


_DTYPE = target_dtype("The dtype of the result")


def _window(
    number: int, name: str, title: str, operator: str, formula: str, parts: tuple[float, ...]
) -> Operation:
    return moving(
        number,
        name,
        _cosines(parts),
        summary=f"The {title} window.",
        formula=f"output[i] = {formula}, with x = 2 pi i / n; not periodic: 2 pi i / (n - 1)",
        inputs=(),
        output=Operand(name="output", summary="[n]."),
        family="window",
        dtypes=FLOATS,
        notes=("One that isn't periodic and has one element is 1.",),
        standard=onnx(operator, 17),
        attributes=(
            target_shape("[n]"),
            _DTYPE,
            flag("periodic", "For transforms of frames, else symmetric.", default=1),
        ),
        config="wia_window_config_t",
        tolerance=Tolerance(
            ulps=1.0,
            length=lambda shapes, values: 16,
            magnitude=lambda np, **values: np.ones(values["shape"]),
            reason="Some roundings in the accumulator, relative to 1, and one of the result.",
        ),
        flops=per_output(4.0),
        samples=(
            Sample(shapes=(), values={"shape": (8,)}),
            Sample(shapes=(), values={"shape": (33,), "periodic": 0}),
            Sample(shapes=(), values={"shape": (1,), "periodic": 0}),
            Sample(shapes=(), values={"shape": (0,)}),
        ),
        source=f"ONNX node tests {name.replace('_', '')}*; scipy.signal.get_window",
    )


HANN_WINDOW = _window(412, "hann_window", "Hann", "HannWindow", "0.5 - 0.5 cos(x)", (0.5, -0.5))
HAMMING_WINDOW = _window(
    413,
    "hamming_window",
    "Hamming",
    "HammingWindow",
    "25/46 - 21/46 cos(x)",
    (25 / 46, -21 / 46),
)
BLACKMAN_WINDOW = _window(
    414,
    "blackman_window",
    "Blackman",
    "BlackmanWindow",
    "0.42 - 0.5 cos(x) + 0.08 cos(2 x)",
    (0.42, -0.5, 0.08),
)

MEL_WEIGHT_MATRIX = moving(
    415,
    "mel_weight_matrix",
    mel_weight_matrix,
    summary="Weights that make bands of equal width on the mel scale out of frequencies.",
    formula="output[f, b] = a triangle over the frequencies f, 0 at the edges of band b and 1 in "
    "its middle",
    inputs=(),
    output=Operand(name="output", summary="[dft_length / 2 + 1, bins]."),
    dtypes=FLOATS,
    notes=(
        "The edges are at (dft_length + 1) hertz / sample_rate, rounded down, with hertz "
        "700 (10^(mel / 2595) - 1) and mels in steps of the whole range / (bins + 2), as in ONNX. "
        "They are computed in float64.",
    ),
    standard=onnx("MelWeightMatrix", 17, "its numbers are attributes"),
    attributes=(
        count("bins", "Bands.", 1),
        count("dft_length", "Of the transform.", 1),
        count("sample_rate", "Elements of the signal in a second.", 1),
        real("lower_edge", "The lowest frequency, in hertz.", 0.0, minimum=0.0),
        real("upper_edge", "The highest frequency, in hertz.", 0.0, minimum=0.0),
        _DTYPE,
    ),
    tolerance=Tolerance(ulps=1.0, reason="A quotient of whole numbers, rounded once."),
    flops=per_output(),
    samples=(
        Sample(
            shapes=(),
            values={
                "bins": 8,
                "dft_length": 16,
                "sample_rate": 8192,
                "upper_edge": 4096.0,
            },
        ),
        Sample(
            shapes=(),
            values={
                "bins": 3,
                "dft_length": 65,
                "sample_rate": 100,
                "lower_edge": 5.0,
                "upper_edge": 40.0,
            },
        ),
    ),
    source="ONNX node test melweightmatrix",
)

OPERATIONS = (HANN_WINDOW, HAMMING_WINDOW, BLACKMAN_WINDOW, MEL_WEIGHT_MATRIX)
