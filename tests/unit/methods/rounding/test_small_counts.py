"""Small-count rounding: what is changed, how near sums stay, and which sets it does not suit."""

import itertools

import numpy as np
import pytest

import cellguard as cg
from cellguard.errors import JobError, NotProtected
from cellguard.job.jobfile import Job
from cellguard.methods.rounding.plan import Plan
from cellguard.methods.rounding.small_counts import inner_cells, round_small_counts
from cellguard.pipeline import run, verify
from cellguard.proofs.problem import listed_grains
from cellguard.run_context import UNWATCHED

from rounding_oracle import cells_of


def plan_of(inner, by, base):
    margins = list(itertools.product([False, True], repeat=len(by)))
    cells = cells_of(inner, margins)
    columns = {name: [key[d] for key in cells] for d, name in enumerate(by)}
    about = cg.About(is_count=True)
    linked = cg.link(cg.cells(columns | {"n": list(cells.values())}, by=by, value="n", about=about))
    nothing = np.zeros(len(linked), np.int64)
    bases = np.full(len(linked), base)
    return Plan("small_counts", linked, listed_grains(linked), bases, nothing, nothing > 0, nothing == 0)


def plans(many, seed=3):
    rng = np.random.default_rng(seed)
    for _ in range(many):
        sizes = rng.integers(2, 7, int(rng.integers(1, 4)))
        codes = itertools.product(*([f"{d}{i}" for i in range(n)] for d, n in enumerate(sizes)))
        inner = {c: int(rng.integers(0, 9)) for c in codes}
        yield plan_of(inner, [f"d{d}" for d in range(len(sizes))], int(rng.integers(2, 7)))


def test_only_small_inner_counts_change_and_everything_adds_up():
    for plan in plans(25):
        base, true = int(plan.base[0]), plan.value
        value = round_small_counts(plan, 5, UNWATCHED)
        inner = inner_cells(plan.tables).cells
        small = (true[inner] > 0) & (true[inner] < base)
        assert (value[inner][~small] == true[inner][~small]).all()
        assert np.isin(value[inner][small], [0, base]).all()
        assert not (plan.tables.relations @ value).any()
        assert (value == round_small_counts(plan, 5, UNWATCHED)).all()


def test_sums_stay_nearer_than_by_chance_and_near_the_best():
    ratios, best = [], []
    for plan in plans(20):
        base, made = int(plan.base[0]), inner_cells(plan.tables)
        true = plan.value[made.cells]
        small = np.flatnonzero((true > 0) & (true < base))
        sums = np.setdiff1d(np.arange(len(plan.value)), made.cells)

        def squares(value, sums=sums, plan=plan):
            return int(((value - plan.value)[sums] ** 2).sum())

        def drawn(up, true=true, small=small, base=base, made=made):
            inner = true.copy()
            inner[small] = np.where(up, base, 0)
            return made.spread(inner)

        ours = squares(round_small_counts(plan, 1, UNWATCHED))
        rng = np.random.default_rng(0)
        chance = np.mean([squares(drawn(rng.random(len(small)) < true[small] / base)) for _ in range(20)])
        ratios.append(ours / chance if chance else 0)
        if len(small) <= 10:
            least = min(squares(drawn(np.array(up))) for up in itertools.product([0, 1], repeat=len(small)))
            best.append((ours, least))
    assert np.mean(ratios) < 0.35
    assert len(best) >= 4 and sum(a for a, _ in best) <= 1.5 * sum(b for _, b in best)


def job(*tables, **more):
    people = {"r": list("NNNNNNNSSSWW"), "a": list("xxyxyyyxyyxx"), "s": list("fmfmfmfmfmfm")}
    data = {"version": 1, "microdata": {"source": "held"}, "tables": list(tables), **more}
    return Job.parse(data, held={"held": people})


def spec(name, by, **options):
    said = {"method": "round", "kind": "small_counts", "base": 3, **options}
    return {"name": name, "by": by, "value": "count", "rules": [{"min_frequency": 3}], "protect": said}


def test_linked_tables_are_sums_of_one(tmp_path):
    outcome = run(job(spec("all", ["r", "a"]), spec("margin", ["a"]), output={"formats": ["csv"]}))
    assert outcome.verdict.kind == "safe"
    assert "choice_of_counts" in [attack.key for attack in outcome.verdict.not_checked]
    cg.OutputFolder(tmp_path / "out").write(outcome)
    found = verify(tmp_path / "out")
    assert found.valid, found.checks
    assert '"additive": true' in (tmp_path / "out/release/metadata.json").read_text()
    path = tmp_path / "out/internal/all.csv"
    lines = path.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("N,y,"))
    assert ",4,4,4," in lines[at]
    path.write_text("\n".join([*lines[:at], lines[at].replace(",4,4,4,", ",4,3,4,"), *lines[at + 1 :]]) + "\n")
    assert "Rounding" in [check.name for check in verify(tmp_path / "out").checks if not check.passed]


def test_tables_without_common_inner_cells_are_refused():
    with pytest.raises(NotProtected, match="one table must span"):
        run(job(spec("one", ["r", "a"]), spec("two", ["r", "s"])))


@pytest.mark.parametrize("more", [{"keep": ["Total"]}, {"suppress_below": 2}, {"if_unsafe": "suppress"}])
def test_what_does_not_go_with_it_is_refused(more):
    with pytest.raises(JobError, match="leave `keep`"):
        job(spec("one", ["r"], **more))


def test_only_frequency_tables_have_small_counts():
    with pytest.raises(JobError, match="frequency tables"):
        job(spec("one", ["r"]) | {"value": "x"})
