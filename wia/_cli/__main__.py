"""`python -m wia._cli` is the command `wia`."""

from __future__ import annotations

import sys

from wia._cli import main

if __name__ == "__main__":
    sys.exit(main())
