"""The version of the suite: a change of its cases or checks makes a new one."""

__all__ = ["__version__"]

__version__ = "0.1.0"
