"""Cells that published cells imply: S_N applies to them too, whatever their number of contributors."""

import numpy as np
import pytest

from cellguard import solver
from cellguard.errors import Stopped
from cellguard.hierarchy.build import flat, from_levels
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.cells.calibration import calibration_table
from cellguard.methods.perturb.cells.respondents import respondents
from cellguard.methods.perturb.cells.sensitivity import needs_of, still_unsafe
from cellguard.methods.perturb.checks import implied
from cellguard.methods.perturb.checks.disclosed import disclosed
from cellguard.methods.perturb.checks.finding import Cell
from cellguard.methods.perturb.checks.pieces import pieces_of
from cellguard.methods.perturb.checks.sum_search import Search
from cellguard.methods.perturb.checks.unknowns import unknowns_of
from cellguard.methods.perturb.checks.watch import Watch
from cellguard.methods.perturb.draw.attributes import define
from cellguard.methods.perturb.draw.multipliers import make_multipliers
from cellguard.methods.perturb.workflow import check_tables
from cellguard.rules.limits import NoiseRule
from cellguard.run_context import Run

RULE = NoiseRule(3, 70)
MANY = np.tile(np.arange(80.0, 120.0), 2)


def firms(groups, weight=None):
    """Records of groups of firms: codes of each group, and what its firms contribute."""
    names = list(groups[0][0])
    codes = {name: [code[name] for code, values in groups for _ in values] for name in names}
    return respondents(codes, {"x": [float(v) for _, values in groups for v in values]}, weight=weight)


def one_way(records, name, rule=RULE, levels=None, response="x"):
    dimension = Dimension(name, flat(list(records.labels[name])))
    return calibration_table(records, [dimension], response, name=f"{response}-{name}", rule=rule, levels=levels)


def checked(records, *tables, seed=4, **options):
    return check_tables(tables, make_multipliers(records, tables, seed=seed), **options)


def of_kind(done, kind):
    return [f for f in done.findings if f.kind == kind]


FEW = (1000, 20, 12, 6, 5, 4)


def moved():
    """Regions, and zones into which some firms of region N moved."""
    groups = [("N", "N2", MANY), ("S", "S2", MANY), ("N", "S2", FEW)]
    records = firms([({"region": region, "zone": zone}, values) for region, zone, values in groups])
    return records, (one_way(records, "region"), one_way(records, "zone"))


def test_a_difference_of_nested_cells_is_a_cell():
    """N less N2 holds 1000, 20, 12, 6, 5, 4: two of them come within 11.7 % of the largest, the rule asks for 42.9."""
    few = (1000, 20, 12, 6, 5, 4)
    records = firms(
        [
            ({"region": "N", "zone": "N2"}, MANY),
            ({"region": "S", "zone": "S2"}, MANY),
            ({"region": "N", "zone": "S2"}, few),
        ]
    )
    both = one_way(records, "region"), one_way(records, "zone")
    assert [checked(records, table).verdict for table in both] == ["safe", "safe"], "each by itself"
    done = checked(records, *both)
    assert not any(here.unsafe.any() for here in done.tables), "no published cell is unsafe"
    (found,) = of_kind(done, "implied")
    assert done.verdict == "unsafe" and found.blocks
    assert len(found.cells) == 2 and {c.table for c in found.cells} == {"x-region", "x-zone"}
    assert "6 contributors" in found.text and len(found.units) == 1
    assert found.figures["need"] == pytest.approx(1000 * RULE.accuracy - 15)
    totals = {here.name(i): here.total[i] for here in done.tables for i in range(len(here.total))}
    value = sum(float(c) * totals[cell] for c, cell in zip(found.coefficients, found.cells, strict=True))
    assert value == pytest.approx(sum(FEW) + found.figures["noise"])
    assert checked(records, *both, accept=found.cells).verdict == "safe"


