"""What differences of shown pieces tell: an oracle of its own, from the records and the outlines alone.

Pieces of a map lie beside each other or in each other. From their sums, and the total, one can work out for each
piece what is in it and in no shown piece within it, and what is in none; and nothing else but sums of these. So a map
is safe if each of these remainders is empty or safe. Records are assigned to pieces anew here, by where they are, and
facts are made from them record by record: nothing of the search is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellguard.arrays import FloatArray, LongArray
from cellguard.methods.maps.contributors import Contributors
from cellguard.rules.rule import Rule

Inside = Sequence[LongArray]  # the leaves of each piece


@dataclass(frozen=True, slots=True)
class Audit:
    """How many remainders there are, how many are ``unsafe``, and how many figures are ``wrong``.

    ``overlaps`` are pieces that lie partly in each other, of which nobody knows what differences tell.
    """

    remainders: int
    unsafe: int
    wrong: int
    overlaps: int

    @property
    def is_safe(self) -> bool:
        """Whether nothing was found, and all could be looked at."""
        return not (self.unsafe or self.wrong or self.overlaps)


def audit(
    pieces: Inside, figures: FloatArray, leaf: LongArray, value: FloatArray, rules: Sequence[Rule], *, unit: float = 1.0
) -> Audit:
    """Look at what differences tell; ``leaf`` and ``value`` are those of each record, ``unit`` that of the figures.

    >>> from cellguard.rules.simple import MinFrequency
    >>> records = np.array([0, 0, 0, 1]), np.ones(4)
    >>> both = [np.array([0]), np.array([0, 1])]
    >>> audit(both, np.array([3.0, 4.0]), *records, [MinFrequency(3)])  # 4 - 3 tells a cell of 1
    Audit(remainders=2, unsafe=1, wrong=0, overlaps=0)
    """
    leaves = int(max([leaf.max(initial=-1), *(piece.max(initial=-1) for piece in pieces)])) + 1
    innermost, overlaps = np.zeros(leaves, np.int64), 0
    for number in sorted(range(len(pieces)), key=lambda piece: (-len(pieces[piece]), piece)):
        held = np.unique(innermost[pieces[number]])
        overlaps += len(held) > 1
        innermost[pieces[number]] = number + 1
    groups = Contributors.of(innermost[leaf], value, len(pieces) + 1)
    ranks = max([2, *(max(rule.ceiling[0], rule.ceiling[1]) for rule in rules if rule.ceiling is not None)])
    facts = groups.facts(ranks)
    unsafe = np.logical_or.reduce([np.zeros(groups.cells, bool), *(rule.unsafe(facts) for rule in rules)])
    of_leaf = np.bincount(leaf, value, leaves)
    true = np.array([of_leaf[np.unique(piece)].sum() for piece in pieces])
    wrong = int((np.abs(true - figures) > 0.5 * unit + 1e-9 * np.abs(true)).sum())
    return Audit(int((groups.count > 0).sum()), int(unsafe.sum()), wrong, overlaps)
