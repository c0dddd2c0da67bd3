"""One column is one dimension, one value column one response: jobs that call them twice are refused with the cure."""

import pytest
import yaml

from cellguard.errors import JobError
from cellguard.job.jobfile import Job
from cellguard.pipeline import assess_job, run

FIRMS = [("a", 20), *[("b", 5)] * 20, *[("c", 3)] * 20, *[("d", 9)] * 9]
RECORDS = "id,muni,x,y\n" + "".join(f"{i},{m},{v},{v + 1}\n" for i, (m, v) in enumerate(FIRMS))
ADMIN = "code,parent\nTotal,\nA,Total\nB,Total\na,A\nb,A\nc,B\nd,B\n"
TOUR = "code,parent\nTotal,\nP,Total\nQ,Total\na,P\nc,P\nb,Q\nd,Q\n"
CELLS = "muni,x,y,n\nTotal,12,20,9\nP,5,6,4\nQ,7,14,5\n"
RULES = [{"min_frequency": 3}]
LINKED = {"muni": {"parents": "adm.csv", "also": [{"name": "tour", "parents": "tour.csv"}]}}


def job(folder, tables, dimensions=None, **more):
    files = {"r.csv": RECORDS, "adm.csv": ADMIN, "tour.csv": TOUR, "c.csv": CELLS, "d.csv": CELLS}
    for name, text in files.items():
        (folder / name).write_text(text)
    tables = [{"name": name, "rules": RULES, **table} for name, table in tables.items()]
    records = {} if all("cells" in t for t in tables) else {"microdata": {"source": "r.csv", "respondent": "id"}}
    data = {"version": 1, **records, "dimensions": dimensions or {}, "tables": tables, **more}
    (folder / "job.yaml").write_text(yaml.safe_dump(data))
    return Job.load(folder / "job.yaml")


def made(by="muni", value="x", **more):
    return {"by": [by], "value": value, **more}


def ready(by="muni", value="x", source="c.csv", **more):
    return {"by": [by], "value": value, "cells": {"source": source, "count": "n"}, **more}


def refused(tmp_path, *parts, work=assess_job, **given):
    with pytest.raises(JobError) as caught:
        work(job(tmp_path, **given))
    for part in parts:
        assert part in str(caught.value)


ADMIN_DIM = {"column": "muni", "parents": "adm.csv"}
TOUR_DIM = {"column": "muni", "parents": "tour.csv"}


@pytest.mark.parametrize("table", [made, ready])
def test_two_groupings_of_one_column(tmp_path, table):
    refused(
        tmp_path,
        "'admin' and 'tourism' are the same column 'muni'",
        "`admin: {..., also: [{name: tourism, parents: tour.csv}]}`",
        tables={"one": table("admin"), "two": table("tourism")},
        dimensions={"admin": ADMIN_DIM, "tourism": TOUR_DIM},
    )


def test_two_groupings_in_one_table(tmp_path):
    tables = {"one": {"by": ["admin", "tourism"], "value": "x"}}
    refused(tmp_path, "same column 'muni'", tables=tables, dimensions={"admin": ADMIN_DIM, "tourism": TOUR_DIM})


@pytest.mark.parametrize("flat", ["m", "muni"])
@pytest.mark.parametrize("turned", [False, True])
def test_a_grouping_and_the_plain_column(tmp_path, flat, turned):
    tables = {"one": made("admin"), "two": made(flat)}
    dimensions = {"admin": ADMIN_DIM} | ({"m": {"column": "muni"}} if flat == "m" else {})
    if turned:
        tables = dict(reversed(tables.items()))
    refused(tmp_path, f"leave out '{flat}' and use 'admin'", tables=tables, dimensions=dimensions)


def test_one_column_name_in_two_files(tmp_path):
    refused(
        tmp_path,
        "make the second grouping an `also`",
        "rename it in one of them",
        tables={"one": ready("admin"), "two": ready("tourism", source="d.csv")},
        dimensions={"admin": ADMIN_DIM, "tourism": TOUR_DIM},
    )


def test_the_cure_for_two_groupings_works(tmp_path):
    tables = {"one": made(publish={"muni": [0, 1]}), "two": made()}
    found = run(job(tmp_path, tables, LINKED))
    assert found.protected.audit.verdict == "safe"


def test_unused_dimensions_do_not_matter(tmp_path):
    assess_job(job(tmp_path, {"one": made("admin")}, {"admin": ADMIN_DIM, "tourism": TOUR_DIM}))


@pytest.mark.parametrize("value", ["x", "count"])
def test_one_column_of_records_as_two_responses(tmp_path, value):
    tables = {"one": made(value=value, response="sold"), "two": made(value=value)}
    refused(tmp_path, f"`value: {value}`", f"'sold' and '{value}'", "the same `response`", tables=tables)


@pytest.mark.parametrize(("value", "response"), [("y", "x"), ("x", "count")])
def test_two_columns_of_records_as_one_response(tmp_path, value, response):
    tables = {"one": made(value=response), "two": made(value=value, response=response)}
    refused(tmp_path, "two value columns", f"response '{response}'", "each its own `response`", tables=tables)


def test_two_populations_of_the_same_records(tmp_path):
    tables = {"one": made(population="2024"), "two": made(value="y")}
    refused(tmp_path, "'2024' and 'all'", "leave `population` out", tables=tables)


def test_records_may_have_a_population_and_names(tmp_path):
    tables = {"one": made(population="2024", response="sold"), "two": made(population="2024", response="sold")}
    assess_job(job(tmp_path, tables))


@pytest.mark.parametrize("source", ["c.csv", "./c.csv"])
def test_one_column_of_a_file_as_two_responses(tmp_path, source):
    tables = {"one": ready(), "two": ready(source=source, response="sold")}
    refused(tmp_path, "the same column 'x' of", "'x' and 'sold'", tables=tables)


def test_a_column_of_counts_as_count_and_as_value(tmp_path):
    tables = {"one": ready(value="count"), "two": ready(value="n")}
    refused(tmp_path, "the same column 'n' of c.csv", "'count' and 'n'", tables=tables)


def test_one_column_of_a_file_for_two_populations(tmp_path):
    tables = {"one": ready(), "two": ready(population="2024")}
    refused(tmp_path, "the same column 'x' of c.csv", "'all' and '2024'", tables=tables)


def test_two_columns_of_a_file_as_one_response(tmp_path):
    tables = {"one": ready(), "two": ready(value="y", response="x")}
    refused(tmp_path, "two value columns", tables=tables)


def test_files_of_different_populations_and_names_are_fine(tmp_path):
    tables = {
        "one": ready(),
        "two": ready(source="d.csv", population="2024"),
        "three": ready(value="y", response="x", population="2023"),
    }
    assess_job(job(tmp_path, tables))


def test_perturbed_tables_too(tmp_path):
    more = {"rules": [{"dominance": {"n": 3, "k": 70}}], "protect": {"method": "perturb"}}
    tables = {"one": made("admin", **more), "two": made("tourism", **more)}
    given = {"tables": tables, "dimensions": {"admin": ADMIN_DIM, "tourism": TOUR_DIM}}
    refused(tmp_path, "an `also` of the first", work=run, **given)