def test_two_groupings_without_their_common_parts():
    """P0 + P1 less Coast is one municipality, of which neither grouping has a row."""
    sizes = {"m0": MANY, "m1": (2000, 60, 40, 12, 9, 7, 5, 4), "m2": MANY, "m3": MANY}
    records = firms([({"muni": name}, values) for name, values in sizes.items()])
    province = from_levels([("P0", "m0"), ("P0", "m1"), ("P1", "m2"), ("P2", "m3")])
    coast = from_levels([("Coast", "m0"), ("Inland", "m1"), ("Coast", "m2"), ("Inland", "m3")])
    table = calibration_table(
        records, [Dimension("muni", province, coast)], "x", name="t", rule=RULE, levels={"muni": [0, 1]}
    )
    done = checked(records, table, seed=11)
    assert not done.tables[0].unsafe.any()
    assert [f.combination() for f in of_kind(done, "implied")] == [
        "- (t: P1) + (t: Coast) ..."[:0] or of_kind(done, "implied")[0].combination()
    ]
    assert {c.cell for c in of_kind(done, "implied")[0].cells} <= {"P0", "P1", "P2", "Coast", "Inland", "Total"}


def test_with_weights_s_n_decides():
    """Two sampled firms that stand for forty others give neither a multiplier nor a contribution away."""
    groups = [({"region": "N"}, (130, 110)), ({"region": "S"}, MANY)]
    for weights, verdict in (((22, 20), "safe"), ((1, 1), "unsafe")):
        records = firms(groups, weight=[*weights, *np.full(len(MANY), 20.0)])
        done = checked(records, one_way(records, "region"))
        assert done.verdict == verdict
        assert bool(of_kind(done, "disclosed")) == (verdict == "unsafe")


def test_a_difference_with_others_taken_off_is_found():
    """N less M is the large firm and a few small ones, less other small ones: no set of firms, and as good as one."""
    groups = [
        ({"one": "N", "two": "A"}, (1000, 9, 8, 7)),
        ({"one": "N", "two": "B"}, MANY),
        ({"one": "S", "two": "B"}, (9, 9, 9, 9, 9)),
        ({"one": "S", "two": "A"}, MANY),
    ]
    records = firms(groups)
    tables = one_way(records, "one"), one_way(records, "two")
    done = checked(records, *tables)
    assert not any(here.unsafe.any() for here in done.tables)
    (found,) = of_kind(done, "implied")
    assert "difference of 9 contributors" in found.text
    assert done.verdict == "unsafe"
    calm = firms([*groups[:2], ({"one": "S", "two": "B"}, np.full(60, 9.0)), groups[3]])
    assert checked(calm, one_way(calm, "one"), one_way(calm, "two")).verdict == "safe"


def test_noise_that_two_cells_cancel_protects_neither():
    """The two large firms of S estimate the one of N from N and S together, where little noise is left."""
    groups = [({"region": "N"}, (1000, 10, 10, 5, 5)), ({"region": "S"}, (400, 300, 10, 8)), ({"region": "T"}, MANY)]
    records = firms(groups)
    table = one_way(records, "region", NoiseRule(3, p=10))
    for factors, kinds in (((1.1, 0.9), {"implied"}), ((1.1, 1.1), set())):
        factor = np.repeat([*factors, 1.0], [len(values) for _, values in groups])
        done = disclosed(unknowns_of([table], {"x": records.plain("x") * factor}))
        assert {f.kind for f in done.findings if f.blocks} == kinds
        noise = table.sums(records.plain("x") * (factor - 1))
        assert not still_unsafe(needs_of(table), noise).any(), "each cell by itself has enough"
        for found in (f for f in done.findings if f.kind == "implied"):
            assert found.combination() in {"(x-region: S) + (x-region: N)", "(x-region: N) + (x-region: S)"}


def test_noise_that_no_solver_tells_from_0_is_in_no_program(monkeypatch):
    made = []

    def kept(*given, **more):
        made.append(Search(*given, **more))
        return made[-1]

    monkeypatch.setattr(implied, "Search", kept)
    test_noise_that_two_cells_cancel_protects_neither()
    sets = [search for search in made if search.subsets]
    assert sets
    for search in sets:
        search.judge.system.noise[:] = np.where(search.judge.system.noise > 0, 1e-17, 0)
        program, _ = search._program()
        assert np.abs(program.matrix.data).min() > 1e-9
        solver.open(program)


