"""`python -m lineament` is the command `lineament`."""

import sys

from lineament.cli import main

if __name__ == "__main__":
    sys.exit(main())
