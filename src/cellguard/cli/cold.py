"""Whether the kernels still have to be compiled, which happens once after installation and takes some seconds."""

from __future__ import annotations

import os
from pathlib import Path

MESSAGE = "Compiling, once after installation; this takes some seconds. Later runs start at once."
_PACKAGE = Path(__file__).parent.parent


def is_cold() -> bool:
    """Tell whether no compiled kernel is stored yet where numba keeps them."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(given) if given else _PACKAGE
    if not given and not os.access(_PACKAGE / "table", os.W_OK):
        return False
    return not (folder.is_dir() and any(folder.rglob("kernel.*.nbi")))