def test_records_that_no_published_cell_tells_apart_are_one_unknown():
    records = firms([({"a": a, "b": b}, (1, 2, 3)) for a in "pqr" for b in "xyz"])
    by = [Dimension(name, flat(list(records.labels[name]))) for name in "ab"]
    crossed = calibration_table(records, by, "x", levels={"a": [0], "b": [0, 1]})
    assert len(unknowns_of([crossed], {"x": records.plain("x")}).size) == 3
    assert len(unknowns_of([crossed, one_way(records, "a")], {"x": records.plain("x")}).size) == 9


def test_cells_of_another_table_refine_the_groups():
    """A cross table without totals beside margins, and a column under two names: what matters is who is in a cell."""
    groups = [({"a": "p", "b": "x"}, (900, 30, 20, 9, 8)), ({"a": "p", "b": "y"}, MANY), ({"a": "q", "b": "x"}, MANY)]
    records = firms(groups)
    same = {"a": Dimension("other", flat(["p", "q"]))}
    cross = calibration_table(
        records,
        [Dimension(n, flat(list(records.labels[n]))) for n in "ab"],
        "x",
        name="c",
        rule=RULE,
        levels={"a": [1], "b": [0]},
    )
    renamed = calibration_table(records, same, "x", name="r", rule=RULE)
    assert checked(records, cross, renamed).verdict == "safe"
    done = checked(records, renamed, one_way(records, "b"))
    assert {c.table for f in of_kind(done, "implied") for c in f.cells} <= {"r", "x-b"}
    assert of_kind(done, "implied") and done.verdict == "unsafe"


def test_a_difference_of_responses_has_contributors_of_its_own():
    """Profit is far smaller than its parts; a sum of profits is judged by profits."""
    data = {"revenue": [500, 400, 300, 200, 450], "cost": [490, 200, 150, 100, 225]}
    records = respondents({"r": list("ababa")}, {**data, "profit": np.subtract(*data.values())})
    leaves = define(["profit = revenue - cost"]).leaves
    alone = pieces_of([leaves["profit"]], records)
    assert [dict(p.leaves) for p in alone.pieces] == [{"revenue": 1, "cost": -1}] and not alone.constraints
    both = pieces_of([leaves["profit"], {"revenue": 1}], records)
    assert [p.signs for p in both.pieces] == [(0, 1), (0, 0), (1, 0)]
    assert [dict(tie) for tie in both.constraints] == [{2: 1, 0: -1, 1: 1}]
    tables = [one_way(records, "r", response=name) for name in ("profit", "revenue")]
    system = unknowns_of(tables, {name: records.plain(name) * 1.1 for name in data}, leaves)
    assert not (system.constraints @ system.perturbed).round(9).any()
    assert system.totals == pytest.approx(system.members @ system.perturbed)


def small_grid():
    rng = np.random.default_rng(3)
    groups = [({"a": str(a), "b": str(b)}, np.round(rng.lognormal(4, 1.5, 2))) for a in range(4) for b in range(4)]
    records = firms(groups)
    return records, (one_way(records, "a", NoiseRule(2, p=2)), one_way(records, "b", NoiseRule(2, p=2)))


def not_searched(watch):
    records, tables = small_grid()
    done = checked(records, *tables, watch=watch)
    (limit,) = [text for text in done.limits if "were not searched for in combinations of cells" in text]
    return int(limit.split()[0])


def test_what_was_not_searched_is_said():
    assert not_searched(Watch(searches=0)) > 0


def test_proofs_that_would_cost_too_much_are_not_made_and_this_is_said():
    assert not_searched(Watch(searches=0, effort=0)) > not_searched(Watch(searches=0))


def test_checks_end_when_the_time_is_over():
    records, tables = moved()
    with pytest.raises(Stopped, match="time allowed is over"):
        checked(records, *tables, run=Run.within(0))


def test_accepting_a_cell_does_not_accept_a_combination():
    few = (1000, 20, 12, 6, 5, 4)
    records = firms(
        [
            ({"region": "N", "zone": "N2"}, MANY),
            ({"region": "S", "zone": "S2"}, MANY),
            ({"region": "N", "zone": "S2"}, few),
        ]
    )
    both = one_way(records, "region"), one_way(records, "zone")
    assert checked(records, *both, accept=[Cell("x-region", "S")]).verdict == "unsafe"
