"""Silero VAD: when somebody speaks."""

from __future__ import annotations

from typing import Any

import numpy as np
from running import Answer, Array, Model, Run

_RATE, _STEP = 16000, 512
_NOISE, _VOWEL = 8000, 8000


def ask(run: Run) -> Answer:
    """A vowel between two stretches of noise is a voice, and the noise is none."""
    chance = np.random.default_rng(0)
    noise = [chance.normal(0, 0.05, _NOISE).astype(np.float32) for _ in range(2)]
    sound = np.concatenate([noise[0], speech(), noise[1]])
    state = np.zeros((2, 1, 128), np.float32)
    before, found = np.zeros(64, np.float32), []
    for begin in range(0, len(sound) - _STEP + 1, _STEP):
        piece = np.concatenate([before, sound[begin : begin + _STEP]])
        inputs = {"input": piece[None], "state": state, "sr": np.array(_RATE, np.int64)}
        outputs = run(inputs)
        state, before = outputs["stateN"], piece[-64:]
        found.append(float(outputs["output"][0, 0]))
    times = np.arange(len(found)) * _STEP
    spoken = (times >= _NOISE) & (times < _NOISE + _VOWEL)
    silent = (times + _STEP <= _NOISE) | (times >= _NOISE + _VOWEL + 4 * _STEP)
    shares = np.array(found)
    voice, quiet = float(shares[spoken].max()), float(shares[silent].max())

    def draw(figure: Any) -> None:
        top, bottom = figure.subplots(2, sharex=True)
        pieces = sound[: len(sound) // 64 * 64].reshape(-1, 64)
        seconds = np.arange(len(pieces)) * 64 / _RATE
        top.fill_between(seconds, pieces.min(axis=1), pieces.max(axis=1), color="#7a7a7a")
        top.set_ylabel("sound")
        bottom.step(times / _RATE, shares, where="post", color="#b3402a")
        bottom.axhline(0.5, color="black", linewidth=0.5, linestyle=":")
        bottom.set_ylim(0, 1)
        bottom.set_ylabel("somebody speaks")
        bottom.set_xlabel("seconds")
        for axes in (top, bottom):
            axes.axvspan(_NOISE / _RATE, (_NOISE + _VOWEL) / _RATE, color="#2f6690", alpha=0.12)
            axes.spines[["top", "right"]].set_visible(False)

    return Answer(f"vowel {voice:.2f}, noise {quiet:.2f}", voice > 0.5 > quiet, draw)


def speech() -> Array:
    """Half a second like a spoken vowel at 16 kHz: pulses at 120 Hz through three resonances."""
    pitch = 120 * (1 + 0.03 * np.sin(2 * np.pi * 5 * np.arange(_VOWEL) / _RATE))
    phase = np.cumsum(pitch / _RATE)
    sound = np.diff(np.floor(phase), prepend=0.0)
    for frequency, width in ((730, 90), (1090, 110), (2440, 170)):
        r = np.exp(-np.pi * width / _RATE)
        a, b = 2 * r * np.cos(2 * np.pi * frequency / _RATE), -r * r
        out = np.zeros(_VOWEL)
        for i in range(_VOWEL):
            out[i] = sound[i] + a * out[i - 1] + b * out[i - 2]
        sound = out
    loud: Array = 0.3 * sound / np.abs(sound).max()
    return loud.astype(np.float32)


MODEL = Model("silero-vad==6.2.3", "silero_vad/data/silero_vad.onnx", 1e-4, ask)
