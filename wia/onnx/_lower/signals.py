"""Fourier transforms, windows, and what else signals need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wia.onnx._errors import ModelError

if TYPE_CHECKING:
    from wia.onnx._call import Call, Lowering, Result

__all__ = ["bit_cast", "dft", "mel_weight_matrix", "stft", "window"]


def dft(call: Call) -> Result:
    """DFT; before opset 20 the axis was an attribute."""
    x = call.tensor(0)
    axis = call.attribute("axis", 1) if call.version < 20 else call.integer(2, -2)
    return call.op(
        "dft",
        x,
        axis=axis,
        length=call.integer(1, 0),
        inverse=call.attribute("inverse", 0),
        onesided=call.attribute("onesided", 0),
    )


def stft(call: Call) -> Result:
    """STFT."""
    window = call.get(2)
    if window is not None and window.ndim != 1:
        raise ModelError(f"the window has {window.ndim} dimensions; expected 1")
    if call.value(3) is None and window is None:
        raise ModelError("neither window nor frame_length is given")
    return call.op(
        "stft",
        call.tensor(0),
        window,
        frame_step=call.integer(1),
        frame_length=call.integer(3, window.size if window is not None else 0),
        onesided=call.attribute("onesided", 1),
    )


def window(name: str) -> Lowering:
    """HannWindow, HammingWindow and BlackmanWindow."""

    def lower(call: Call) -> Result:
        import numpy as np

        return call.op(
            name,
            shape=call.ints(0),
            dtype=call.dtype("output_datatype", np.dtype(np.float32)),
            periodic=call.attribute("periodic", 1),
        )

    return lower


def mel_weight_matrix(call: Call) -> Result:
    """MelWeightMatrix."""
    import numpy as np

    bins, length, rate = (call.integer(i) for i in range(3))
    lower, upper = (float(call.item(i)) for i in (3, 4))
    return call.op(
        "mel_weight_matrix",
        bins=bins,
        dft_length=length,
        sample_rate=rate,
        lower_edge=lower,
        upper_edge=upper,
        dtype=call.dtype("output_datatype", np.dtype(np.float32)),
    )


def bit_cast(call: Call) -> Result:
    """BitCast."""
    return call.op("bitcast", call.tensor(0), dtype=call.dtype("to"))
