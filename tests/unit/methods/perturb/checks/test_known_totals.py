"""True totals from elsewhere beside perturbed cells: every estimate of a few sums is tried, and none is missed."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from cellguard.errors import InputError
from cellguard.methods.perturb.cells.calibration import calibration_table
from cellguard.methods.perturb.cells.sensitivity import in_spite_of
from cellguard.methods.perturb.checks.known_sets import KnownTotal
from cellguard.methods.perturb.draw.multipliers import Settings, make_multipliers
from cellguard.methods.perturb.draw.zes import Zes
from cellguard.methods.perturb.workflow import check_tables

from perturb_data import RULE, grid_table


def drawn(seed):
    """Two by three cells, one of them dominated, perturbed."""
    rng = np.random.default_rng(seed)
    cells = {at: rng.integers(40, 160, int(rng.integers(4, 7))).tolist() for at in itertools.product("AB", "XYZ")}
    at = list(cells)[int(rng.integers(6))]
    cells[at] = [int(rng.integers(3_000, 9_000)), *cells[at][:3]]
    table = grid_table(cells)
    mu = float(rng.choice([0.1, 0.3, 0.5]))
    return table, make_multipliers(table.records, [table], Settings(zes=Zes(mu=mu)), seed=seed)


def full(name):
    """The name of a cell of both dimensions."""
    return name if "/" in name else f"{name}/Total"


def known_of(table, *names):
    return [KnownTotal(table, np.array([table.table.find(cell)])) for cell in map(full, names)]


def found(table, made, known):
    check = check_tables([table], made, known=known)
    return {f.cells[0].cell for f in check.open if f.kind == "known"}, check


def close(table, made, members, noise):
    """Whether records that are told with this noise are too close, by the rule as it is written."""
    value = np.where(members, table.records.plain("x"), 0.0)
    top = np.sort(np.bincount(table.records.unit, value))[::-1]
    need = RULE.accuracy * top[0] - RULE.prior * (value.sum() - top[: RULE.n].sum())
    return bool(in_spite_of(np.array([noise]), np.array([need]), np.array([value.sum()]))[0])


def told(table, made, known):
    """Published cells of which, with one or two known totals added or taken off, something is told too closely."""
    matrix = table.membership.matrix.toarray().astype(int)
    moved = made.contributions("x") - table.records.weighted("x")
    members = [matrix[int(total.cells[0])] for total in known]
    every = members
    for _ in range(2):  # what known totals leave of each other is known, too
        every = [*every, *(a - b for a, b in itertools.permutations(every, 2) if ((a - b) >= 0).all())]
    every = [one for one in every if one.any()]
    true = {one.tobytes() for one in every}
    close_by = set()
    for cell, row in enumerate(matrix):
        if row.tobytes() in true:
            continue
        for many in (1, 2):
            for chosen in itertools.combinations(members, many):
                for signs in itertools.product((1, -1), repeat=many):
                    both = sum(sign * one for sign, one in zip(signs, chosen, strict=True))
                    for sum_, sign in ((both - row, -1), (row - both, 1)):
                        shown = set(np.unique(sum_).tolist()) <= {0, 1} and sum_.any()
                        shown = shown and not any((sum_ >= one).all() for one in every)  # known by itself
                        if shown and sum_.tobytes() not in true and close(table, made, sum_ > 0, sign * moved @ row):
                            close_by.add(table.table.cell_name(cell))
        for one in members:
            nested = ((one - row) >= 0).all() or ((row - one) >= 0).all()
            safe = not close(table, made, row > 0, moved @ row)
            if nested and safe and close(table, made, row > 0, moved @ (row - one)):
                close_by.add(table.table.cell_name(cell))
    return close_by


@pytest.mark.parametrize(
    "names", [["A"], ["Total"], ["Total", "A"], ["Total", "Total/X", "Total/Y"], ["A", "A/X"], ["A/X", "A/Y", "B/Z"]]
)
def test_no_estimate_of_one_cell_and_known_totals_is_missed(names):
    wanted = 0
    for seed in range(25):
        table, made = drawn(seed)
        known = known_of(table, *names)
        mine, theirs = found(table, made, known)[0], told(table, made, known)
        assert theirs <= mine, (seed, theirs - mine)
        wanted += len(theirs)
    assert wanted > 0 or names == ["A/X", "A/Y", "B/Z"]


def test_a_known_margin_takes_the_noise_from_the_cell_that_has_it():
    table = grid_table({("A", "X"): [5_000, 60, 50, 40], ("A", "Y"): [90, 80, 85, 95], ("B", "X"): [70, 75, 90, 80]})
    made = make_multipliers(table.records, [table], Settings(zes=Zes(mu=0.5)), seed=1)
    assert found(table, made, [])[1].verdict == "safe"
    cells, check = found(table, made, known_of(table, "A"))
    assert "A/X" in cells and check.verdict == "unsafe"
    assert any("without its noise too little is left" in f.text for f in check.open)
    assert found(table, made, known_of(table, "B"))[1].verdict == "safe"  # has nothing to do with it


def test_margins_that_are_held_take_no_noise_away():
    cells = {(r, c): [70, 80, 90, 100, 60] for r in "ABC" for c in "XYZ"}
    table = grid_table({**cells, ("A", "X"): [400, 60, 50, 40, 45]})
    made = make_multipliers(table.records, [table], Settings(method="marg_zes"), seed=3)
    _, check = found(table, made, known_of(table, "A", "B", "C"))
    row = table.table.find("A/Total")
    assert abs(made.totals(table)[row] - table.total[row]) < 1
    assert not [f for f in check.open if f.kind == "known" and f.cells[0].cell == "A/X"]


def test_who_knows_a_contributor_of_two_responses_knows_its_multiplier():
    """The total of a lone contributor is known; the other response of it is then known exactly."""
    one = grid_table({("A", "X"): [900], ("B", "X"): [80, 70, 90, 75]})
    records = one.records
    values = {"x": records.values["x"], "y": np.array([4_000.0, 50, 60, 70, 65])}
    records = replace(records, values=values)
    tables = [calibration_table(records, one.table.dimensions, name, name=name, rule=RULE) for name in "xy"]
    made = make_multipliers(records, tables, Settings(zes=Zes(mu=0.45, sigma=0.01)), seed=1)
    known = [KnownTotal(tables[0], np.array([tables[0].table.find("A/X")]))]
    check = check_tables(tables, made, known=known)
    assert any(f.kind == "known" and f.cells[0].table == "y" and "in common" in f.text for f in check.open)


def test_contributions_below_0_are_judged_by_their_size():
    table = grid_table({("A", "X"): [-5_000, 60, 50, 40], ("A", "Y"): [90, -80, 85, 95], ("B", "X"): [70, 75, 90, 80]})
    made = make_multipliers(table.records, [table], Settings(zes=Zes(mu=0.5)), seed=1)
    assert "A/X" in found(table, made, known_of(table, "A"))[0]


def test_known_totals_need_tables():
    with pytest.raises(InputError, match="there is no table"):
        check_tables([], None)
