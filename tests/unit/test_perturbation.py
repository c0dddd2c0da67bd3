"""The pipeline of a job whose tables are perturbed."""

import re

import numpy as np
import pytest

from cellguard.errors import InputError
from cellguard.files.jobfile import Job, TableSpec
from cellguard.files.respondents import noise_rule
from cellguard.job import audit_job, protect_job
from cellguard.perturbation import perturb_job, read_published, release_perturbed

RULES = [{"dominance": {"n": 3, "k": 70}}]


def table(name, by, value="turnover", **more):
    return {"name": name, "by": by, "value": value, "rules": RULES, "protect": {"method": "perturb"}, **more}


def job(folder, *tables, **more):
    start = {"version": 1, "microdata": {"source": "firms.csv", "respondent": "id"}, "perturb": {"seed": 7}}
    return Job.parse({**start, **more, "tables": list(tables)}, folder=folder)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(1)
    home, export = rng.integers(50, 150, 200), rng.integers(20, 60, 200)
    region, size = rng.choice(list("NSE"), 200), rng.choice(["s", "l"], 200)
    rows = [f"F{i:04},{region[i]},{size[i]},G{i // 2},{home[i]},{export[i]},{home[i] + export[i]}" for i in range(200)]
    (tmp_path / "firms.csv").write_text("\n".join(["id,region,size,group,home,export,turnover", *rows]) + "\n")
    return tmp_path


@pytest.mark.parametrize(
    ("tables", "more", "words"),
    [
        ([table("a", ["size"]), {"name": "b", "by": ["region"], "value": "turnover"}], {}, "conflict: table 'a'"),
        ([table("a", ["size"]), {"name": "b", "by": ["region"], "value": "home"}], {}, "put them into two jobs"),
        ([{"name": "b", "by": ["region"], "value": "home"}], {}, "no table says `protect: {method: perturb}`"),
        ([table("a", ["size"], zeros="known")], {}, "`zeros` does not go with perturbation"),
        ([table("a", ["size"])], {"known": "x.csv"}, "`known` is not looked at"),
        ([table("a", ["size"])], {"perturb": {"mo": 0.1}}, "unknown key 'mo'"),
        ([table("a", ["size"])], {"perturb": {"accept": ["size"]}}, "not of the form 'table: cell'"),
        ([table("a", ["size"]) | {"rules": [{"max_share": 50}]}], {}, "does not say how much noise"),
        ([table("a", ["size"])], {"equations": ["turnover = home + home2"]}, "home2"),
        ([table("a", ["size"])], {"equations": ["turnover = home - export"]}, "'turnover' is not home - export in"),
    ],
)
def test_refusals(folder, tables, more, words):
    with pytest.raises(InputError, match=re.escape(words)):
        perturb_job(job(folder, *tables, **more))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"dominance": {"n": 2, "k": 80}}, "n = 2, p = 25, q = 100"),
        ({"p_percent": 10}, "n = 2, p = 10, q = 100"),
        ({"p_percent": {"p": 10, "coalition": 2}}, "n = 3, p = 10, q = 100"),
        ({"prior_posterior": {"p": 10, "q": 50}}, "n = 2, p = 10, q = 50"),
    ],
)
def test_rules_say_how_much_noise_a_cell_needs(rule, words):
    spec = TableSpec.model_validate(table("t", ["r"]) | {"rules": [rule, {"min_frequency": 3}]})
    assert str(noise_rule(spec)) == words
    both = TableSpec.model_validate(table("t", ["r"]) | {"rules": [rule, {"p_percent": 5}]})
    with pytest.raises(InputError, match="one rule besides"):
        noise_rule(both)


def test_holdings_share_a_multiplier(folder):
    done = perturb_job(
        job(folder, table("t", ["region"]), microdata={"source": "firms.csv", "respondent": "id", "holding": "group"})
    )
    assert done.check.multipliers.records.units == 100
    assert done.saved.keys.tolist() == sorted(f"G{i}" for i in range(100))
    with pytest.raises(InputError, match="does not add up over cells"):
        perturb_job(job(folder, table("t", ["region"], "count"), microdata={"source": "firms.csv", "holding": "group"}))


def test_levels_that_are_not_published_are_not_in_the_release(folder, tmp_path):
    done = perturb_job(job(folder, table("t", ["region", "size"], publish={"region": [1]})))
    release_perturbed(done, tmp_path / "out")
    lines = (tmp_path / "out/release/t.csv").read_text().splitlines()
    assert len(lines) == 1 + 3 * 3
    assert not any(line.startswith("Total") for line in lines)


def test_min_frequency_says_which_cells_are_few(folder):
    tables = [table("t", ["region", "size"]) | {"rules": [*RULES, {"min_frequency": 50}]}]
    found = [f for f in perturb_job(job(folder, *tables)).check.findings if f.kind == "few"]
    assert "fewer than 50 contributors" in found[0].text


def test_other_pipelines_refuse_a_perturbed_job(folder):
    for pipeline in (protect_job, audit_job):
        with pytest.raises(InputError, match="perturbed, not suppressed"):
            pipeline(job(folder, table("t", ["region"])))
    plain = {"name": "t", "by": ["region"], "value": "turnover", "rules": RULES}
    with pytest.raises(InputError, match="method: suppress"):
        perturb_job(job(folder, plain, perturb=None))


def test_new_multipliers_are_always_checked(folder):
    with pytest.raises(InputError, match="always checked"):
        perturb_job(job(folder, table("t", ["region"])), checked=False)


def test_later_tables_need_the_same_definitions(folder, tmp_path):
    release_perturbed(perturb_job(job(folder, table("t", ["region"]))), tmp_path / "out")
    later = job(folder, table("t", ["region"]), equations=["turnover = home + export"])
    with pytest.raises(InputError, match="`equations` are not those"):
        perturb_job(later, multipliers=tmp_path / "out/internal/multipliers.parquet")


def test_published_folders_must_be_readable(tmp_path):
    with pytest.raises(InputError, match="no output folder"):
        read_published(tmp_path)
    (tmp_path / "metadata.json").write_text("[]")
    with pytest.raises(InputError, match="cannot be read"):
        read_published(tmp_path)


def test_an_existing_folder_is_kept_unless_forced(folder, tmp_path):
    done = perturb_job(job(folder, table("t", ["region"])))
    release_perturbed(done, tmp_path / "out")
    with pytest.raises(InputError, match="exists already"):
        release_perturbed(done, tmp_path / "out")
    release_perturbed(done, tmp_path / "out", force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["firms.csv", "out"]
