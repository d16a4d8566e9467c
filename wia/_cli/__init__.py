"""The command `wia`: one file for each command below it."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence

import wia
from wia._cli import _bench, _completion, _devices, _doctor, _env, _info, _inspect, _ops, _run
from wia._cli._variables import is_set

__all__ = ["main", "make_parser"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code: 0, 1 for a failure, 2 for wrong usage."""
    options = make_parser().parse_args(arguments)
    if not is_set("WIA_LOG"):
        wia.set_log_level("discovery=error")  # the commands tell of drivers themselves
    try:
        code = int(options.run(options))
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        if options.debug:
            raise
        return 128 + signal.SIGINT
    except Exception as error:
        if options.debug:
            raise
        print(f"wia: error: {_describe(error)}", file=sys.stderr)
        return 1
    return code


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command line, which the manual's page is made from too."""
    parser = argparse.ArgumentParser(
        prog="wia",
        description="Looks after WIA on this machine.",
        epilog="Exit codes: 0, 1 when something failed or is wrong, 2 for wrong usage.",
    )
    parser.add_argument("--version", action="version", version=f"wia {wia.__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    # Behind the command too, where it must not take back what was said before it.
    debug = argparse.ArgumentParser(add_help=False)
    debug.add_argument(
        "--debug",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show the traceback of an error",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (_devices, _info, _ops, _doctor, _bench, _run, _inspect, _env, _completion):
        command.add_parser(commands, debug)
    return parser


def _describe(error: Exception) -> str:
    """An error on one line."""
    text = " ".join(str(error).split())
    if isinstance(error, ModuleNotFoundError):
        return f"{text} (wia doctor says how to mend it)"
    if not isinstance(error, wia.WiaError | OSError):
        return f"{type(error).__name__}: {text} (--debug shows where)"
    if isinstance(error, wia.WiaError) and error.cause:
        return f"{text} (--debug shows the cause)"
    return text or type(error).__name__
