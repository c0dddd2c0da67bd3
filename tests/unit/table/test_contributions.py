"""Who contributes to sums of cells: at least what each one does, and nobody is left out."""

from __future__ import annotations

import numpy as np
import pytest

from cellguard.table.contributions import holdings_of_sums


def lists(parts, most):
    """The lists of the largest, as tables keep them, of cells in which each has so much."""
    column = np.zeros((len(parts), most + 1, 2))
    for cell, part in enumerate(parts):
        ranked = sorted(part.items(), key=lambda one: (-one[1], one[0]))
        for rank, (who, amount) in enumerate(ranked[:most]):
            column[cell, rank] = who + 1, amount
        column[cell, most, 1] = ranked[most - 1][1] if len(ranked) > most else 0
    return column


@pytest.mark.parametrize("seed", range(40))
def test_sums_of_cells(seed):
    rng = np.random.default_rng(seed)
    many, most = int(rng.integers(1, 9)), 3 if seed % 2 else 30
    parts = [
        dict(zip(rng.permutation(12)[:n].tolist(), rng.integers(0, 50, n).tolist(), strict=True))
        for n in rng.integers(0, 9, many)
    ]
    into = rng.integers(0, 3, many)
    found = holdings_of_sums(lists(parts, most), into, 3)
    for number in range(3):
        true: dict[int, int] = {}
        for part in (part for part, where in zip(parts, into, strict=True) if where == number):
            for who, amount in part.items():
                true[who] = true.get(who, 0) + amount
        who = found[number, :-1, 0]
        told = dict(zip((who[who > 0] - 1).astype(int).tolist(), found[number, :-1, 1].tolist(), strict=False))
        if most == 30:
            assert told == true and found[number, -1, 1] == 0
        assert len(told) == min(len(told.keys() | true.keys()), most)
        assert all(told.get(one, found[number, -1, 1]) >= amount for one, amount in true.items())
        amounts = found[number, : len(told), 1]
        assert (np.diff(amounts) <= 0).all()
