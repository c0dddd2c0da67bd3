"""Addresses of records: what a job may say, and that no password gets into a job, an error or a file."""

from __future__ import annotations

import pytest

from cellguard.errors import InputError, JobError, MissingExtra
from cellguard.job.jobfile import Job
from cellguard.microdata.engine_spark import origin_of
from cellguard.microdata.records import records

TABLES = [{"name": "t", "by": ["region"], "value": "x", "rules": [{"min_frequency": 3}]}]
SELECT = {"query": "select * from firms"}
SECRETS = [
    {"source": "postgresql://me:hush@db/firms", **SELECT},
    {"source": "postgres://me:hush@db:5433/firms", **SELECT},
    {"source": "postgresql://db/firms?user=me&password=hush", **SELECT},
    {"source": "postgresql://db/firms?sslpassword=hush", **SELECT},
    {"source": "spark:firms", "remote": "sc://host:15002/;token=hush"},
    {"source": "spark:firms", "remote": "sc://me:hush@host"},
    {"source": "postgresql://me:hush@[db/firms", **SELECT},
]


def job(**microdata):
    return Job.parse({"version": 1, "microdata": microdata, "tables": TABLES})


@pytest.mark.parametrize("said", SECRETS)
def test_a_password_in_a_job_is_refused_with_the_cure(said):
    with pytest.raises(JobError, match=r"PGPASSWORD|SPARK_REMOTE") as fault:
        job(**said)
    assert "hush" not in str(fault.value)
    with pytest.raises(InputError) as fault:
        records(said["source"], by=["region"], query=said.get("query"), remote=said.get("remote"))
    assert "hush" not in str(fault.value)


@pytest.mark.parametrize(
    ("said", "cure"),
    [
        ({"source": "postgresql://db/firms"}, "a database needs a `query`"),
        ({"source": "postgresql://db/firms", "remote": "sc://h", **SELECT}, "goes with a source `spark:TABLE`"),
        ({"source": "firms.csv", "remote": "sc://h"}, "goes with a source `spark:TABLE`"),
        ({"source": "spark:firms", "remote": "http://h"}, "as sc://host:15002"),
        ({"source": "spark:firms", **SELECT}, "make a view"),
        ({"source": "spark:"}, "name a table"),
        ({"source": "spark:parquet:firms"}, "give the whole path"),
        ({"source": "spark:firms", "rda": "firms.rda"}, "describes a text file"),
    ],
)
def test_addresses_that_mean_nothing_are_refused(said, cure):
    with pytest.raises(JobError) as fault:
        job(**said)
    assert cure in str(fault.value)


def test_names_of_tables_are_quoted():
    assert origin_of("spark:a.`b-c`.d") == "`a`.`b-c`.`d`"
    assert origin_of("spark:parquet:s3://bucket/`x`") == "parquet.`s3://bucket/``x```"
    for wrong in ("spark:a b", "spark:a..b", "spark:firms; drop table firms", "spark:`a"):
        with pytest.raises(InputError, match="no name of a table"):
            origin_of(wrong)


@pytest.mark.parametrize("missing", ["adbc_driver_postgresql.dbapi", "pyspark.sql"])
def test_an_extra_that_is_not_installed(monkeypatch, missing):
    monkeypatch.setitem(__import__("sys").modules, missing, None)
    said = ("spark:firms", None) if "spark" in missing else ("postgresql://db/firms", "select 1")
    with pytest.raises(MissingExtra, match=r"pip install 'cellguard\[(spark|postgres)\]'"):
        records(said[0], by=["region"], query=said[1])
