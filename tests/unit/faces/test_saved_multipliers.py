"""Later perturbed tables from Python: multipliers from an outcome, a file, or a frame that was read from it."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import cellguard as cg
from cellguard.errors import InputError

RULE = cg.Dominance(3, 70)


def firms():
    rng = np.random.default_rng(1)
    n = 240
    return pd.DataFrame(
        {
            "id": [f"k{i:03}" for i in range(n)],
            "region": rng.choice(list("ABC"), n),
            "size": rng.choice(list("xyz"), n),
            "turnover": np.round(rng.lognormal(4, 0.6, n)),
        }
    )


def perturb(frame, by, **settings):
    how = {"perturb": settings}
    return cg.protect(frame, by=by, value="turnover", respondent="id", rules=RULE, method=how, name="region")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    frame = firms()
    first = perturb(frame, ["region"], mu=0.2, seed=7)
    folder = tmp_path_factory.mktemp("first") / "out"
    first.write(folder)
    return frame, first, folder / "internal/multipliers.parquet"


def by_region(outcome):
    table = outcome.tables["both"]
    return {row["region"]: row["value"] for _, row in table[table["size"] == "Total"].iterrows()}


@pytest.mark.parametrize("kind", ["outcome", "path", "arrow", "pandas"])
def test_later_tables_agree_with_the_first(made, kind):
    frame, first, path = made
    given = {"outcome": first, "path": path, "arrow": pq.read_table(path), "pandas": pd.read_parquet(path)}[kind]
    tables = {"region": ["region"], "both": ["region", "size"]}
    later = perturb(frame.assign(new=1), tables, multipliers=given)
    assert by_region(later) == dict(zip(first.table["region"], first.table["value"], strict=True))
    assert later.verdict.text.startswith("safe together with the tables that the job names")
    assert "earlier_answers" in {one.key for one in later.verdict.not_checked}


def test_what_a_run_is_asked_for_is_no_setting(made):
    frame, first, _ = made
    later = perturb(frame, ["size"], multipliers=first, checked=False)
    assert "NOT CHECKED" in later.verdict.text
    with pytest.raises(InputError, match="only later tables from saved ones may go unchecked"):
        perturb(frame, ["size"], checked=False)


def test_multipliers_that_do_not_fit_are_refused(made):
    frame, _, path = made
    with pytest.raises(InputError, match="does not say what the multipliers were made with"):
        perturb(frame, ["size"], multipliers=pl.read_parquet(path))
    touched = pd.read_parquet(path)
    touched.loc[0, "base"] += 0.01
    with pytest.raises(InputError, match="was changed since it was written"):
        perturb(frame, ["size"], multipliers=touched)
    with pytest.raises(InputError, match="were made for other data"):
        perturb(frame.assign(turnover=frame["turnover"] + 1), ["size"], multipliers=path)
    with pytest.raises(InputError, match="this one has none"):
        suppressed = cg.protect(frame, by=["size"], value="turnover", respondent="id", rules=RULE)
        perturb(frame, ["size"], multipliers=suppressed)
