"""Tables made from random records, judged by plain SQL and by brute force."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.fact import Count, Records, Requested, Signs, Top, Unwaived
from cellguard.table.read import About
from cellguard.table.tableset import link
from cellguard.table.tabulate import Wanted, make_tables
from unit.table.tabulate_oracle import found_cells, make_units, members, sql_cells

from grouped_units import group_units
from properties.random_tables import generators, quick, random_grouping, random_hierarchy

ALL = (Count(), Records(), Top(3), Signs(), Unwaived(1), Requested())


def random_dimensions(rng, sizes):
    found = {}
    for i, size in enumerate(sizes):
        tree = random_hierarchy(rng, size)
        others = [random_grouping(rng, tree)] if rng.random() < 0.5 else []
        found[f"d{i}"] = Dimension(f"d{i}", tree, *others)
    return found


def random_units(rng, by, many, *, scale=1, lowest=-20, weights=False):
    codes = {name: rng.choice(d.main.leaves, many).tolist() for name, d in by.items()}
    holding = [f"h{rng.integers(1, max(2, many // 2))}" for _ in range(many)]
    values = {name: rng.integers(lowest, 30, many) / scale for name in ("x", "y")}
    weight = rng.integers(100, 4000, many) / 1000 if weights else None
    return make_units(
        codes, values, holding, weight=weight, waived=rng.random(many) < 0.6, requested=rng.random(many) < 0.2
    )


@quick
@given(generators, st.lists(st.integers(1, 7), min_size=1, max_size=3), st.integers(1, 40), st.sampled_from([1, 100]))
def test_every_fact_is_that_of_plain_sql(rng, sizes, many, scale):
    by = random_dimensions(rng, sizes)
    units = random_units(rng, by, many, scale=scale)
    wanted = [Wanted(by, name, About(name), ALL) for name in ("x", "y")]
    if len(by) > 1:
        some = dict(list(by.items())[1:])
        wanted.append(Wanted(some, "x", About("margin"), ALL))
    tables = make_tables(group_units(units), wanted)
    for table, asked in zip(tables, wanted, strict=True):
        expected = sql_cells(units, asked.by, asked.value, top=3, scale=scale)
        assert found_cells(table, scale=scale) == expected
    link(tables)


def expanded(pairs, most):
    """The first virtual contributions of (value, weight) pairs, by laying out a thousandth of a contribution each."""
    line = [x for x, w in sorted(pairs, reverse=True) for _ in range(round(1000 * max(w, 1)))]
    return [sum(line[1000 * j : 1000 * (j + 1)]) / 1000 for j in range(most)]


@quick
@given(generators, st.lists(st.integers(1, 5), min_size=1, max_size=2), st.integers(1, 15))
def test_virtual_contributions_are_those_of_the_records_laid_out(rng, sizes, many):
    by = random_dimensions(rng, sizes)
    units = random_units(rng, by, many, scale=1, lowest=0, weights=True)
    (table,) = make_tables(group_units(units), [Wanted(by, "x", facts=(Count(), Top(3)), survey="virtual")])
    inside = members(units, by)
    for i in range(len(table)):
        rows = inside[tuple(table.cell_name(i).split("/"))]
        value, weight, holding = units.values["x"][rows], units.weight[rows], units.holding[rows]
        pairs = []
        for h in np.unique(holding):
            own = holding == h
            pairs.append((value[own].sum(), weight[own][0] if own.sum() == 1 else 1.0))
        assert np.allclose(table.facts.tops[i], expanded(pairs, 3))
        assert np.isclose(table.value[i], (value * weight).sum()) and table.facts.base[i] == table.value[i]
        assert table.facts.count[i] == len(pairs)
