"""A small source in a folder, as tests ask it."""

import numpy as np
import yaml
from click.testing import CliRunner

from cellguard.faces.cli.main import cli

RULES = [{"p_percent": 15}]


def firms(n=400, seed=4):
    """Return firms with a hierarchy of regions, a branch, a size and a legal form, and two values."""
    random = np.random.default_rng(seed)
    region = random.choice(["N1", "N2", "S1", "S2", "S3"], n)
    branch, size = random.choice(list("ABCDEF"), n), random.choice(["large", "small"], n, p=[0.3, 0.7])
    legal = random.choice(["ltd", "plc", "own"], n)
    turnover = np.maximum(1, np.round(np.exp(random.normal(4, 1.2, n)))).astype(int)
    rows = zip(range(n), region, branch, size, legal, turnover, np.maximum(1, turnover // 5), strict=True)
    return "id,region,branch,size,legal,turnover,staff\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)


def two_groupings():
    """Return firms in two groupings of which one code holds one firm more than a code of the other."""
    random = np.random.default_rng(4)
    rows = [
        f"{i},{'ls'[i % 2]},{'P' if i < 23 else 'Q'},{'U' if i < 22 else 'VW'[i % 2]},{x},{y}"
        for i, (x, y) in enumerate(zip(random.integers(40, 60, 46), random.integers(10, 16, 46), strict=True))
    ]
    return "id,size,z1,z2,x,y\n" + "\n".join(rows) + "\n"


def make_source(home, **more):
    """Write records, a job and a source, and draw the multipliers; return the folder."""
    (home / "firms.csv").write_text(firms())
    (home / "regions.csv").write_text(
        "code,parent\nTotal,\nNorth,Total\nSouth,Total\nN1,North\nN2,North\nS1,South\nS2,South\nS3,South\n"
    )
    table = {"name": "plan", "by": ["region"], "value": "turnover", "rules": RULES, "protect": {"method": "perturb"}}
    job = {
        "version": 1,
        "microdata": {"source": "firms.csv", "respondent": "id"},
        "dimensions": {"region": {"parents": "regions.csv"}},
        "perturb": {"method": "zes", "seed": 5, "mu": 0.2},
        "tables": [table],
    }
    spec = {"variables": ["region", "branch", "size", "legal"], "values": ["turnover", "staff"]}
    return _written(home, job, spec | more)


def make_two_groupings(home, **more):
    """Write the source of `two_groupings`."""
    (home / "firms.csv").write_text(two_groupings())
    table = {"name": "size", "by": ["size"], "value": "x", "rules": RULES, "protect": {"method": "perturb"}}
    job = {
        "version": 1,
        "microdata": {"source": "firms.csv", "respondent": "id"},
        "perturb": {"method": "zes", "seed": 5},
        "tables": [table],
    }
    return _written(home, job, {"variables": ["size", "z1", "z2"], "values": ["x", "y"]} | more)


def make_suppressing(home, data=None, variables=("region", "branch", "size", "legal"), **more):
    """Write a source whose answers are suppressed."""
    (home / "firms.csv").write_text(firms() if data is None else data)
    by, value = variables[0], "turnover" if data is None else "x"
    rules = [{"min_frequency": 3}, {"p_percent": 15}]
    tables = [
        {"name": "sums", "by": [by], "value": value, "rules": rules},
        {"name": "counts", "by": [by], "value": "count", "rules": rules[:1]},
    ]
    job = {"version": 1, "microdata": {"source": "firms.csv", "respondent": "id"}, "tables": tables}
    return _with_spec(home, job, {"variables": list(variables)} | more)


def make_keyed(home, *, unproven="accept", **more):
    """Write a source of counts with noise by cell keys."""
    (home / "firms.csv").write_text(firms(2_000))
    table = {"name": "plan", "by": ["region"], "value": "count", "rules": [{"min_frequency": 3}]}
    job = {
        "version": 1,
        "microdata": {"source": "firms.csv", "respondent": "id"},
        "cell_key": {"seed": 5, "unproven": unproven},
        "tables": [{**table, "protect": {"method": "cell_key"}}],
    }
    return _with_spec(home, job, {"variables": ["region", "branch", "size", "legal"]} | more)


def _with_spec(home, job, spec):
    (home / "job.yaml").write_text(yaml.safe_dump(job))
    (home / "source.yaml").write_text(yaml.safe_dump({"version": 1} | spec))
    return home


def _written(home, job, spec):
    _with_spec(home, job, {"multipliers": "drawn/internal/multipliers.parquet"} | spec)
    done = CliRunner().invoke(cli, ["perturb", str(home / "job.yaml"), "--out", str(home / "drawn")])
    assert done.exit_code == 0, done.output
    return home
