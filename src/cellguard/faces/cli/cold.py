"""Whether the kernels still have to be compiled, which happens once after installation and takes up to a minute."""

from __future__ import annotations

import os
from pathlib import Path

import click

MESSAGE = "Compiling, once after installation; this takes up to a minute. Later runs start at once."
_PACKAGE = Path(__file__).parent.parent
_MODULES = {"perturb": "peeling_kernel", "map": "fill_kernel"}  # by command, a module whose kernels it always runs


def is_cold() -> bool:
    """Return whether no compiled kernel of the command that runs is stored yet where numba keeps them."""
    context = click.get_current_context(silent=True)
    module = _MODULES.get(context.info_name or "" if context else "", "tabulate_kernel")
    given = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(given) if given else _PACKAGE
    if not given and not os.access(_PACKAGE / "table", os.W_OK):
        return False
    return not (folder.is_dir() and any(folder.rglob(f"{module}.*.nbi")))
