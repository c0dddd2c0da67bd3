"""The arrays that kernels of the attack by insiders take together.

This file imports numpy alone, as do those of kernels: they are compiled where nothing else is installed.
"""

from __future__ import annotations

from typing import NamedTuple

from cellguard.arrays import BoolArray, IntArray, LongArray


class Rows(NamedTuple):
    """A sparse integer matrix by columns: in which relations each cell is."""

    start: LongArray
    row: IntArray
    value: LongArray


class Known(NamedTuple):
    """What insiders know of each merged cell; see `InsiderKnowledge`. ``calm`` is unlimited for signed cells.

    ``knowing`` is who notices any move of the cell, ``owner`` who need not be kept from estimating it.
    """

    up: LongArray
    floor: LongArray
    calm: LongArray
    value: LongArray
    knowing: LongArray
    owner: LongArray
    start: LongArray
    who: IntArray
    amount: LongArray
    whole: BoolArray


class Asks(NamedTuple):
    """Ask k: ``cell[k]`` must be able to move by ``need[k]``, up (``way`` 1), down (-1) or either way (0).

    ``who`` is against whom, -1 for any respondent without an ask of its own, and -2 for outsiders, who know nothing.
    Asks are sorted by cell; those of cell c are ``start[c]`` to ``start[c + 1]``.
    """

    start: LongArray
    cell: IntArray
    way: IntArray
    need: LongArray
    who: IntArray
