"""The world behind tables: cells between, crossing tables, emptiness; small cases with known answers."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import cellguard as cg
from cellguard.attack import audit as auditing
from cellguard.attack.audit import audit
from cellguard.errors import InputError
from cellguard.methods.suppress.engines import system
from cellguard.methods.suppress.engines.engine_result import EngineResult
from cellguard.methods.suppress.headline import headline
from cellguard.methods.suppress.suppress import suppress
from cellguard.run_context import Run
from cellguard.table.pattern import Pattern
from cellguard.table.tableset import link
from cellguard.world import completion
from cellguard.world.constraints import constrain_tables
from cellguard.world.knowledge import Knowledge
from cellguard.world.world import see_world

REGION = cg.Dimension(
    "r",
    cg.Hierarchy.from_parents(
        [("Total", ""), ("N", "Total"), ("S", "Total"), *((f"{a}{i}", a) for a in "NS" for i in "12")]
    ),
)


def table(name, by, rows, *, value="x", count=None, dimensions=(REGION,), **about):
    columns = {d.name: [row[i] for row in rows] for i, d in enumerate(dimensions)}
    columns[value] = [row[len(dimensions)] for row in rows]
    if count is None:
        columns["n"] = [9] * len(rows)
    number = value if count else "n"
    return cg.cells(columns, list(dimensions), value=value, count=number, about=cg.About(name, **about))


def flat(name, codes):
    return cg.Dimension(name, cg.Hierarchy.flat(list(codes)))


def cube(values, names="abc"):
    """Two-way tables of counts, with totals, from a whole {codes: n}."""
    axes = {n: flat(n, sorted({key[i] for key in values})) for i, n in enumerate(names)}
    found = []
    for pair in ("ab", "ac", "bc"):
        sums = {}
        for key, n in values.items():
            codes = [key[names.index(p)] for p in pair]
            for cell in [(u, v) for u in ("Total", codes[0]) for v in ("Total", codes[1])]:
                sums[cell] = sums.get(cell, 0) + n
        rows = [(*cell, n) for cell, n in sums.items()]
        found.append(
            table(
                pair, pair, rows, value="n", count=True, dimensions=[axes[p] for p in pair], response="n", zeros="known"
            )
        )
    return found


def test_coarse_and_fine_codes_in_two_tables_are_tied_without_new_cells():
    coarse = table("coarse", "r", [("Total", 40), ("N", 12), ("S", 28)])
    fine = table("fine", "r", [("Total", 40), ("N1", 2), ("N2", 10), ("S1", 22), ("S2", 6)])
    linked = link([coarse, fine])
    constraints = constrain_tables(linked)
    assert not len(constraints.response_key)
    ends = constraints.relations.indptr
    sums = [{linked.cell_name(c) for c in constraints.relations.indices[a:b]} for a, b in pairwise(ends)]
    assert {"coarse: N", "fine: N1", "fine: N2"} in sums and {"coarse: S", "fine: S1", "fine: S2"} in sums


def test_what_only_other_codes_cover_becomes_a_cell_between():
    """The fine table shows one half of N only, so that the rest of N is somebody else's, and not negative."""
    coarse = table("coarse", "r", [("Total", 40), ("N", 12), ("S", 28)])
    part = table("part", "r", [("N1", 2)])
    world = see_world(link([coarse, part]), Knowledge())
    # N1 and the rest of N behind the coarse table; the rest of N, and S, behind the other
    assert sorted(world.value[len(world.tables) :].tolist()) == pytest.approx([2, 10, 10, 28])
    assert world.lower[len(world.tables) :].tolist() == [0] * 4


def test_tables_that_contradict_each_other_are_refused():
    """a goes with b and with c, so that b must go with c; all totals of one dimension agree."""
    ab, ac, _ = cube({"000": 2, "111": 2})
    bc = cube({"001": 2, "110": 2})[2]
    with pytest.raises(InputError, match="other tables of the same respondents have no row there"):
        see_world(link([ab, ac, bc]), Knowledge())


def test_tables_without_a_table_behind_them_are_refused():
    """With every combination possible the cells are there, but some would have to be negative."""
    whole = {f"{i}{j}{k}": 1 for i in "01" for j in "01" for k in "01"}
    ab, ac, _ = cube(whole | {"000": 9, "111": 9})
    bc = cube(whole | {"001": 9, "110": 9})[2]
    with pytest.raises(InputError, match="contradict each other: each adds up, but no set of records can have all"):
        see_world(link([ab, ac, bc]), Knowledge())


