"""Magika: what kind of file bytes are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from running import FOLDER, ROOT, Answer, Model, Run

_FILES = {
    "examples/models/ask.py": "python",
    "hal/profile.c": "c",
    "CHANGELOG.md": "markdown",
    "pyproject.toml": "toml",
    "docs/gallery/digits.svg": "svg",
}


def ask(run: Run) -> Answer:
    """Files of the repository, and a picture of scikit-image, are what their names say."""
    import skimage

    config_path = FOLDER / "magika/magika/models/standard_v3_3/config.min.json"
    config = json.loads(config_path.read_text(encoding="utf-8"))
    names = np.array(config["target_labels_space"])
    image = Path(skimage.__file__).parent / "data" / "page.png"
    files = {ROOT / name: kind for name, kind in _FILES.items()} | {image: "png"}
    found = []
    for path in files:
        data = path.read_bytes()
        size, fill = config["beg_size"], config["padding_token"]
        begin, end = data[:4096].lstrip()[:size], data[-4096:].rstrip()[-size:]
        codes = [*begin, *[fill] * (size - len(begin)), *[fill] * (size - len(end)), *end]
        shares = run({"bytes": np.array([codes], np.int32)})["target_label"][0]
        order = np.argsort(-shares)[:3]
        found.append([(str(names[i]), float(shares[i])) for i in order])

    def draw(figure: Any) -> None:
        axes = figure.subplots(2, 3).reshape(-1)
        for one, path, shares in zip(axes, files, found, strict=True):
            labels = [name for name, _ in shares]
            one.barh(labels[::-1], [s for _, s in shares][::-1], color="#2f6690")
            one.set_title(path.name)
            one.set_xlim(0, 1)
            one.spines[["top", "right"]].set_visible(False)

    best = [shares[0][0] for shares in found]
    return Answer(", ".join(best), best == [*files.values()], draw)


MODEL = Model("magika==1.0.3", "magika/models/standard_v3_3/model.onnx", 1e-4, ask)
