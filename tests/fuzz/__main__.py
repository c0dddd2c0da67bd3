"""See `fuzz.campaign`, which the workers import by that name."""

import sys

from fuzz.campaign import main

if __name__ == "__main__":
    sys.exit(main())
