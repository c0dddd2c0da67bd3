"""What is said of kernels that are not compiled ahead of time: that they compile now, or that they are interpreted."""

from __future__ import annotations

from functools import cache

import click

from cellguard.kernels import extension
from cellguard.kernels.kernel import ways
from cellguard.kernels.store import store

COMPILING = "Compiling, which takes up to a minute. Later runs start at once."
COMPILING_AGAIN = (
    "Compiling, which takes up to a minute, and again in every run, since there is no folder to keep the result in; "
    "NUMBA_CACHE_DIR can name one."
)
INTERPRETED = "This runs as plain Python, slow for large tables; pip install 'cellguard[fast]' makes it fast."


def announce() -> None:
    """Say so on the standard error once it happens, each once in a process."""
    ways.compiling, ways.slow = _compiling, _slow


@cache
def _compiling() -> None:
    click.echo(COMPILING if store(extension.stamp()) else COMPILING_AGAIN, err=True)


@cache
def _slow() -> None:
    click.echo(INTERPRETED, err=True)
