"""What is raised for models: subclasses of WIA's errors, so that one `except` catches all."""

from __future__ import annotations

from wia._errors import InvalidArgumentError, UnimplementedError, WiaError

__all__ = ["ModelError", "UnsupportedError", "rename"]


class ModelError(InvalidArgumentError):
    """The file is no valid model, or a value in it can't be."""


class UnsupportedError(UnimplementedError):
    """The model is valid, but needs what WIA or, with strict=True, the device doesn't have."""


def rename(error: WiaError, where: str) -> WiaError:
    """The same error with the place in the model before its text."""
    cls = UnsupportedError if isinstance(error, UnimplementedError) else type(error)
    return cls(f"{where}: {error}", function=error.function, driver=error.driver, cause=error.cause)
