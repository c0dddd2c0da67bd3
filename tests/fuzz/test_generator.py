"""The generator: the same seed gives the same job, and everything that it should draw does turn up."""

from collections import Counter
from functools import cache

from fuzz.cases import read_case
from fuzz.generator import draw_case, draw_twin
from fuzz.judge import unsafe_cells
from fuzz.plans import MOTIFS
from fuzz.public import TOTAL, read_axes
from fuzz.run import claims_all, same_order


@cache
def cases():
    return [draw_case(seed) for seed in range(300)]


def tables():
    return [spec for case in cases() for spec in case.job["tables"]]


def test_a_seed_is_a_job():
    assert [draw_case(seed) for seed in range(20)] == cases()[:20]
    assert len({str(case.job) for case in cases()}) > 290


def test_a_folder_holds_the_whole_case(tmp_path):
    for case in cases()[:20]:
        found = read_case(case.write(tmp_path / str(case.seed)))
        assert (found.job, found.records) == (case.job, case.records)
        assert found.files == case.files


def test_nearly_all_jobs_have_something_unsafe():
    assert sum(bool(unsafe_cells(case)) for case in cases()) > 280


def test_all_kinds_of_jobs_are_drawn():
    assert {case.features[0] for case in cases()} == set(MOTIFS)
    assert set(Counter(len(case.job["tables"]) for case in cases())) == {1, 2, 3, 4}
    assert {spec["value"] for spec in tables()} == {"x", "y", "count"}
    assert {spec.get("zeros") for spec in tables()} == {None, "known", "possible"}
    assert {rule for spec in tables() for entry in spec["rules"] for rule in entry} >= {"min_frequency", "p_percent"}
    for key in ("publish", "apriori", "cells", "response", "population", "counts"):
        assert any(key in spec for spec in tables()), key
    assert any("hide_with" in spec.get("protect", {}) for spec in tables())
    assert any("holding" in case.job.get("microdata", {}) for case in cases())
    mixed = [{"cells" in spec for spec in case.job["tables"]} for case in cases()]
    assert {True, False} in mixed


def test_hierarchies_of_all_shapes_are_drawn():
    axes = [axis for case in cases() for axis in read_axes(case).values()]
    assert any(len(axis.trees) > 1 for axis in axes)
    assert any(max(axis.level.values()) > 2 for axis in axes)
    assert any(axis.name != axis.column for axis in axes)
    children = [Counter(tree.values()) for axis in axes for tree in axis.trees]
    assert any(many == 1 for count in children for parent, many in count.items() if parent not in {"", TOTAL})


def test_partial_tables_are_drawn():
    whole = total = coarse = 0
    for case in cases():
        axes = read_axes(case)
        for spec in (spec for spec in case.job["tables"] if "cells" in spec):
            rows = [line.split(",") for line in case.files[spec["cells"]["source"]].splitlines()[1:]]
            for i, name in enumerate(spec["by"]):
                codes, axis = {row[i] for row in rows}, axes[name]
                total += TOTAL not in codes
                coarse += not codes & axis.below[TOTAL]
                whole += codes >= {c for c in axis.below if axis.below[c] & set(case.records.codes[axis.column])}
    assert min(whole, total, coarse) > 10


def test_a_twin_has_the_same_codes():
    for case in cases()[:40]:
        twin = draw_twin(case)
        for name, column in case.records.codes.items():
            assert sorted(column) == sorted(twin.records.codes[name])
        assert [spec["by"] for spec in twin.job["tables"]] == [spec["by"] for spec in case.job["tables"]]


def test_orders():
    rows = [("N", "1"), ("N", "2"), ("S", "2"), ("S", "1")]
    assert same_order(rows, [row for row in rows if row != ("N", "2")])
    assert not same_order(rows, sorted(rows))


def test_what_is_not_checked_is_not_claimed():
    safe = {"verdict": "safe", "insiders": "not checked", "set": {"cells": 4}, "settings": {"attack": {"lower": 0}}}
    assert claims_all(safe)
    assert not claims_all({**safe, "verdict": "unsafe"})
    assert not claims_all({**safe, "crossing": "not checked"})
    assert not claims_all({**safe, "settings": {"attack": {"crossing": "not_checked"}}})
