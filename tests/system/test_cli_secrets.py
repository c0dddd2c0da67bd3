"""Jobs in which columns of values or of names are taken for something else by mistake: no message shows an entry."""

import contextlib
import sys

import pytest
import yaml

# All that commands load later must be loaded before a test runs, so that the first one is not slow.
from cellguard.faces.cli import main as command_line

VALUES = [48151, 62342, 10815, 16234, 54815, 16230, 73321, 90210, 31415, 27182, 14142, 17320]
NAMES = [f"Zorgvlied{letter}" for letter in "ABCDEFGHIJKL"]
SECRETS = [*map(str, VALUES), "Zorgvlied"]
DECIMALS = [v / 100 for v in VALUES]
CODES = "code,parent\nTotal,\nNorth,Total\nSouth,Total\n"
FIRMS = "name,region,x,y,note\n" + "".join(
    f"{name},{('North', 'South')[i % 2]},{x},{y},{name} {x}\n"
    for i, (name, x, y) in enumerate(zip(NAMES, VALUES, DECIMALS, strict=True))
)
N, S = sum(VALUES[::2]), sum(VALUES[1::2])
CELLS = f"region,x,n,top,name\nTotal,{N + S},12,{VALUES[6]},{NAMES[2]}\nNorth,{N},6,{VALUES[6]},{NAMES[0]}\n"
CELLS += f"South,{S},6,{VALUES[7]},{NAMES[1]}\n"
SECRETS += [str(N), str(S), str(N + S)]
FILES = {
    "firms.csv": FIRMS,
    "bare.csv": FIRMS.split("\n", 1)[1],
    "cells.csv": CELLS,
    "codes.csv": CODES,
    "levels.csv": "l\nNorth\nSouth\n",
    "renamed.csv": FIRMS.replace("name,region,x", "code,region,parent"),
    "small.csv": "region,emp,x\n" + "".join(f"North,{i % 9 + 1},{v}\n" for i, v in enumerate(VALUES)),
    "classes.csv": "code,parent\nTotal,\n" + "".join(f"{i},Total\n" for i in range(1, 6)),
    "said.csv": f"region,status\nNorth,{NAMES[0]}\n",
    "numbers.csv": f"region,lower\n{VALUES[0]},{VALUES[1]}\n",
    "strange.csv": f"{VALUES[0]},{VALUES[1]}\nNorth,5\n",
    "twins.csv": "region,x\n" + "".join(f"{name} ,5\n{name},6\n" for name in NAMES),
    "x.hrc": "\n".join(f"@{v}" for v in VALUES),
}
MICRO = {"source": "firms.csv"}
RULES = [{"min_frequency": 3}]


def records(by="region", value="x", micro=None, table=None, **more):
    spec = {"name": "t", "by": [by] if isinstance(by, str) else by, "value": value, "rules": RULES, **(table or {})}
    return {"version": 1, "microdata": {**MICRO, **(micro or {})}, "tables": [spec], **more}


def cells(by="region", value="x", roles=None, table=None, **more):
    spec = {"name": "t", "by": [by] if isinstance(by, str) else by, "value": value, "rules": RULES}
    spec["cells"] = {"source": "cells.csv", "count": "n", **(roles or {})}
    return {"version": 1, "tables": [spec | (table or {})], **more}


def dimension(name, **spec):
    return {"dimensions": {name: spec}}


JOBS = {}
for column in ("x", "y", "name", "note"):
    JOBS |= {
        f"records by {column}": records(column, value="count"),
        f"records by {column} and region": records([column, "region"], value="count"),
        f"{column} with parents": records(column, value="count", **dimension(column, parents="codes.csv")),
        f"{column} with levels": records(column, value="count", **dimension(column, levels="levels.csv")),
        f"{column} with digits": records(column, value="count", **dimension(column, digits=[1, 1])),
        f"{column} cut": records(column, value="count", **dimension(column, recode={"cut": ["foo"]})),
        f"{column} merged": records(column, value="count", **dimension(column, recode={"merge": {"a": ["b", "c"]}})),
        f"{column} twice grouped": records(
            column, value="count", **dimension(column, also=[{"name": "a", "parents": "codes.csv"}])
        ),
        f"{column} published": records(column, value="count", table={"publish": {column: [7]}}),
        f"value {column}": records(value=column),
        f"weight {column}": records(micro={"weight": column}),
        f"respondent {column}": records(micro={"respondent": column}),
        f"holding {column}": records(micro={"respondent": "region", "holding": column}),
        f"waiver {column}": records(micro={"waiver": column}),
        f"request {column}": records(micro={"request": column}),
        f"strata {column}": records(
            table={"protect": {"method": "perturb"}, "rules": [{"dominance": {"n": 3, "k": 70}}]},
            perturb={"strata": {"column": column, "mu": {"large": 0.2}}},
        ),
    }
