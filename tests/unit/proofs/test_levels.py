"""Protection levels: their verbs, cell by cell, against plain loops."""

import numpy as np
import pytest

from cellguard.proofs.levels import Levels


def some(seed, n=40):
    rng = np.random.default_rng(seed)
    return Levels(*(rng.integers(0, 5, n) * rng.integers(0, 2, n) for _ in range(3)))


@pytest.mark.parametrize("seed", range(5))
def test_levels_say_of_each_cell_what_its_row_says(seed):
    levels, rng = some(seed), np.random.default_rng(seed)
    down, up = rng.integers(0, 5, 40), rng.integers(0, 5, 40)
    rows = levels.rows()
    assert [max(row) for row in rows] == levels.most().tolist()
    assert [any(row) for row in rows] == levels.asked().tolist()
    short = [d < r.down or u < r.up or d + u < r.width for r, d, u in zip(rows, down, up, strict=True)]
    assert short == levels.short_of(down, up).tolist()
    assert Levels.of_rows(rows).rows() == rows
    assert levels.take(slice(3, 7)).rows() == rows[3:7]
    kept = levels.kept(np.arange(40) < 9)
    assert kept.rows()[:9] == rows[:9] and not kept.asked()[9:].any()


@pytest.mark.parametrize("seed", range(5))
def test_the_largest_of_cells_that_move_against_each_other_change_sides(seed):
    levels, rng = some(seed), np.random.default_rng(seed)
    place, ahead = rng.integers(0, 7, 40), rng.random(40) < 0.5
    merged = levels.largest(place, 8, ahead).rows()
    for at in range(8):
        rows = [
            r if same else r._replace(down=r.up, up=r.down)
            for r, p, same in zip(levels.rows(), place, ahead, strict=True)
            if p == at
        ]
        assert merged[at] == tuple(max([row[k] for row in rows], default=0) for k in range(3))


def test_of_no_cells_nothing_is_asked():
    assert Levels.of_rows([]).rows() == Levels.none(0).rows() == []
    assert not Levels.none(3).asked().any()
