"""What an outsider and an insider can work out of a release: the same question for every method, judged by programs."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linprog

import cellguard as cg
from cellguard.evaluate.candidates import parse_policies
from cellguard.evaluate.insider_risk import risk_behind_noise
from cellguard.evaluate.outsider_risk import Attackers, measure_nearness
from cellguard.evaluate.policies import Reference, compare_policies
from cellguard.evaluate.policy_page import policy_page
from cellguard.job.jobfile import Job
from cellguard.methods.maps.simulate import simulate
from cellguard.pipeline import run
from cellguard.run_context import Run
from cellguard.table.contributions import contributions_of


def firms(folder, seed, p=15):
    draw = np.random.default_rng(seed)
    worth = (draw.lognormal(3, 1.0, 26) + 1).astype(int)
    owner = draw.integers(0, 14, 26)  # some are in several cells
    rows = [
        f"f{o},{draw.choice(list('ABCD'))},{draw.choice(list('uvw'))},{x}" for o, x in zip(owner, worth, strict=True)
    ]
    (folder / "r.csv").write_text("id,a,b,x\n" + "\n".join(rows) + "\n")
    table = {"name": "t", "by": ["a", "b"], "value": "x", "rules": [{"p_percent": p}]}
    records = {"source": "r.csv", "respondent": "id"}
    spec = {"version": 1, "microdata": records, "tables": [table], "attack": {"insiders": False}}
    return Job.parse(spec, folder=folder)


def reach(tables, unknown, floor, fixed, cell):
    """How far a cell can fall and rise where published and fixed cells stand, and none falls below its floor."""
    bounds = [
        (max(low, 0), None) if free and not still else (value, value)
        for value, free, low, still in zip(tables.value, unknown, floor, fixed, strict=True)
    ]
    matrix, aim = tables.relations.toarray(), np.eye(len(bounds))[cell]
    found = [linprog(sign * aim, A_eq=matrix, b_eq=np.zeros(len(matrix)), bounds=bounds) for sign in (1, -1)]
    least, greatest = (np.inf if one.status == 3 else abs(one.fun) for one in found)
    return tables.value[cell] - least, greatest - tables.value[cell]


def short(ends, need):
    return max(min(max((want - end) / want, 0), 1) if want > 0 else 0 for end, want in zip(ends, need, strict=True))


@pytest.mark.parametrize("seeds", [(2, 3, 4, 35), pytest.param((*range(5, 30), 62), marks=pytest.mark.long)])
def test_the_risk_from_insiders_is_that_of_programs(tmp_path, seeds):
    nearer = 0
    for seed in seeds:
        job = firms(tmp_path, seed)
        reference = Reference.of(job, (), Run())
        needs, known, tables = reference.needs, reference.insiders, reference.needs.tables
        weak = 1 if seed > 30 else 4 if seed % 2 else 15
        release = run(firms(tmp_path, seed, p=weak)).release
        seen = measure_nearness(needs, release, Run(), Attackers(known))
        unknown = np.array(release["t"].suppressed)
        for cell in np.flatnonzero(needs.primary & unknown):
            listed = slice(known.start[cell], known.start[cell + 1])
            amounts = dict(zip(known.insider[listed].tolist(), known.amount[listed].tolist(), strict=True))
            worst = float(seen.risk[cell])
            for who in np.unique(known.insider).tolist():
                others = [amount for other, amount in amounts.items() if other != who]
                if not others:
                    continue  # alone in it
                floor, fixed = np.zeros(len(tables)), known.owner == who
                floor[known.cell[known.insider == who]] = known.amount[known.insider == who]
                own, value = amounts.get(who, 0.0), tables.value[cell]
                need = max(own + 1.15 * max(others) - value, 0)
                down, up = min(need, value - own), need
                ends = reach(tables, unknown, floor, fixed, cell)
                worst = max(worst, short((*ends, sum(ends)), (down, up, 1 if max(down, up) < 1 else 0)))
            assert (seen.inside[cell] > 0) == (worst > 1e-6), (seed, tables.cell_name(cell))
            assert seen.risk[cell] <= seen.inside[cell] == pytest.approx(worst, abs=2e-3), (
                seed,
                tables.cell_name(cell),
            )
            nearer += seen.inside[cell] > seen.risk[cell] + 0.01
        assert seen.disclosed_to_insiders >= seen.disclosed and np.isnan(seen.inside[~needs.primary]).all()
        assert (seen.inside[needs.primary & ~unknown] == 1).all()
    assert nearer > 4


def test_who_is_alone_in_a_cell_knows_its_own_noise_everywhere():
    records = {"r": ["A"] * 3 + ["B"] + ["C"] * 4, "x": [50, 40, 1, 30, 5, 6, 7, 8], "f": list("habhcdeg")}
    from cellguard.table.fact import Holdings

    rule = cg.PPercent(10)
    made = cg.tabulate(cg.records(records, ["r"], values=["x"], respondent="f"), ["r"], value="x", rules=[rule])
    assert Holdings() not in made.facts  # so that who contributes is told here by hand
    needs = cg.require(cg.assess(made, rule))
    known = contributions_of(needs.tables)
    who = {name: i for i, name in enumerate("habcdeg")}
    cells = {"A": [("h", 50), ("a", 40), ("b", 1)], "B": [("h", 30)], "C": [("g", 8), ("e", 7), ("d", 6), ("c", 5)]}
    cells = {"Total": [], **cells}
    names = [made.cell_name(i) for i in range(len(made))]
    listed = [cells[name] for name in names]
    known = type(known)(
        np.concatenate([[0], np.cumsum([len(x) for x in listed])]).astype(np.int64),
        np.array([who[f] for part in listed for f, _ in part]),
        np.array([float(x) for part in listed for _, x in part]),
        np.zeros(len(names)),
        np.array([who[x[0][0]] if len(x) == 1 else -1 for x in listed]),
        np.ones(len(names), bool),
        True,
    )
    value = needs.tables.value
    at = names.index("A")
    assert needs.primary[at]
    figures = value.copy()
    figures[at] += 5.0  # all of it the noise of h, who has 50 there and 30 alone in B
    figures[names.index("B")] += 3.0
    risk = np.where(needs.primary, 0.0, np.nan)
    told = risk_behind_noise(needs, figures, risk, known)
    assert told[at] == 1.0  # h takes its 10 % off, and nothing is left of the noise
    figures[names.index("B")] = value[names.index("B")]  # now h takes its own contribution for unchanged
    assert risk_behind_noise(needs, figures, risk, known)[at] == 0.0


def test_a_job_that_looks_at_insiders_leaves_them_no_risk(tmp_path):
    job = firms(tmp_path, 3)
    known = job.model_copy(update={"attack": job.attack.model_copy(update={"insiders": True})})
    alone, inside = (compare_policies(one, parse_policies("suppress", [])) for one in (job, known))
    assert inside.points[0].disclosed_to_insiders == 0 <= alone.points[0].disclosed_to_insiders
    assert inside.points[0].utility <= alone.points[0].utility


def test_losses_are_told_by_level_with_widths_and_as_a_frame(tmp_path):
    compared = compare_policies(firms(tmp_path, 2), parse_policies("suppress,redistribute", []))
    loss = compared.points[0].by_table["t"]
    assert sum(level.suppressed for level in loss.levels) == loss.suppressed > 0
    assert sum(level.cells for level in loss.levels) == loss.cells and loss.levels[0].level == (0, 0)
    assert loss.width > 0 and compared.points[1].fault  # the table is no map
    frame = pa.table(compared)
    assert frame["policy"].to_pylist() == [point.name for point in compared.points]
    assert frame["suppressed"].to_pylist()[0] == loss.suppressed and frame["risk"].to_pylist()[0] == 0
    page = policy_page(compared, "Policies")
    for title in ("Security", "Robustness", "Flexibility", "Richness of information", "By level", "Cost"):
        assert f">{title}</h" in page


def test_maps_are_compared_hexagon_by_hexagon(tmp_path):
    x, y = simulate("piecewise", seed=1)
    rows = "".join(f"{a:.4f},{b:.4f}\n" for a, b in zip(x, y, strict=True))
    (tmp_path / "p.csv").write_text("x,y\n" + rows)
    table = {"name": "m", "by": ["hexagon"], "value": "count", "rules": [{"min_frequency": 3}]}
    table["protect"] = {"method": "redistribute"}
    job = Job.parse({"version": 1, "microdata": {"source": "p.csv"}, "tables": [table]}, folder=tmp_path)
    policies = parse_policies("redistribute,suppress,perturb", ["min_frequency n=3", "min_frequency n=2"])
    moved, weaker, left, less, *noise, everything, _ = compare_policies(job, policies).points
    assert moved.risk == left.risk == 0 and moved.by_table["m"].suppressed < left.by_table["m"].suppressed == left_out(
        x, y, job
    )
    assert weaker.risk > 0 and less.risk > 0 and less.utility > left.utility and everything.risk == 1
    assert all(point.fault for point in noise)
    with pytest.raises(cg.InputError, match="chosen cells are those of tables"):
        compare_policies(job, policies, cells=["m: 0"])


def left_out(x, y, job):
    """How many hexagons have one or two points, counted one by one."""
    from cellguard.methods.maps.files.job_points import read_map

    grid = read_map(job).tiles.grid
    places = list(zip(*(part.tolist() for part in grid.places(x.round(4), y.round(4))), strict=True))
    return sum(0 < places.count(place) < 3 for place in set(places))
