"""Several releases about the same respondents: what somebody finds who has all of them."""

import csv
import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cellguard.errors import InputError, JobError
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import audit_folder, run, verify_inputs
from cellguard.verifier.verify import verify

from system.command import run as command

RECORDS = {"n1": [20], "n2": [25] * 4, "n3": [30] * 4, "s1": [55] * 4, "s2": [15] * 4}
REGION = "code,parent\nTotal,\nN,Total\nS,Total\nn1,N\nn2,N\nn3,N\ns1,S\ns2,S\n"
COAST = "code,parent\nTotal,\ncoast,Total\ninland,Total\nn1,coast\ns1,coast\nn2,inland\nn3,inland\ns2,inland\n"


@pytest.fixture
def home(tmp_path):
    rows = [(region, x) for region, values in RECORDS.items() for x in values]
    lines = [f"{i},{region},{x}" for i, (region, x) in enumerate(rows)]
    (tmp_path / "records.csv").write_text("\n".join(["id,region,x", *lines]))
    (tmp_path / "region.csv").write_text(REGION)
    (tmp_path / "coast.csv").write_text(COAST)
    return tmp_path


def make(home, *, said=(), tables=None, region="region.csv", **more):
    """A job by region; ``said`` are cells that must be published."""
    table = {"name": "t", "by": ["region"], "value": "x", "rules": [{"min_frequency": 3}]}
    if said:
        (home / "said.csv").write_text("\n".join(["region,status", *(f"{code},must_publish" for code in said)]))
        table["apriori"] = "said.csv"
    return Job.parse(
        {
            "version": 1,
            "microdata": {"source": "records.csv", "respondent": "id"},
            "dimensions": {"region": {"parents": region}},
            "tables": tables or [table],
            "output": {"formats": ["csv"]},
            **more,
        },
        folder=home,
    )


def write(home, name, job):
    OutputFolder(home / name).write(run(job))
    return home / name


def shown(folder, name="t"):
    with (folder / "release" / f"{name}.csv").open() as file:
        return {row["region"]: row["value"] for row in csv.DictReader(file)}


def test_two_safe_releases_that_are_not_safe_together(home):
    first = write(home, "first", make(home, said=["n2"]))
    second = write(home, "second", make(home, said=["n3"]))
    assert shown(first)["n3"] == "" and shown(second)["n2"] == ""
    assert command("audit", first).returncode == command("audit", second).returncode == 0
    done = command("audit", first, "--with", second)
    assert done.returncode == 1 and "t: n1: known exactly, 20" in done.stdout
    summary = json.loads(command("audit", first, "--with", second, "--json").stdout)
    assert summary["verdict"] == "unsafe" and summary["failing"][0]["cell"] == "t: n1"


def test_releases_that_agree_are_safe_together(home):
    first = write(home, "first", make(home, said=["n2"]))
    second = write(home, "second", make(home, said=["n2", "N"]))
    done = command("audit", first, "--with", second)
    assert done.returncode == 0 and "other earlier releases not checked" in done.stdout


def test_another_grouping_of_the_same_leaves(home):
    """coast = n1 + s1 and s1 gives n1 away, although no table has both groupings."""
    first = write(home, "first", make(home))
    assert shown(first)["s1"] == "220"
    second = write(home, "second", make(home, region="coast.csv", tables=[coarse()]))
    done = command("audit", first, "--with", second)
    assert done.returncode == 1 and "n1" in done.stdout


def coarse():
    return {
        "name": "c",
        "by": ["region"],
        "value": "x",
        "rules": [{"min_frequency": 3}],
        "publish": {"region": [0, 1]},
    }


def test_a_release_by_itself_may_disclose_too(home):
    first = write(home, "first", make(home, said=["n2"]))
    second = write(home, "second", make(home, said=["n3"]))
    alone = shutil.copytree(second / "release", home / "elsewhere" / "release")
    done = command("audit", first, "--with", alone.parent)
    assert done.returncode == 1 and "n1: known exactly, 20" in done.stdout
    assert command("audit", first, "--with", alone).returncode == 1
    same = shutil.copytree(first / "release", home / "copy" / "release")
    done = command("audit", first, "--with", same)
    assert done.returncode == 0 and "No suppressed cell is disclosed exactly" in done.stdout


