"""`python -m wia_conformance` is the command `wia-conformance`."""

import sys

from wia_conformance._cli import main

if __name__ == "__main__":
    sys.exit(main())
