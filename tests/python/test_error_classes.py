"""Errors in Python: one class per status, and what calls say of operands that don't fit."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import wia
from wia import _errors
from wia._native import lib

CODES = {
    name.removeprefix("WIA_STATUS_"): getattr(lib, name)
    for name in dir(lib)
    if name.startswith("WIA_STATUS_") and name not in ("WIA_STATUS_OK", "WIA_STATUS_MAX_")
}


def test_every_status_has_its_class() -> None:
    assert len(CODES) > 18
    for name, code in CODES.items():
        cls = _errors._CLASSES[code]
        assert cls.code == code
        words = "".join(word.capitalize() for word in name.split("_"))
        assert cls.__name__ == f"{words}Error".replace("ErrorError", "Error")
        assert getattr(wia, cls.__name__) is cls
        assert cls("text").status == name


@pytest.mark.parametrize(
    ("cls", "builtin"),
    [
        (wia.InvalidArgumentError, ValueError),
        (wia.ArgumentTypeError, TypeError),
        (wia.DeadlineExceededError, TimeoutError),
        (wia.NotFoundError, LookupError),
        (wia.PermissionDeniedError, PermissionError),
        (wia.ResourceExhaustedError, MemoryError),
        (wia.OutOfRangeError, IndexError),
        (wia.UnimplementedError, NotImplementedError),
    ],
)
def test_classes_are_builtins_too(cls: type[wia.WiaError], builtin: type[Exception]) -> None:
    error = cls("message", function="wia_f", driver="npu", cause="why")
    assert isinstance(error, builtin)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is cls
    assert (str(again), again.function, again.driver, again.cause) == (
        "message",
        "wia_f",
        "npu",
        "why",
    )
    assert again.__notes__ == ["Cause:\nwhy"]


def test_a_tensor_of_another_device(reference: wia.Context) -> None:
    """Scenario 10: the message names both devices."""
    with wia.Context("null") as other:
        a, b = reference.zeros(3), other.zeros(3)
        with pytest.raises(wia.InvalidArgumentError) as caught:
            reference.add(a, b)
        assert "reference:0" in str(caught.value)
        assert "null:0" in str(caught.value)


@pytest.mark.parametrize("given", [1, "text", [1.0], object()])
def test_operands_that_are_no_tensors(reference: wia.Context, given: Any) -> None:
    tensor = reference.zeros(3)
    with pytest.raises(wia.ArgumentTypeError, match=r"expected a wia\.Tensor"):
        reference.add(tensor, given)
    with pytest.raises(wia.InvalidArgumentError, match="b"):
        reference.add(tensor, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"expected a wia\.Stream"):
        reference.add(tensor, tensor, stream="s")  # type: ignore[arg-type]
    with pytest.raises(wia.ArgumentTypeError):
        reference.plan("add", [tensor, 5], [tensor])  # type: ignore[list-item]


def test_unknown_names(reference: wia.Context) -> None:
    with pytest.raises(wia.NotFoundError, match="matmul"):
        reference.execute("matmull", [], [])
    with pytest.raises(wia.NotFoundError):
        reference.execute(9999, [], [])
    with pytest.raises(wia.InvalidArgumentError, match="'axes'"):
        reference.execute("softmax", [reference.zeros(3)], axes=1)
    with pytest.raises(wia.ArgumentTypeError, match="expected an integer"):
        reference.execute("softmax", [reference.zeros(3)], axis="x")
    with pytest.raises(wia.NotFoundError, match='did you mean "reference"'):
        wia.Context("referense")
    with pytest.raises(wia.ArgumentTypeError):
        wia.Context(3)  # type: ignore[arg-type]
    with pytest.raises(wia.InvalidArgumentError, match="memory kind"):
        reference.device.memory("flash")
