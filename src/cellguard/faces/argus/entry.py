"""Where `cellguard-argus` starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Run the program; whatever fails ends with status 2, as scripts expect it."""
    try:
        from cellguard.argus.program import main as run

        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(2)
    except Exception as error:
        if os.environ.get("CELLGUARD_DEBUG"):
            raise
        # A library's message may quote the data, so only the kind of the error and its place are told.
        trace = error.__traceback__
        while trace and trace.tb_next:
            trace = trace.tb_next
        place = f" ({Path(trace.tb_frame.f_code.co_filename).name} line {trace.tb_lineno})" if trace else ""
        sys.stderr.write(f"cellguard-argus: internal error: {type(error).__name__}{place}. Please report it\n")
        sys.exit(2)
