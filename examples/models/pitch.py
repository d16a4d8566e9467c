"""Basic Pitch: the notes in a recording."""

from __future__ import annotations

from typing import Any

import numpy as np
from running import Answer, Array, Model, Run

_RATE, _SAMPLES = 22050, 43844
_MELODY = (69, 72, 76, 81)
"""MIDI numbers of A, C, E and the A above, half a second each."""


def ask(run: Run) -> Answer:
    """440 Hz is the A of MIDI 69; a melody has the notes that it was made of."""
    seconds = np.arange(_SAMPLES) / _RATE
    tone = np.sin(2 * np.pi * 440 * seconds)
    note = int(_notes(run, tone).mean(axis=0).argmax()) + 21
    roll = _notes(run, _play(seconds))
    quarter = len(roll) / 4
    heard = [
        int(roll[round(i * quarter + 10) : round((i + 1) * quarter - 10)].mean(axis=0).argmax())
        for i in range(4)
    ]
    heard = [key + 21 for key in heard]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        low, high = 55, 92
        shown = roll[:, low - 21 : high - 21].T
        extent = (0, _SAMPLES / _RATE, low - 0.5, high - 0.5)
        axes.imshow(shown, origin="lower", aspect="auto", extent=extent, cmap="magma")
        names = {57: "A3", 60: "C4", 64: "E4", 69: "A4", 72: "C5", 76: "E5", 81: "A5", 88: "E6"}
        axes.set_yticks(list(names), [f"{name} {key}" for key, name in names.items()])
        axes.set_xlabel("seconds")
        axes.set_title("How sure the model is of each note")

    text = f"440 Hz is MIDI {note}; the melody is {', '.join(map(str, heard))}"
    return Answer(text, note == 69 and heard == [*_MELODY], draw)


def _play(seconds: Array) -> Array:
    """The melody: each note with three overtones that fade."""
    sound = np.zeros_like(seconds)
    length = seconds[-1] / len(_MELODY)
    for number, key in enumerate(_MELODY):
        since = seconds - number * length
        sounds = (since >= 0) & (since < length)
        frequency = 440 * 2 ** ((key - 69) / 12)
        fading = np.exp(-3 * since) * np.minimum(1, since * 100)
        for overtone in (1, 2, 3, 4):
            wave = np.sin(2 * np.pi * frequency * overtone * since)
            sound += np.where(sounds, fading * wave * 0.3 / overtone**2, 0)
    return sound


def _notes(run: Run, sound: Array) -> Array:
    """How sure the model is of the 88 keys of a piano in each frame."""
    given = sound.astype(np.float32)[None, :, None]
    keys: Array = run({"serving_default_input_2:0": given})["StatefulPartitionedCall:1"][0]
    return keys


MODEL = Model("basic-pitch==0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx", 1e-2, ask)
