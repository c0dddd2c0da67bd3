"""Jobs that use the multipliers of a source: its answers take part in their check, and they join its register."""

import pytest
import yaml
from click.testing import CliRunner

import cellguard as cg
from cellguard.errors import InputError, JobError, NotProtected
from cellguard.faces.cli.main import cli

from source_folders import RULES, make_two_groupings

SIZE = {"name": "size", "by": ["size"], "value": "x", "rules": RULES, "protect": {"method": "perturb"}}


@pytest.fixture
def home(tmp_path):
    return make_two_groupings(tmp_path)


def later(home, name, by, **settings):
    table = {"name": name, "by": [by], "value": "y", "rules": RULES, "protect": {"method": "perturb"}}
    job = {"version": 1, "microdata": {"source": "firms.csv", "respondent": "id"}, "tables": [SIZE, table], **settings}
    (home / f"{name}.yaml").write_text(yaml.safe_dump(job))
    words = ["perturb", home / f"{name}.yaml", "--out", home / name]
    words += ["--multipliers", home / "drawn/internal/multipliers.parquet"]
    return CliRunner().invoke(cli, [str(word) for word in words])


def test_a_job_after_an_answer_is_checked_with_it(home):
    assert cg.source(home).table(["z1"], value="y")
    done = later(home, "q2", "z2")
    assert isinstance(done.exception, NotProtected) and "too few are determined" in str(done.exception)
    assert not (home / "q2").exists()


def test_a_job_that_shows_what_an_answer_withheld_is_checked(home):
    source = cg.source(home)
    source.table(["z1"], value="y")
    assert "x" in source.table(["z2"], value="y").to_arrow()["flag"].to_pylist()
    done = later(home, "q2", "z2")
    assert isinstance(done.exception, NotProtected) and not (home / "q2").exists()


def test_a_job_before_an_answer_is_in_the_register(home):
    done = later(home, "q1", "z1")
    assert done.exit_code == 0, done.output
    answer = cg.source(home).table(["z2"], value="y")
    assert "x" in answer.to_arrow()["flag"].to_pylist()
    assert later(home, "q1b", "z1").exit_code == 0, "the same tables again cost nothing"


def test_a_table_that_the_source_does_not_know_is_refused(home):
    spec = yaml.safe_load((home / "source.yaml").read_text())
    (home / "source.yaml").write_text(yaml.safe_dump(spec | {"variables": ["size", "z1"]}))
    done = later(home, "q2", "z2")
    assert isinstance(done.exception, NotProtected) and "does not know the variable 'z2'" in str(done.exception)


def test_what_is_not_released_is_not_registered(home):
    assert later(home, "q1", "z1").exit_code == 0
    both = later(home, "q2", "z2", perturb={"published": ["q1"]})
    assert both.exit_code == 1 and "UNSAFE" in both.output
    assert cg.source(home).table(["z1"], value="y").repeated is not False


def publishing(home, *folders):
    """Say in the job of the source what is published already."""
    job = yaml.safe_load((home / "job.yaml").read_text())
    job["perturb"]["published"] = list(folders)
    (home / "job.yaml").write_text(yaml.safe_dump(job))


def published_elsewhere(home, name, by, **table):
    """Publish a table from the multipliers while nothing says that they belong to a source."""
    (home / "source.yaml").rename(home / "kept")
    if table:
        said = {"name": name, "by": [by], "value": "y", "rules": RULES, **table}
        job = {"version": 1, "microdata": {"source": "firms.csv", "respondent": "id"}, "tables": [said]}
        (home / f"{name}.yaml").write_text(yaml.safe_dump(job))
        done = CliRunner().invoke(cli, ["protect", str(home / f"{name}.yaml"), "--out", str(home / name)])
    else:
        done = later(home, name, by)
    assert done.exit_code == 0, done.output
    (home / "kept").rename(home / "source.yaml")


def test_what_the_job_of_a_source_names_as_published_takes_part(home):
    published_elsewhere(home, "q1", "z1")
    publishing(home, "q1")
    source = cg.source(home)
    assert source.table(["z1"], value="y").new_cells == 0
    assert "x" in source.table(["z2"], value="y").to_arrow()["flag"].to_pylist()
    source.close()
    publishing(home)
    with pytest.raises(InputError, match="belongs to other planned tables"):
        cg.source(home)


def test_published_tables_that_cannot_take_part_are_refused(home):
    published_elsewhere(home, "q1", "z1")
    published_elsewhere(home, "s1", "z1", protect={"method": "suppress"})
    publishing(home, "s1")
    with pytest.raises(JobError, match="is not perturbed"):
        cg.source(home)
    publishing(home, "q1")
    spec = yaml.safe_load((home / "source.yaml").read_text())
    (home / "source.yaml").write_text(yaml.safe_dump(spec | {"variables": ["size", "z2"]}))
    with pytest.raises(JobError, match="add it to `variables`"):
        cg.source(home)
    publishing(home, "nowhere")
    with pytest.raises(InputError, match="published"):
        cg.source(home)
