"""Drivers that a program brings along."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wia.driver import Driver

__all__ = ["register_driver"]


def register_driver(driver: type[Driver] | Driver) -> None:
    """Registers a driver for this process, as a class or an instance, as if it had been installed.

    Raises InvalidArgumentError for a malformed name, AlreadyExistsError for a name in use.
    """
    from wia.driver._table import register

    register(driver)
