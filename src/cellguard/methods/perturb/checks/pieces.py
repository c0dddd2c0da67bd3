"""Pieces: what the tables of one family add up, as responses that no table shows apart.

Leaves that every table adds up in the same way are one piece. A response that is a difference of others (profit =
revenue - cost) can be much smaller than its parts; it is a piece of its own then, with its own contributors' sizes,
and everybody knows that it is the difference of the others: a constraint. No table need show it for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cellguard.methods.perturb.cells.respondents import Respondents

Part = Mapping[str, int]


@dataclass(frozen=True)
class Piece:
    """Leaves with their signs, added up, and with which sign each table holds them (0: not at all)."""

    leaves: Part
    signs: tuple[int, ...]


@dataclass(frozen=True)
class Pieces:
    """The pieces of a family; each of ``constraints`` adds up to 0: the numbers of pieces with their signs."""

    pieces: tuple[Piece, ...]
    constraints: tuple[Mapping[int, int], ...] = ()


def pieces_of(parts: Sequence[Part], records: Respondents, others: Sequence[Part] = ()) -> Pieces:
    """Return the pieces of tables, given by the leaves of their responses with their signs.

    ``others`` are responses that no table shows, but that follow from those that tables show.

    >>> from cellguard.methods.perturb.cells.respondents import respondents
    >>> firms = respondents({}, {"home": [5, 7], "export": [2, 0], "cost": [6, 7]})
    >>> [dict(p.leaves) for p in pieces_of([{"home": 1, "export": 1}], firms).pieces]
    [{'home': 1, 'export': 1}]
    >>> both = pieces_of([{"home": 1}, {"home": 1, "cost": -1}], firms)
    >>> [dict(p.leaves) for p in both.pieces], [dict(t) for t in both.constraints]
    ([{'home': 1}, {'cost': 1}, {'home': 1, 'cost': -1}], [{2: 1, 0: -1, 1: 1}])
    """
    base = _together(parts)
    constraints: list[dict[int, int]] = []
    apart: list[Part] = []
    for part in [*parts, *others]:
        inside = _made_of(part, base)
        if part in apart or not _cancel([(base[at].leaves, sign) for at, sign in inside.items()], records):
            continue
        constraints.append({len(base) + len(apart): 1, **{at: -sign for at, sign in inside.items()}})
        apart.append(part)
    pieces = [
        Piece(piece.leaves, tuple(0 if part in apart else s for part, s in zip(parts, piece.signs, strict=True)))
        for piece in base
    ]
    pieces += [Piece(part, tuple(int(other == part) for other in parts)) for part in apart]
    return Pieces(tuple(pieces), tuple(constraints))


def _made_of(part: Part, base: Sequence[Piece]) -> dict[int, int]:
    """Return the pieces that add up to a response, with their signs; nothing if there are none."""
    signs_of, left = {}, dict(part)
    for at, piece in enumerate(base):
        signs = {left.pop(leaf, 0) * sign for leaf, sign in piece.leaves.items()}
        if len(signs) > 1:
            return {}
        if signs != {0}:
            signs_of[at] = signs.pop()
    return {} if left else signs_of


def _together(parts: Sequence[Part]) -> list[Piece]:
    """Return the leaves of all tables, those in one piece that every table holds alike, or with the opposite sign."""
    leaves_of: dict[tuple[int, ...], dict[str, int]] = {}
    for leaf in dict.fromkeys(leaf for part in parts for leaf in part):
        signs = tuple(part.get(leaf, 0) for part in parts)
        turned = tuple(-sign for sign in signs)
        if turned in leaves_of:
            leaves_of[turned][leaf] = -1
        else:
            leaves_of.setdefault(signs, {})[leaf] = 1
    return [Piece(leaves, signs) for signs, leaves in leaves_of.items()]


def _cancel(pieces: Sequence[tuple[Part, int]], records: Respondents) -> bool:
    """Return whether the sum of some pieces, given with their signs, is smaller than they are for any record."""
    if len(pieces) < 2:
        return False
    amounts = [
        sign * np.sum([s * records.plain(leaf) for leaf, s in leaves.items()], axis=0) for leaves, sign in pieces
    ]
    return bool((np.abs(np.sum(amounts, axis=0)) < (1 - 1e-9) * np.sum(np.abs(amounts), axis=0)).any())
