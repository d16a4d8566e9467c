"""The command `wia-config`: where the installed library is, for compilers and build tools."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["main", "make_parser", "prefix"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what the options ask for, on one line, in the order of --help."""
    parser = make_parser()
    chosen = vars(parser.parse_args(arguments))
    if not any(chosen.values()):
        parser.print_usage(sys.stderr)
        print("wia-config: say what to print, for example --cflags", file=sys.stderr)
        return 2

    root = prefix()
    library = root / "lib"
    answers = {
        "version": importlib.metadata.version("wia"),
        "prefix": str(root),
        "cmake": str(library / "cmake" / "wia"),
        "pkgconfig": str(library / "pkgconfig"),
        "cflags": f"-I{root / 'include'}",
        "libs": f"-L{library} -Wl,-rpath,{library} -lwia",
    }
    print(" ".join(text for name, text in answers.items() if chosen[name]))
    return 0


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, which the manual's page is made from too."""
    parser = argparse.ArgumentParser(
        prog="wia-config",
        description="Tell how to compile and link programs that use libwia.",
        epilog="Example: cc first.c $(wia-config --cflags --libs) -o first",
    )
    add = parser.add_argument
    add("--version", action="store_true", help="the version")
    add("--prefix", action="store_true", help="the folder with include/ and lib/")
    add("--cmake", action="store_true", help="the folder for CMAKE_PREFIX_PATH or wia_DIR")
    add("--pkgconfig", action="store_true", help="the folder for PKG_CONFIG_PATH")
    add("--cflags", action="store_true", help="compiler flags")
    add("--libs", action="store_true", help="linker flags, with a run path to the library")
    return parser


def prefix() -> Path:
    """Return the folder that holds `lib/` and `include/`.

    In an editable install the compiled parts are not beside this file but in site-packages; the
    bridge is the one that the import system can find. Raises SystemExit where there is none.
    """
    spec = importlib.util.find_spec("wia._bridge")
    if spec is None or spec.origin is None:
        sys.exit(
            f"wia-config: the compiled part of wia is not there (looked beside {__file__}); "
            "install wia: python -m pip install ."
        )
    return Path(os.path.abspath(spec.origin)).parent
