"""`hide: small`: of an unsafe count nobody can tell that it is small; by default nobody can tell it exactly."""

import itertools
import json

import numpy as np
import pytest
import yaml

import cellguard as cg
from cellguard.errors import InputError, JobError, NotProtected
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job, job_schema
from cellguard.pipeline import run
from cellguard.verifier.verify import verify
from unit.verifier.folders import seal, write_job

SMALL = cg.MinFrequency(3, hide="small")


def cube(inner):
    """A frequency table with all its totals, and the leaves of each cell as positions in the flat inner table."""
    axes = [["Total", *(f"{'abc'[d]}{i}" for i in range(size))] for d, size in enumerate(inner.shape)]
    names, counts, leaves = [], [], []
    for at in itertools.product(*(range(len(axis)) for axis in axes)):
        part = tuple(slice(None) if i == 0 else slice(i - 1, i) for i in at)
        names.append([axis[i] for axis, i in zip(axes, at, strict=True)])
        counts.append(int(inner[part].sum()))
        leaves.append(np.arange(inner.size).reshape(inner.shape)[part].ravel())
    data = {f"d{d}": column for d, column in enumerate(zip(*names, strict=True))}
    return cg.cells({**data, "n": counts}, by=list(data), value="n", count="n"), leaves


def worlds(inner, leaves, shown):
    """All inner tables of whole numbers from 0 up that give the published cells, one per row, by trying all of them."""
    most = np.full(inner.size, int(inner.sum()))
    for cell in np.flatnonzero(shown):
        most[leaves[cell]] = np.minimum(most[leaves[cell]], inner.ravel()[leaves[cell]].sum())
    found = []

    def fill(start, part):
        if start == inner.size:
            found.append(part)
            return
        for value in range(most[start] + 1):
            here = [*part, value]
            if all(
                (s := sum(here[i] for i in leaves[c] if i <= start)) <= inner.ravel()[leaves[c]].sum()
                and (leaves[c].max() > start or s == inner.ravel()[leaves[c]].sum())
                for c in np.flatnonzero(shown)
                if start in leaves[c]
            ):
                fill(start + 1, here)

    fill(0, [])
    return np.array(found)


def costs(table):
    """The counts, and so much for the total of all that it stays published: then every count has an end."""
    return np.concatenate([[1e6], np.maximum(table.value[1:], 1)])


def seen(needs, pattern, inner, leaves):
    """The least and the most of each cell over all worlds that fit what is published."""
    fitting = worlds(inner, leaves, ~pattern.hidden)
    values = np.stack([fitting[:, of].sum(axis=1) for of in leaves])
    return values.min(axis=1), values.max(axis=1)


@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 2, 2)])
@pytest.mark.parametrize("rule", [cg.MinFrequency(3), SMALL, cg.MinFrequency(2, inclusive=True, hide="small")])
def test_every_promise_by_brute_force(shape, rule):
    decided = 0
    for seed in range(12):
        inner = np.random.default_rng(seed).integers(0, 6, shape)
        table, leaves = cube(inner)
        needs = cg.require(cg.assess(table, [rule]))
        if not needs.primary.any():
            continue
        try:
            pattern = cg.suppress(needs, costs(table)).pattern
        except NotProtected:
            assert needs.unprotectable.any()
            continue
        least, most = seen(needs, pattern, inner, leaves)
        unsafe = needs.primary
        assert (least[unsafe] < most[unsafe]).all()
        if rule.hide == "small":
            assert (most[unsafe] >= 3).all()
        found = cg.audit(needs, pattern, intervals=True)
        assert found.verdict == "safe"
        assert np.array_equal(found.lower, least) and np.array_equal(found.upper, most)
        decided += 1
    assert decided >= 5


def test_the_default_lets_tell_that_a_count_is_small():
    inner = np.array([1, 1, 18])
    table, leaves = cube(inner)
    found = {}
    for rule in (cg.MinFrequency(3), SMALL):
        needs = cg.require(cg.assess(table, [rule]))
        pattern = cg.suppress(needs, costs(table)).pattern
        least, most = seen(needs, pattern, inner, leaves)
        found[rule.hide] = int(pattern.hidden.sum()), least[1], most[1]
    assert found == {"exact": (2, 0, 2), "small": (3, 0, 20)}


