"""Scalars of groups: numbers that a launch gives to its nodes."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Scalar"]


class Scalar(NamedTuple):
    """A number of a group that each launch may give: see Group.scalar."""

    name: str
    value: float
    """What it is where a launch doesn't give it."""
    place: int
    """Which scalar of a launch it is."""
