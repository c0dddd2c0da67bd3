"""A source of counts with noise by cell keys: one cell, one count; differences, refusals, and the service."""

import numpy as np
import pytest
import yaml

import cellguard as cg
from cellguard.errors import InputError, JobError
from cellguard.job.jobfile import Job
from cellguard.pipeline import run

from source_folders import make_keyed, make_suppressing


@pytest.fixture
def people(tmp_path):
    source = cg.source(make_keyed(tmp_path))
    yield source
    source.close()


def shown(answer):
    by = answer._answer.question.by
    table = answer.to_arrow().to_pydict()
    rows = zip(*(table[name] for name in by), table["value"], strict=True)
    return {frozenset((n, c) for n, c in zip(by, codes, strict=True) if c != "Total"): v for *codes, v in rows}


def test_a_cell_has_one_count_in_all_answers_and_in_the_job(people, tmp_path):
    both = shown(people.table(["branch", "size"]))
    assert people.table(["size", "branch"]).repeated
    filtered = shown(people.table(["branch"], where={"size": "small"}))
    for cell, count in filtered.items():
        assert both[cell | {("size", "small")}] == count
    assert people.table(["branch"], where={"size": "small"}).new_cells == 0
    done = run(Job.load(tmp_path / "job.yaml")).release["plan"]
    planned = dict(zip(done.codes[0].tolist(), done.value, strict=True))
    mine = people.table(["region"]).to_arrow().to_pydict()
    assert {c: str(v) for c, v in zip(mine["region"], mine["value"], strict=True)} == planned


def test_levels_filters_and_empty_cells(people):
    table = people.table(["branch", "legal", "size"], where={"region": ["N1"], "size": ["large"]}).to_arrow()
    assert set(table["size"].to_pylist()) == {"Total", "large"} and len(table) == 7 * 4 * 2
    with pytest.raises(InputError, match="did you mean 'region'"):
        people.table(["regoin"])
    with pytest.raises(InputError, match="no code 'huge'"):
        people.table(["branch"], where={"size": "huge"})
    with pytest.raises(InputError, match="ask for 'count'"):
        people.table(["branch"], value="turnover")


@pytest.mark.long
def test_a_difference_of_one_is_answered_only_if_it_hides(tmp_path):
    """One firm has a code of its own: all others less that one are asked for, beside all."""
    refused = 0
    for seed in range(5):
        home = tmp_path / str(seed)
        home.mkdir()
        make_keyed(home)
        lines = (home / "firms.csv").read_text().splitlines()
        lines[1] = ",".join([*lines[1].split(",")[:4], "rare", *lines[1].split(",")[5:]])
        (home / "firms.csv").write_text("\n".join(lines) + "\n")
        job = yaml.safe_load((home / "job.yaml").read_text())
        job["cell_key"] |= {"seed": seed, "limit": 0.2, "unproven": "refuse"}
        (home / "job.yaml").write_text(yaml.safe_dump(job))
        source = cg.source(home)
        answer = source.table(["legal"], levels={"legal": [0]}, where={"legal": ["ltd", "plc", "own"]})
        refused += not answer
        assert answer or "likelier than 20%" in answer.reason
        source.close()
    assert 0 < refused < 5, "it depends on the noise of both whether their difference hides the one"


def test_sums_in_circles_need_the_job_to_accept_estimates(tmp_path):
    source = cg.source(make_keyed(tmp_path, unproven="refuse"))
    assert source.table(["branch"])
    no = source.table(["branch", "legal"])
    assert not no and "circles" in no.reason and "branch" in [name for one in no.instead for name in one["by"]]
    source.close()


def test_a_register_of_other_keys_is_refused(tmp_path):
    home = make_keyed(tmp_path)
    source = cg.source(home)
    source.table(["branch"])
    source.close()
    job = yaml.safe_load((home / "job.yaml").read_text())
    job["cell_key"]["seed"] = 6
    (home / "job.yaml").write_text(yaml.safe_dump(job))
    with pytest.raises(InputError, match="belongs to other keys"):
        cg.source(home)
    del job["cell_key"]["seed"]
    (home / "job.yaml").write_text(yaml.safe_dump(job))
    with pytest.raises(JobError, match="record_keys"):
        cg.source(home)


def test_tables_that_tell_too_much_by_themselves_are_no_source(tmp_path):
    """They count as answered, so that asking for them would publish what `protect` does not release."""
    home = make_keyed(tmp_path)
    lines = (home / "firms.csv").read_text().splitlines()
    (home / "firms.csv").write_text("\n".join([*lines, "9990,N9,A,large,plc,7,7"]) + "\n")
    job = yaml.safe_load((home / "job.yaml").read_text())
    job["cell_key"]["limit"] = 0.05
    (home / "job.yaml").write_text(yaml.safe_dump(job))
    with pytest.raises(JobError, match="by themselves tell too much: a small count"):
        cg.source(home)


@pytest.mark.parametrize("make", [make_keyed, make_suppressing])
def test_every_method_is_served(tmp_path, make):
    testing = pytest.importorskip("starlette.testclient")
    from cellguard.faces.service.app import Service, create_app

    service = Service(make(tmp_path), open_to_all=True)
    client = testing.TestClient(create_app(service))
    said = client.get("/api/about").json()
    assert said["checked"] and said["not_checked"] and said["exposure"] == {} and said["rules"]
    first = client.get("/api/table?by=branch&value=count")
    assert first.json()["answered"] and first.json()["not_checked"] == said["not_checked"]
    assert client.get("/api/table?by=branch&value=count").headers["x-repeated"] == "true"
    assert client.get("/api/table?by=branch&value=count&format=csv").text.startswith("branch,value,flag")
    assert client.get("/sdmx/data/COUNT/._T._T._T").status_code == 200
    names = [variable["name"] for variable in said["variables"]]
    some = client.get(f"/sdmx/data/COUNT/{'.'.join('ltd+plc' if name == 'legal' else '_T' for name in names)}")
    assert some.status_code == 200, some.text
    assert {line.split(",")[3 + names.index("legal")] for line in some.text.splitlines()[1:]} == {"ltd", "plc"}
    assert client.get("/sdmx/structure/datastructure/CELLGUARD/COUNT/1.0.0").status_code == 200
    for bad in ("by=nope", "by=branch&value=x';--", "by=branch&where=size:../../etc", "by=branch&level=branch:44"):
        assert client.get(f"/api/table?{bad}").status_code == 422
    service.close()


def test_answers_are_noisy_and_close(people):
    frame = people.table(["branch", "legal"]).to_pandas()
    true = np.array([int(v) for v in frame["value"]])
    assert (true >= 0).all() and not ((true > 0) & (true < 3)).any(), "small counts are never published"