def test_explain_says_since_when(home):
    write(home, "first", make(home, said=["n2"]))
    second = write(home, "second", make(home, previous=["first"], output={"formats": ["csv", "html"]}))
    assert "n2 is published, and was so before: earlier1.t." in command("explain", second, "n2", "--table", "t").stdout
    assert "of an earlier release" in (second / "internal/report.html").read_text()
    assert verify(second / "internal/certificate.json").valid


def test_releases_of_different_times_are_refused(home):
    first = write(home, "first", make(home))
    text = (home / "records.csv").read_text().replace("n2,25", "n2,26")
    (home / "records.csv").write_text(text)
    second = write(home, "second", make(home))
    done = command("audit", first, "--with", second)
    assert done.returncode == 2 and "different times" in done.stderr


def test_with_needs_a_folder(home):
    first = write(home, "first", make(home))
    done = command("audit", home / "records.csv", "--with", first)
    assert done.returncode == 2 and "`previous`" in done.stderr


def checked(folder, job):
    """A folder whose certificate, inputs and audit all agree."""
    assert verify(folder / "internal/certificate.json").valid
    assert [check for check in verify_inputs(folder / "internal", job) if not check.passed] == []
    assert audit_folder(folder).protected.audit.verdict == "safe"
    return folder


def test_what_was_published_stays_known(home):
    """By itself the job would hide n1 and n2, the cheapest; but n2 is public."""
    alone = write(home, "alone", make(home))
    assert {code for code, value in shown(alone).items() if not value} == {"n1", "n2"}
    write(home, "first", make(home, said=["n2"]))
    job = make(home, previous=["first"])
    second = checked(write(home, "second", job), job)
    assert {code for code, value in shown(second).items() if not value} == {"n1", "n3"}
    assert sorted(path.name for path in (second / "release").glob("*")) == ["metadata.json", "t.csv"]
    assert command("audit", second, "--with", home / "first").returncode == 0
    assert command("audit", alone, "--with", home / "first").returncode == 1
    summary = json.loads((second / "internal/summary.json").read_text())
    assert "first/release/t.csv" in summary["inputs"]


def test_another_grouping_of_what_was_published(home):
    """The coast is n1 and s1, and s1 is public."""
    write(home, "first", make(home))
    alone = run(make(home, region="coast.csv", tables=[coarse()]))
    assert alone.release["c"].hidden == 0
    job = make(home, region="coast.csv", tables=[coarse()], previous=[{"folder": "first"}])
    second = checked(write(home, "second", job), job)
    assert {code for code, value in shown(second, "c").items() if not value} == {"coast", "inland"}
    assert command("audit", second, "--with", home / "first").returncode == 0


def test_an_unsafe_cell_that_is_public_cannot_be_protected(home):
    write(home, "first", make(home))
    strict = {**make(home).tables[0].model_dump(), "rules": [{"min_frequency": 5}]}
    with pytest.raises(InputError, match=r"public already: 'earlier1.t'.* say `waived`"):
        run(make(home, tables=[strict], previous=["first"]))
    waived = "region,status\nn3,waived\ns1,waived\ns2,waived\n"
    (home / "waived.csv").write_text(waived)
    # Whoever is alone in n1 knows n2 by the first release, whatever the second one hides.
    job = make(home, tables=[{**strict, "apriori": "waived.csv"}], previous=["first"], attack={"insiders": False})
    checked(write(home, "second", job), job)


def test_unsafe_cells_of_the_earlier_release_stay_protected(home):
    """The new job calls nothing unsafe, but n2 = N - n3 - n1 must stay unknown."""
    write(home, "first", make(home))
    seldom = {"all": [{"min_frequency": 3}, {"linear": {"weights": [-1.0], "rest": 1.0}}]}  # of two, one has more
    loose = {**make(home).tables[0].model_dump(), "rules": [seldom]}
    alone = run(make(home, tables=[loose]))
    assert alone.release["t"].hidden == 0
    job = make(home, tables=[loose], previous=["first"])
    second = checked(write(home, "second", job), job)
    assert {code for code, value in shown(second).items() if not value} == {"n1", "n2"}


