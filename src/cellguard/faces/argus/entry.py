"""Where `cellguard-argus` starts."""

from __future__ import annotations

import os
import sys


def _run() -> None:
    try:
        from cellguard.argus.program import main as run

        sys.exit(run(sys.argv[1:]))
    except ImportError:
        _start_without_libraries_of_r()
        raise


def _start_without_libraries_of_r() -> None:
    """Start again with the libraries of this Python: R gives the programs that it starts its own, which may not fit."""
    clean = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    if "R_HOME" in clean and len(clean) < len(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.argv], clean)  # noqa: S606


def main() -> None:
    """Run the program; whatever fails ends with status 2, as scripts expect it."""
    try:
        _run()
    except KeyboardInterrupt:
        sys.exit(2)
    except Exception as error:
        if os.environ.get("CELLGUARD_DEBUG"):
            raise
        from cellguard.errors import described

        sys.stderr.write(f"cellguard-argus: internal error: {described(error)}. Please report it\n")
        sys.exit(2)