CYCLE = {"000": 1, "001": 2, "101": 1, "110": 1, "111": 9}


def needs_of(tables, **knowledge):
    found = cg.assess(link(tables), [cg.MinFrequency(2)])
    return found, cg.require(found, Knowledge(**knowledge))


def test_a_cycle_of_tables_has_a_crossing_table_behind_it():
    findings, needs = needs_of(cube(CYCLE))
    assert needs.world.constraints.crossing.all() and needs.world.between
    with_it = suppress(needs, np.ones(len(needs.tables))).pattern
    assert audit(needs, with_it).verdict == "safe"
    findings, less = needs_of(cube(CYCLE), crossing=False)
    assert not less.world.between and less.world.constraints.accepted
    found = audit(less, suppress(less, np.ones(len(less.tables))).pattern)
    assert "crossing" in [attack.key for attack in headline(findings, found).not_checked]
    assert "crossing tables and cells that no table lists" in headline(findings, found).text


def test_too_large_a_crossing_table_is_not_proven(monkeypatch):
    monkeypatch.setattr(
        "cellguard.world.constraints.constrain_tables.__kwdefaults__", {**constrain_tables.__kwdefaults__, "most": 3}
    )
    findings, needs = needs_of(cube(CYCLE))
    pattern = Pattern(needs.tables, needs.primary, ~needs.primary)
    found = audit(needs, pattern)
    assert found.verdict == "undecided"
    assert headline(findings, found).text.startswith(
        "NOT PROVEN: the tables ab, ac, bc cross in more than 3 combinations"
    )


def amounts(seed):
    """The two-way tables of a random whole of 4 by 4 by 4 cells, as amounts."""
    rng = np.random.default_rng(seed)
    values = {
        f"{i}{j}{k}": int(rng.choice([0, 0, 0, 0, 1, 2, 9])) for i in range(4) for j in range(4) for k in range(4)
    }
    tables = cube({key: n for key, n in values.items() if n})
    return [replace(t, is_count=False, decimals=0, response="x") for t in tables]


@pytest.mark.parametrize("seed", range(6))
def test_a_thin_world_proves_only_what_the_whole_one_proves(seed, monkeypatch):
    """With few atoms that move, verdicts may be less certain, but never safer."""
    tables = amounts(seed)
    _, needs = needs_of(tables)
    for module in (auditing, system, completion):
        monkeypatch.setattr(module, "MANY_CROSSING", 5)
    _, thin = needs_of(tables)
    assert thin.primary.any()
    pattern = suppress(thin, np.maximum(thin.tables.value, 1.0)).pattern
    assert audit(thin, pattern).verdict == "safe"
    monkeypatch.undo()
    assert audit(needs, pattern).verdict == "safe"


def test_a_thin_pattern_is_mended_even_if_the_search_used_up_the_time(monkeypatch):
    """What the search found in the smaller world is safe in the whole one only after a repair, which has to come."""
    for module in (auditing, system, completion):
        monkeypatch.setattr(module, "MANY_CROSSING", 5)
    _, needs = needs_of(amounts(3))
    assert needs.primary.any()
    slow = Run(deadline=0.0)

    def primaries_alone(small, *, start, effort, run):
        assert run is slow
        return EngineResult(small.hidden, 0.0, 0.0, finished=False)

    chosen = suppress(needs, engine=primaries_alone, run=slow)
    assert audit(needs, chosen.pattern).verdict == "safe" and chosen.pattern.secondary.any()


def test_a_listed_count_is_at_least_one_and_an_absent_row_is_empty_everywhere():
    """Turnover lists N and W only; so persons of S, which the other table lists as 0, are known to be none."""
    codes = flat("k", "NSW")
    turnover = table("turnover", "k", [("Total", 5), ("N", 2), ("W", 3)], dimensions=[codes])
    rows = [("Total", 5), ("N", 1), ("S", 0), ("W", 4)]
    persons = table("persons", "k", rows, value="n", count=True, dimensions=[codes], zeros="possible")
    world = see_world(link([turnover, persons]), Knowledge())
    at = {world.tables.cell_name(c): c for c in range(len(world.tables))}
    assert world.constraints.empty[at["persons: S"]] and not world.constraints.empty[at["persons: N"]]
    assert world.lower[at["persons: N"]] == world.lower[at["persons: W"]] == 1
    assert world.lower[at["turnover: N"]] == 0