def test_the_upper_level_reaches_enough_and_the_lower_does_not_follow():
    table = cg.cells({"r": ["Total", "N", "S", "W"], "n": [20, 1, 2, 17]}, ["r"], value="n", count="n")
    needs = cg.require(cg.assess(table, [SMALL]))
    assert needs.upper.tolist() == [0, 2, 1, 0]
    assert needs.lower.tolist() == [0, 0, 0, 0] and needs.sliding.tolist() == [0, 1, 1, 0]
    more = cg.require(cg.assess(table, [cg.MinFrequency(3, inclusive=True, hide="small")]))
    assert more.upper.tolist() == [0, 3, 2, 0]
    plain = cg.require(cg.assess(table, [cg.MinFrequency(3)]))
    assert plain.upper.tolist() == [0] * 4 and plain.sliding.tolist() == [0, 1, 1, 0]


def test_records_beyond_enough_need_no_more_than_a_width():
    data = {"r": ["Total", "N", "S"], "n": [20, 5, 15], "firms": [9, 2, 7]}
    table = cg.cells(data, ["r"], value="n", count="firms", about=cg.About(is_count=True))
    assert cg.require(cg.assess(table, [SMALL])).upper.tolist() == [0, 0, 0]


@pytest.mark.parametrize("rule", [SMALL, cg.All((SMALL, cg.Given("m")))])
def test_sums_are_refused(rule):
    data = {"r": ["Total", "N", "S"], "x": [20, 5, 15], "n": [9, 2, 7], "m": ["yes"] * 3}
    table = cg.cells(data, ["r"], value="x", count="n", marks=["m"])
    with pytest.raises(InputError, match=r"table 'table': `hide: small` .* is for tables of counts.*leave it out"):
        cg.assess(table, [rule])


def test_an_unknown_word_is_refused():
    with pytest.raises(InputError, match="hide must be exact or small"):
        cg.MinFrequency(3, hide="all")


def job(folder, rule, **more):
    folder.mkdir(exist_ok=True)
    people = [1, 2, 7, 2, 1, 9, 8, 6, 9]
    rows = [f"{r},{s}" for (r, s), n in zip(itertools.product("NSW", "abc"), people, strict=True) for _ in range(n)]
    (folder / "r.csv").write_text("\n".join(["region,size", *rows]))
    table = {"name": "t", "by": ["region", "size"], "value": "count", "rules": [rule], **more}
    text = yaml.safe_dump({"version": 1, "microdata": {"source": "r.csv"}, "tables": [table]})
    (folder / "job.yaml").write_text(text)
    return Job.load(folder / "job.yaml")


def test_a_job_promises_it_and_verify_checks_it(tmp_path):
    OutputFolder(tmp_path / "out").write(run(job(tmp_path, {"min_frequency": {"n": 3, "hide": "small"}})))
    path = tmp_path / "out/internal/certificate.json"
    assert [c.detail for c in verify(path).checks if not c.passed] == []
    assert "hide: small" in (tmp_path / "out/internal/job.yaml").read_text()


def test_verify_refuses_a_claim_that_the_proof_does_not_reach(tmp_path):
    OutputFolder(tmp_path / "out").write(run(job(tmp_path, {"min_frequency": 3})))
    path = tmp_path / "out/internal/certificate.json"
    document = json.loads(path.read_text())
    document["tables"][0]["rules"][0]["min_frequency"]["hide"] = "small"
    path.write_text(json.dumps(document))
    stored = yaml.safe_load((tmp_path / "out/internal/job.yaml").read_text())
    stored["tables"][0]["rules"][0]["min_frequency"]["hide"] = "small"
    write_job(tmp_path / "out", stored)
    seal(tmp_path / "out")
    assert [c.number for c in verify(path).checks if not c.passed] == [5]


@pytest.mark.parametrize("hide", ["all", 3, True, ["small"]])
def test_a_job_with_another_word_is_refused(tmp_path, hide):
    with pytest.raises(JobError, match="min_frequency: hide must be exact or small"):
        job(tmp_path, {"min_frequency": {"n": 3, "hide": hide}})


def test_the_schema_knows_the_words():
    text = json.dumps(job_schema()["$defs"]["Rule"])
    assert '"hide": {"enum": ["exact", "small"]}' in text


def test_perturbation_refuses_it(tmp_path):
    rules = [{"dominance": {"n": 3, "k": 70}}, {"min_frequency": {"n": 3, "hide": "small"}}]
    perturbed = job(tmp_path, rules[1], rules=rules, protect={"method": "perturb"})
    with pytest.raises(JobError, match="table 't': `hide: small` is for suppressed tables"):
        run(perturbed)