for column in ("x", "n", "top"):
    JOBS |= {
        f"cells by {column}": cells(column, value="top"),
        f"cells by {column}, total a number": cells(column, value="top", **dimension(column, total=str(N + S))),
        f"cells by {column}, parents": cells(column, value="top", **dimension(column, parents="codes.csv")),
        f"cells by {column}, levels": cells(column, value="top", **dimension(column, levels="levels.csv")),
        f"cells by {column}, digits": cells(column, value="top", **dimension(column, digits=[1, 1], total=str(N + S))),
        f"cells of {column}": cells(value=column),
    }
    for role in ("count", "holdings", "status", "cost", "lower", "upper", "need_lower", "need_upper"):
        JOBS[f"{role} is {column}"] = cells(roles={role: column})
    JOBS[f"top is {column}"] = cells(roles={"top": [column]})
    JOBS[f"given is {column}"] = cells(table={"rules": [{"given": {"column": column}}]})
JOBS |= {
    "data as levels": records(**dimension("region", levels="firms.csv")),
    "data as parents": records(**dimension("region", parents="firms.csv")),
    "data as code and parent": records(**dimension("region", parents="renamed.csv")),
    "data as labels": records(**dimension("region", labels="firms.csv")),
    "data as hrc": records(**dimension("region", hrc="x.hrc")),
    "cells as levels": cells(**dimension("region", levels="cells.csv")),
    "data as apriori": records(table={"apriori": "firms.csv"}),
    "a name as status": records(table={"apriori": "said.csv"}),
    "a value as code of a statement": records(table={"apriori": "numbers.csv"}),
    "a statement without header": records(table={"apriori": "strange.csv"}),
    "data as hst": records(table={"apriori": "x.hst"}),
    "data as known": records(known="firms.csv"),
    "data as impossible": records(value="count", table={"impossible": "firms.csv"}),
    "no header": records(micro={"source": "bare.csv"}),
    "no header, cells": cells(roles={"source": "bare.csv"}),
    "a wrong delimiter": records(micro={"delimiter": ";"}),
    "a wrong decimal": records(value="y", micro={"decimal": ","}),
    "cells with a wrong decimal": cells(roles={"decimal": ","}),
    "few numbers, most of them codes": {
        **records("emp", micro={"source": "small.csv"}),
        **dimension("emp", parents="classes.csv"),
    },
    "names that look alike": records(micro={"source": "twins.csv"}),
    "wrong equations": records(
        table={"protect": {"method": "perturb"}, "rules": [{"dominance": {"n": 3, "k": 70}}]}, equations=["x = y"]
    ),
    "a wrong query": records(micro={"source": "firms.duckdb", "query": "select cast(name as int) as region from f"}),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    import duckdb

    folder = tmp_path_factory.mktemp("secrets")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "x.hst").write_text(FIRMS)
    with duckdb.connect(str(folder / "firms.duckdb")) as connection:
        connection.execute(f"CREATE TABLE f AS FROM read_csv('{folder / 'firms.csv'}')")
    return folder


@pytest.mark.parametrize("name", JOBS)
def test_no_message_shows_an_entry(home, monkeypatch, capsys, name):
    job = JOBS[name]
    (home / "job.yaml").write_text(yaml.safe_dump(job))
    monkeypatch.setattr(command_line, "listen", list)
    perturbed = job["tables"][0].get("protect", {}).get("method") == "perturb"
    # To protect begins as to assess does; some jobs go through both.
    both = ("assess", "protect") if list(JOBS).index(name) % 4 == 0 else ("protect",)
    for command in ("perturb",) if perturbed else both:
        where = [] if command == "assess" else ["--out", str(home / "out"), "--force"]
        monkeypatch.setattr(sys, "argv", ["cellguard", command, str(home / "job.yaml"), *where])
        with contextlib.suppress(SystemExit):
            command_line.main()
        said = capsys.readouterr()
        said = said.err + said.out.replace("name", "")
        assert "internal error" not in said
        for secret in SECRETS:
            assert secret not in said or secret in yaml.safe_dump(job), said


def test_most_of_these_jobs_are_refused(home, monkeypatch, capsys):
    """So that the test above tests something."""
    refused = 0
    for job in list(JOBS.values())[::7]:
        (home / "job.yaml").write_text(yaml.safe_dump(job))
        monkeypatch.setattr(command_line, "listen", list)
        monkeypatch.setattr(sys, "argv", ["cellguard", "assess", str(home / "job.yaml")])
        try:
            command_line.main()
        except SystemExit as ended:
            refused += ended.code == 2
    assert refused > len(JOBS) // 7 // 2
