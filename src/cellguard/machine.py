"""How much memory this process has taken, and how much there is for it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_GIB = 2.0**30
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container


def memory_taken() -> float:
    """Return the most memory that this process has had so far, in GiB; 0 where nobody tells."""
    if sys.platform == "win32":
        return 0.0
    import resource  # not there on Windows

    unit = 1.0 if sys.platform == "darwin" else 1024.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / _GIB


def memory_there() -> float:
    """Return how much memory the machine has, or the container, if that is less, in GiB; infinite where nobody
    tells.
    """
    try:
        found = [float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))]
    except (AttributeError, OSError, ValueError):
        found = []
    for limit in map(Path, _LIMITS):
        try:
            text = limit.read_text().strip()
        except OSError:
            continue
        found += [float(text)] if text.isdigit() else []
    return min(found, default=float("inf")) / _GIB
