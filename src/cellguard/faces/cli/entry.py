"""Where `cellguard` starts: signals are listened to before anything else is loaded."""

from __future__ import annotations

import sys

from cellguard.faces.cli.signals import INTERRUPTED, ignore, listen


def main() -> None:
    """Run the command line."""
    came = listen()
    try:
        from cellguard.faces.cli.main import main as run

        run(came)
    except KeyboardInterrupt:
        sys.exit(f"cellguard: {INTERRUPTED}")
    finally:
        ignore()