def test_a_difference_with_an_earlier_population(home):
    rows = [("N", "a"), ("N", "a"), ("N", "a"), ("N", "b"), *[("S", "a")] * 3, *[("S", "b")] * 3]
    lines = [f"{i},{region},{status},{10 + i}" for i, (region, status) in enumerate(rows)]
    (home / "records.csv").write_text("\n".join(["id,region,status,x", *lines]))
    (home / "region.csv").write_text("code,parent\nTotal,\nN,Total\nS,Total\n")
    write(home, "first", make(home))
    some = {**make(home).tables[0].model_dump(), "name": "some", "where": {"status": ["a"]}}
    alone = run(make(home, tables=[some]))
    assert alone.release["some"].hidden == 0
    job = make(home, tables=[some], previous=["first"])
    second = checked(write(home, "second", job), job)
    assert {code for code, value in shown(second, "some").items() if not value} == {"N", "S"}
    assert "differences" not in json.loads((second / "internal/summary.json").read_text())["not_checked"]


def test_the_pattern_of_another_time_is_kept(home):
    """n3 was hidden last year; now n2 would be a little cheaper."""
    write(home, "first", make(home, said=["n2"]))
    text = (home / "records.csv").read_text().replace("n2,25", "n2,26")
    (home / "records.csv").write_text(text)
    assert {r for r, v in shown(write(home, "free", make(home))).items() if not v} == {"n1", "n2"}
    job = make(home, previous=[{"folder": "first", "period": "other"}])
    second = checked(write(home, "second", job), job)
    assert {r for r, v in shown(second).items() if not v} == {"n1", "n3"}
    summary = json.loads((second / "internal/summary.json").read_text())
    assert "other_times" in summary["not_checked"] and "similar values of other times" in summary["caveat"]
    dear = make(home, previous=[{"folder": "first", "period": "other", "change_cost": 1}])
    assert {r for r, v in shown(write(home, "third", dear)).items() if not v} == {"n1", "n2"}


def test_other_values_are_of_another_time(home):
    write(home, "first", make(home))
    text = (home / "records.csv").read_text().replace("n2,25", "n2,26")
    (home / "records.csv").write_text(text)
    with pytest.raises(InputError, match="say `period: other` of it"):
        run(make(home, previous=["first"]))


def test_a_third_release_knows_both(home):
    write(home, "first", make(home, said=["n2"]))
    write(home, "second", make(home, previous=["first"]))
    job = make(home, region="coast.csv", tables=[coarse()], previous=["second"])
    third = checked(write(home, "third", job), job)
    assert command("audit", third, "--with", home / "first", "--with", home / "second").returncode == 0


def test_one_column_has_one_name_in_all_releases(home):
    write(home, "first", make(home))
    place = {**make(home).tables[0].model_dump(), "by": ["place"]}
    dimensions = {"place": {"column": "region", "parents": "region.csv"}}
    with pytest.raises(JobError, match="is the dimension 'place' here and 'region' in 'first'"):
        run(make(home, tables=[place], previous=["first"], dimensions=dimensions))


def test_the_verifier_does_not_forget_what_is_public(home):
    write(home, "first", make(home, said=["n2"]))
    second = write(home, "second", make(home, previous=["first"]))
    path = second / "internal/earlier1.t.csv"
    lines = path.read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("n2,"))
    lines[place] = lines[place].replace("published", "unpublished")
    path.write_text("\n".join([*lines, ""]))
    words = [check.detail for check in verify(second / "internal/certificate.json").checks if not check.passed]
    assert any("earlier1.t.csv" in text for text in words)
    facts = second / "internal/facts/earlier1.t.parquet"
    table = pq.read_table(facts)
    state = [None if text == "must_publish" else text for text in table["state"].to_pylist()]
    pq.write_table(table.set_column(table.schema.names.index("state"), "state", pa.array(state)), facts)
    words = [check.detail for check in verify(second / "internal/certificate.json").checks if not check.passed]
    assert any("is not what the earlier release made of it" in text for text in words)


def test_a_folder_without_its_internal_half_is_refused(home):
    first = write(home, "first", make(home))
    (first / "internal/certificate.json").unlink()
    with pytest.raises(InputError, match="no output folder"):
        run(make(home, previous=["first"]))
