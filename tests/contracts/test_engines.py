"""The contract of engines: the same tables, facts and errors, whoever holds the records.

DuckDB on the frame itself is what the others are held against. What a database adds to an error, the query that shows
the records at fault, is run, and must show as many as the error says.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cellguard.errors import InputError
from cellguard.hierarchy.build import flat
from cellguard.microdata.checked import check_codes, check_records
from cellguard.microdata.grouped import COUNT
from cellguard.microdata.query import group_records, read_units
from cellguard.microdata.records import records
from cellguard.microdata.roles import Missing, Roles
from cellguard.microdata.sources import open_records
from cellguard.table.fact import Count, Records, Requested, Signs, Top, Unwaived
from cellguard.table.tabulate import Wanted, make_tables

from record_servers import free_port, need_spark, postgres_server, spark_server
from system.command import run, run_process

FACTS = (Count(), Records(), Top(3), Signs(), Unwaived(1), Requested())
ALL = {"by": ["region", "size"], "values": ["x", "y"]}
ROLES = {"weight": "w", "respondent": "id", "holding": "g", "waiver": "waived", "request": "asked"}


@pytest.fixture(scope="module", params=["postgres", pytest.param("spark", marks=pytest.mark.long)])
def engine(request):
    with postgres_server() if request.param == "postgres" else spark_server() as server:
        yield server


@pytest.fixture(scope="module")
def postgres():
    with postgres_server() as server:
        yield server


def drawn(seed: int, rows: int = 300) -> dict[str, list[object]]:
    """Return records with all that columns of a database may hold: text in any letters, gaps, numbers of all kinds."""
    rng = np.random.default_rng(seed)
    holding = rng.integers(0, rows // 3, rows)
    return {
        "region": rng.choice(["N", "S", "Ö'st", "ab\\c", "Z z"], rows).tolist(),
        "size": rng.integers(1, 4, rows).tolist(),
        "x": np.round(rng.lognormal(3, 2, rows) * rng.choice([1, -1], rows, p=[0.9, 0.1]), 2).tolist(),
        "y": rng.integers(0, 10**6, rows).tolist(),
        "w": np.round(rng.uniform(0, 5, rows), 1).tolist(),
        "id": list(range(rows)),
        "g": [f"g{n}" if seed % 2 else str(n) for n in holding],
        "waived": (rng.random(rows) < 0.3).tolist(),
        "asked": rng.choice(["yes", "no", "1", ""], rows).tolist(),
    }


def told(grouped):
    """Return everything that grouped records say, as plain values."""
    columns = [*grouped.codes, grouped.holding, grouped.records, grouped.waived, grouped.requested]
    sums = [*grouped.total.values(), *grouped.weighted.values()]
    notes = [note.partition(": ")[2] for note in grouped.notes]
    return grouped.labels, [column.tolist() for column in columns], [column.tolist() for column in sums], notes


def facts_of(grouped, value, facts=FACTS):
    by = {name: flat(grouped.labels[i]) for i, name in enumerate(grouped.columns)}
    table = make_tables(grouped, [Wanted(by, value, facts=facts)])[0]
    return {fact: np.nan_to_num(column, nan=-1.0).tolist() for fact, column in table.facts.items()}


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_records_tables_and_facts(engine, seed):
    rows = drawn(seed)
    put = engine.put(pa.table(rows))
    here, there = records(rows, **ALL, **ROLES), records(**put, **ALL, **ROLES)
    assert told(there) == told(here)
    for value in ("x", COUNT):
        assert facts_of(there, value) == facts_of(here, value)


def test_numbers_written_as_text_and_gaps(engine):
    rows = drawn(3, 60)
    rows["x"] = [["12.5", " 7 ", "", "na", "1e3", "-.5", "+3."][i % 7] for i in range(60)]
    rows["region"] = [None if i % 9 == 0 else code for i, code in enumerate(rows["region"])]
    rows["g"] = [" " if i % 11 == 0 else g for i, g in enumerate(rows["g"])]
    rows["z"] = [float("nan") if i % 8 == 0 else i / 4 for i in range(60)]
    missing = Missing(value="zero", code="category", holding="own")
    put = engine.put(pa.table(rows))
    assert told(records(**put, **ALL, **ROLES, missing=missing)) == told(records(rows, **ALL, **ROLES, missing=missing))
    dropping = {"by": ["region"], "values": ["x", "z"], "missing": Missing(value="drop", code="drop")}
    here, there = records(rows, **dropping), records(**put, **dropping)
    # Without a holding each record is its own, and those of a database are in no order.
    assert facts_of(there, "x", FACTS[:4]) == facts_of(here, "x", FACTS[:4])


def test_decimal_commas_large_numbers_and_many_decimals(engine):
    rows = {"r": ["a", "a", "b", "b"], "x": ["1,5", "2,25", "3", "0,125"], "g": ["2", "10", "10", "3"]}
    rows |= {"big": [2**52 + 1, 1, 2, 3], "fine": [0.0000005, 1.23456789, 2.5, 1e-7], "far": [1e17, 0.1, 3.3, 1e-3]}
    put = engine.put(pa.table(rows))
    for value in ("x", "big", "fine"):
        wanted = {"by": ["r"], "values": [value], "holding": "g"}
        assert told(records(**put, **wanted)) == told(records(rows, **wanted))
    for data in (rows, put):
        with pytest.raises(InputError, match="add up to more than can be exact"):
            records(**(data if "data" in data else {"data": data}), by=["r"], values=["far"], holding="g")


def test_a_hierarchy_of_columns_and_the_records_themselves(engine):
    from cellguard.microdata.nesting import nested_hierarchy

    rows = {"a": ["A", "A", "B"], "b": ["a1", "a2", "b1"], "x": [1, 2, 3], "id": [7, 8, 9]}
    opened = [open_records(rows), open_records(**engine.put(pa.table(rows)))]
    here, there = (nested_hierarchy(each, ["a", "b"]) for each in opened)
    assert (here.codes, here.parent.tolist()) == (there.codes, there.parent.tolist())
    one, other = (read_units(check_records(each, Roles(("b",), ("x",), respondent="id"))) for each in opened)
    assert one.values["x"].tolist() == other.values["x"].tolist() and one.respondent.tolist() == [0, 1, 2]


FAULTS = {
    "a gap": {"x": [1.0, None, None, 4.0]},
    "no number": {"x": ["1", "2", "three", "4"]},
    "infinite": {"x": [1.0, float("inf"), 2.0, 3.0]},
    "no code": {"region": ["N", " ", None, "S"]},
    "a weight below 0": {"w": [1.0, -1.0, 1.0, 1.0]},
    "no weight": {"w": [1.0, float("nan"), 1.0, 1.0]},
    "no holding": {"g": ["a", "", "b", "c"]},
    "no yes or no": {"waived": ["yes", "perhaps", "no", "no"]},
    "two faults": {"x": [1.0, None, 2.0, 3.0], "g": ["a", "", "", "c"]},
    "too large": {"x": [2**60, 1, 2, 3]},
    "text and decimals": {"g": [1.5, 2.5, 3.5, 4.5]},
    "no numbers at all": {"x": [True, False, True, False]},
}
GOOD = {
    "region": ["N", "S", "N", "S"],
    "x": [1.0, 2.0, 3.0, 4.0],
    "w": [1.0, 1.0, 1.0, 1.0],
    "id": [1, 2, 3, 4],
    "g": ["a", "a", "b", "c"],
    "waived": ["yes", "no", "no", "no"],
}
QUERY = re.compile(r"; see (?:them|its entries) with: (.*)")


def refused(**data):
    with pytest.raises(InputError) as fault:
        records(**data, by=["region"], values=["x"], weight="w", respondent="id", holding="g", waiver="waived")
    return str(fault.value)


def core(message: str) -> list[str]:
    """Return the lines of an error without their places and queries."""
    lines = [QUERY.sub("", line) for line in message.splitlines()]
    return [re.sub(r"^.*?(?=,? column|: )", "", line).lstrip(", :") for line in lines]


def same_faults(engine, rows):
    """Check that the errors about some records are the same, and that each query shows the records at fault."""
    here, there = refused(data=rows), refused(**engine.put(pa.table(rows)))
    assert core(there) == core(here)
    lines = [line for line in there.splitlines() if "holds" not in line]
    for line in lines:
        query, said = QUERY.search(line), re.search(r"\((\d+) rows have this fault\)", line)
        assert len(engine.ask(query[1])) == (int(said[1]) if said else 1)
    return len(lines)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_same_faults_and_a_query_that_shows_them(postgres, fault):
    same_faults(postgres, {**GOOD, **FAULTS[fault]})


def test_all_faults_at_once(engine):
    chosen = ("no number", "no code", "no holding", "no yes or no")
    weights = {"w": [float("nan"), -1.0, float("inf"), None]}
    rows = {name: column for fault in chosen for name, column in FAULTS[fault].items()}
    assert same_faults(engine, {**GOOD, **rows, **weights}) == 7


def test_a_respondent_in_two_holdings(engine):
    rows = {**GOOD, "id": [1, 1, 2, 2], "g": ["a", "b", "c", "c"]}
    there = refused(**engine.put(pa.table(rows)))
    assert "a respondent has one holding" in refused(data=rows) and "a respondent has one holding" in there
    assert len(engine.ask(QUERY.search(there)[1])) == 1


def test_unknown_codes_are_told_as_ever(engine):
    rows = {"region": ["North", "Nord", "South", "Nord"], "x": [1, 2, 3, 4]}
    put, roles = engine.put(pa.table(rows)), Roles(("region",), ("x",))
    messages = []
    for opened in (open_records(rows), open_records(**put)):
        with pytest.raises(InputError) as fault:
            check_codes(check_records(opened, roles), "region", "region", flat(["North", "South"]))
        messages.append(str(fault.value))
    assert core(messages[0]) == core(messages[1])
    assert len(engine.ask(QUERY.search(messages[1])[1])) == 2


def test_entries_that_may_be_values_are_not_shown(engine):
    rows = {"region": [str(17_000 + 13 * i) for i in range(40)], "x": list(range(40))}
    checked = check_records(open_records(**engine.put(pa.table(rows))), Roles(("region",), ("x",)))
    with pytest.raises(InputError) as fault:
        check_codes(checked, "region", "region", flat(["North", "South"]))
    assert "17" not in re.sub(r"t\d+|:\d+|tmp\S+", "", str(fault.value))
    assert len(engine.ask(QUERY.search(str(fault.value))[1])) == 40


def test_a_wrong_column_and_no_rows(engine):
    put = engine.put(pa.table(GOOD))
    with pytest.raises(InputError, match="no column 'regoin'; did you mean 'region'"):
        records(**put, by=["regoin"])
    empty = engine.put(pa.table(GOOD).slice(0, 0))
    with pytest.raises(InputError, match="there are no rows"):
        records(**empty, by=["region"])


def test_records_that_change_between_check_and_grouping(engine):
    put = engine.put(pa.table(GOOD))
    checked = check_records(open_records(**put), Roles(("region",), ("x",), holding="g"))
    before = told(group_records(checked))
    if "query" in put:  # one state of the database, whatever others do
        engine.ask(f"insert into {put['query'].split()[-1]} (region, x, g) values ('N', 5, 'd')")
        assert told(group_records(checked)) == before
        return
    engine.tables -= 1
    engine.put(pa.table(GOOD).slice(1))
    with pytest.raises(InputError, match=r"changed while they were read|was lost|Spark fails"):
        group_records(checked)


def test_a_wrong_table(engine):
    if hasattr(engine, "remote"):
        wrong = {"data": "spark:nowhere.firms", "remote": engine.remote}
    else:
        wrong = {"data": engine.address, "query": "select * from nowhere"}
    with pytest.raises(InputError, match="nowhere") as fault:
        records(**wrong, by=["region"])
    assert len(str(fault.value).splitlines()) == 1


def test_nobody_listens():
    with pytest.raises(InputError, match=r"^postgresql://127.0.0.1:\d+/db: no connection: .*refused"):
        pytest.importorskip("adbc_driver_postgresql")
        records(f"postgresql://me@127.0.0.1:{free_port()}/db", by=["region"], query="select 1")


@pytest.mark.long
def test_no_cluster_listens():
    pytest.importorskip("pyspark")
    with pytest.raises(InputError, match=r"no Spark Connect server at 127\.0\.0\.1"):
        records("spark:firms", by=["region"], remote=f"sc://127.0.0.1:{free_port()}")


def test_a_connection_that_is_lost_in_the_middle(postgres):
    put = postgres.put(pa.table(GOOD))
    checked = check_records(open_records(**put), Roles(("region",), ("x",), holding="g"))
    postgres.ask("select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()")
    with pytest.raises(InputError, match="the connection to the database was lost; run again"):
        group_records(checked)


def test_a_database_is_only_read(postgres):
    put = postgres.put(pa.table(GOOD))
    deleting = "delete from t1 returning *"
    for query in (deleting, f"with d as ({deleting}) select * from d", "select 1; commit"):
        with pytest.raises(InputError, match="the query fails"):
            records(put["data"], by=["region"], query=query)


def write_job(folder, source, **more):
    """Write the job of a small table of some records."""
    table = {"name": "t", "by": ["region"], "value": "x", "rules": [{"min_frequency": 2}]}
    microdata = {"source": source, "holding": "g", **more}
    (folder / "job.json").write_text(json.dumps({"version": 1, "microdata": microdata, "tables": [table]}))


def assessed(folder, source, *, command=run, **more):
    """Return what the rules find in the job of some records."""
    write_job(folder, source, **more)
    done = command("assess", "job.json", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["tables"]


def told_and_nothing_written(folder, *, command=run):
    """Return the one line that a job fails with, which leaves nothing behind."""
    before = sorted(path.name for path in folder.iterdir())
    done = command("protect", "job.json", "--out", "out", cwd=folder)
    assert done.returncode == 2 and sorted(path.name for path in folder.iterdir()) == before, done.stderr
    lines = [line for line in done.stderr.splitlines() if not re.match(r"\d+ s: |$", line)]  # of progress
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_a_job_from_a_database_is_that_from_a_file(postgres, tmp_path):
    rows = pa.table(GOOD)
    put = postgres.put(rows)
    pq.write_table(rows, tmp_path / "firms.parquet")
    assert assessed(tmp_path, put["data"], query=put["query"]) == assessed(tmp_path, "firms.parquet")


@pytest.mark.long
def test_a_job_from_a_session_on_this_machine_is_that_from_a_file(tmp_path, monkeypatch):
    need_spark()
    for name in ("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE"):  # which sessions on a cluster leave behind
        monkeypatch.delenv(name, raising=False)
    pq.write_table(pa.table(GOOD), tmp_path / "firms.parquet")
    there = assessed(tmp_path, f"spark:parquet:{tmp_path}/firms.parquet", command=run_process)
    assert there == assessed(tmp_path, "firms.parquet")


@pytest.mark.long
def test_no_java(tmp_path, monkeypatch):
    pytest.importorskip("pyspark")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    write_job(tmp_path, "spark:firms")
    assert "spark:firms: Spark needs Java 17 or newer, and there is none: install it" in told_and_nothing_written(
        tmp_path
    )


@pytest.mark.parametrize(
    ("x", "table", "said"),
    [
        ("x", "nowhere", "the query fails: relation .* does not exist"),
        ("1 / (id - 3)", "t1", "the query fails on an entry that it cannot read"),
        ("x * pg_terminate_backend(pg_backend_pid())::int", "t1", "the connection to the database was lost; run again"),
    ],
)
def test_nothing_is_written_where_a_query_fails(postgres, tmp_path, x, table, said):
    postgres.put(pa.table(GOOD))
    write_job(tmp_path, postgres.address, query=f"select region, {x} as x, g from {table}")
    assert re.search(said, told_and_nothing_written(tmp_path))


@pytest.mark.long
@pytest.mark.parametrize("engine", ["spark"], indirect=True)
def test_a_cluster_that_is_lost_in_the_middle(engine, tmp_path):
    """It must be the last: it is the server of the others."""
    path = engine.put(pa.table(GOOD))["data"].removeprefix("spark:parquet:")
    dies = "CASE WHEN id = 3 AND reflect('java.lang.System', 'exit', 3) IS NULL THEN 0 ELSE x END"
    engine.ask(f"CREATE VIEW firms AS SELECT region, g, {dies} AS x FROM parquet.`{path}`")
    write_job(tmp_path, "spark:firms", remote=engine.remote)
    line = told_and_nothing_written(tmp_path, command=run_process)
    assert line == "cellguard: spark:firms: the connection to Spark was lost; run again"
