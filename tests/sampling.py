"""Damage of every kind in `make test`, and damage everywhere in `make test-all`."""

from __future__ import annotations

import pytest

SPARSE_OR_DENSE = pytest.mark.parametrize("dense", [False, pytest.param(True, marks=pytest.mark.endless)])


def on_diagonals(row, column, step):
    """Whether one field is looked at: those on every so manieth diagonal, so that no row and no column is left out."""
    return (row + column) % step == 0


def shape(place):
    """A place in a document without its numbers."""
    return tuple("*" if isinstance(key, int) else key for key in place)
