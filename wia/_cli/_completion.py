"""`wia completion`: scripts for shells, made from the parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from wia._cli._output import Commands

__all__ = ["add_parser"]

_NAMES = "wia devices --names 2>/dev/null"
SHELLS = ("bash", "zsh", "fish")
_INSTALL = """To use it from the next shell on:

  bash   wia completion bash > ~/.local/share/bash-completion/completions/wia
  zsh    wia completion zsh > FOLDER/_wia, with a FOLDER of your $fpath
  fish   wia completion fish > ~/.config/fish/completions/wia.fish
"""


def add_parser(commands: Commands, debug: argparse.ArgumentParser) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "completion",
        parents=[debug],
        help="print a script that completes commands in a shell",
        description="Prints a script that completes the commands, their options and the names of "
        "devices in a shell.",
        epilog=_INSTALL,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    import shtab

    from wia._cli import make_parser

    # zsh would run the command when the script is loaded, and not when a device is asked for.
    devices = shtab.cmd(_NAMES) | {"zsh": rf"{{compadd -- \$({_NAMES})}}"}
    parser = make_parser()
    for action in _actions(parser):
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:  # a word has room for its help text only
                action.choices[choice.dest].description = choice.help
        if action.dest == "device":
            action.complete = devices  # type: ignore[attr-defined]
    print(shtab.complete(parser, options.shell))
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            children: dict[str, Any] = action.choices
            for child in children.values():
                yield from _actions(child)
