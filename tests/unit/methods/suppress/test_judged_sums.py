"""Unsafe sums of suppressed cells become cells of the set: which, with what levels, and what is suppressed for them."""

from __future__ import annotations

import pytest

import cellguard as cg
from cellguard.pipeline import run

MANY = [(10 + i, "C", 5) for i in range(20)]
BOTH = [{"min_frequency": 3}, {"p_percent": 10}]


@pytest.fixture
def protected(tmp_path):
    """What becomes of records (holding, region, amount)."""

    def made(entries, *, rules=BOTH, dimension=None, **more):
        lines = [f"{holding},{region},{x}" for holding, region, x in entries]
        (tmp_path / "r.csv").write_text("\n".join(["g,r,x", *lines]) + "\n")
        for name, parents in (dimension or {}).items():
            (tmp_path / f"{name}.csv").write_text("\n".join(["code,parent", *parents]) + "\n")
        trees = {"parents": "main.csv"} | (
            {"also": [{"name": "other", "parents": "also.csv"}]} if "also" in (dimension or {}) else {}
        )
        table = {"name": "t", "by": ["r"], "value": "x", "rules": rules} | more.pop("table", {})
        job = {"version": 1, "microdata": {"source": "r.csv", "holding": "g"}, "tables": [table], **more}
        job |= {"dimensions": {"r": trees}} if dimension else {}
        outcome = run(cg.Job.parse(job, folder=tmp_path))
        assert outcome.verdict.kind == "safe"
        return outcome

    return made


def sums(outcome):
    """The unsafe sums, each as the codes of its parts."""
    tables = outcome.protected.audit.needs.tables
    names = [tables.cell_name(cell) for cell in tables.unlisted.nonzero()[0].tolist()]
    return {frozenset(part.removeprefix("t: ") for part in name.split(" + ")) for name in names}


def suppressed(outcome):
    released = outcome.release["t"]
    return {code for code, gone in zip(released.codes[0], released.suppressed.tolist(), strict=True) if gone}


def test_one_holding_in_two_suppressed_cells(protected):
    outcome = protected([(1, "A", 60), (1, "B", 40), *MANY])
    assert sums(outcome) == {frozenset("AB")} and suppressed(outcome) == set("ABC")


def test_two_single_respondents_in_a_row(protected):
    outcome = protected([(1, "A", 60), (2, "B", 40), *MANY])
    assert sums(outcome) == {frozenset("AB")} and suppressed(outcome) == set("ABC")


def test_two_single_respondents_whose_sum_is_safe(protected):
    """Without the sum's own rule nothing more is suppressed."""
    outcome = protected([(1, "A", 60), (2, "B", 40), *MANY], rules=[{"min_frequency": 2}], attack={"insiders": False})
    assert sums(outcome) == set() and suppressed(outcome) == set("AB")


def test_what_is_left_of_a_whole_without_parts_of_a_subtotal(protected):
    """The total less b and d is a + c, and both are holding 1's."""
    many = [*((20 + i, "b", 5) for i in range(20)), *((50 + i, "d", 9) for i in range(9))]
    main = ["Total,", "G,Total", "a,G", "b,G", "c,Total", "d,Total"]
    outcome = protected([(1, "a", 60), (1, "c", 50), *many], dimension={"main": main})
    assert sums(outcome) == {frozenset("ac")} and suppressed(outcome) == set("abcd")


def test_a_sum_that_another_grouping_gives_away(protected):
    """Everything less coast is land, which is c + d, and both are holding 3's."""
    main = ["Total,", *(f"{code},Total" for code in "abcde")]
    also = ["Total,", "coast,Total", "land,Total", *(f"{c},coast" for c in "abe"), *(f"{c},land" for c in "cd")]
    entries = [(1, "a", 60), (2, "b", 55), (3, "c", 50), (3, "d", 45), *((50 + i, "e", 9) for i in range(9))]
    outcome = protected(entries, dimension={"main": main, "also": also})
    assert sums(outcome) == {frozenset("cd")} and suppressed(outcome) == {*"abcd", "land", "coast"}


def test_negative_contributions_count_by_their_size(protected):
    signed = {"lower": "unbounded"}
    outcome = protected(
        [(1, "A", 60), (1, "B", -40), *MANY],
        rules=[{"min_frequency": 3}],
        attack=signed,
        table={"negative": "absolute"},
    )
    tables, needs = outcome.protected.audit.needs.tables, outcome.protected.audit.needs
    (cell,) = tables.unlisted.nonzero()[0].tolist()
    assert sums(outcome) == {frozenset("AB")} and suppressed(outcome) == set("ABC")
    assert needs.upper[cell] == pytest.approx(2.0)  # a tenth of 60 - 40, which holding 1 has alone
