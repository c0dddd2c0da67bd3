"""Equations between responses."""

from __future__ import annotations

import pytest

from cellguard.errors import NotAdditive
from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.equations import parse_equation
from cellguard.table.read import About, cells
from cellguard.table.tableset import link
from unit.table.refusal import SECRET, refused

REGION, SIZE = Dimension("region", flat(["N", "S"])), Dimension("size", flat(["a", "b"]))


def table(response, codes, dimension=REGION, **about):
    """A table by one dimension from its codes and values."""
    data = {dimension.name: list(codes), "x": list(codes.values())}
    about = {"name": response, "response": response, **about}
    return cells(data, [dimension], value="x", about=About(**about))


TURNOVER = table("turnover", {"Total": 10, "N": 4, "S": 6})
DOMESTIC = table("domestic", {"Total": 7, "N": 3, "S": 4})
EXPORT = table("export", {"Total": 3, "N": 1, "S": 2})


def test_terms_keep_their_signs():
    assert parse_equation("profit = sales - costs + aid").terms == (
        (1, "profit"),
        (-1, "sales"),
        (1, "costs"),
        (-1, "aid"),
    )
    assert parse_equation("loss = -profit").terms == ((1, "loss"), (1, "profit"))


@pytest.mark.parametrize("text", ["a = b + c - d", "a = - b", "net sales = gross sales - returns"])
def test_an_equation_is_written_as_it_is_read(text):
    assert str(parse_equation(text)) == text


@pytest.mark.parametrize("text", ["a", "a =", "= b", "a = b = c", "a == b", "a = b +", "a = b + - c", "a = + + b", ""])
def test_what_is_no_equation_is_refused(text):
    with refused(f"cannot read the equation {text!r}"):
        parse_equation(text)


@pytest.mark.parametrize("text", ["a = a + b", "a = b + b"])
def test_a_response_is_named_once(text):
    with refused("names a response twice"):
        parse_equation(text)


def test_an_equation_ties_the_cells_with_the_same_codes():
    linked = link([TURNOVER, DOMESTIC, EXPORT], ["turnover = domestic + export"])
    assert linked.relations.shape == (6, 9)
    assert linked.relations.toarray()[3:].tolist() == [
        [1, 0, 0, -1, 0, 0, -1, 0, 0],
        [0, 1, 0, 0, -1, 0, 0, -1, 0],
        [0, 0, 1, 0, 0, -1, 0, 0, -1],
    ]


def test_a_minus_sign_ties_too():
    linked = link([TURNOVER, DOMESTIC, EXPORT], ["export = turnover - domestic"])
    assert linked.relations.toarray()[3].tolist() == [-1, 0, 0, 1, 0, 0, 1, 0, 0]


def test_an_empty_cell_has_no_term():
    export = table("export", {"Total": 0, "N": 0})
    domestic = table("domestic", {"Total": 4, "N": 4})
    turnover = table("turnover", {"Total": 4, "N": 4})
    assert link([turnover, domestic, export], ["turnover = domestic + export"]).relations.shape == (5, 6)


def test_only_codes_that_every_response_covers_are_tied():
    export = table("export", {"Total": 3})
    linked = link([TURNOVER, DOMESTIC, export], ["turnover = domestic + export"])
    assert linked.relations.shape[0] == 3


def test_tables_without_common_dimensions_are_tied_at_the_total():
    export = table("export", {"Total": 3, "a": 1, "b": 2}, SIZE)
    linked = link([TURNOVER, DOMESTIC, export], ["turnover = domestic + export"])
    assert linked.relations.toarray()[3].tolist() == [1, 0, 0, -1, 0, 0, -1, 0, 0]
    assert linked.relations.shape[0] == 4


def test_an_equation_holds_within_a_population():
    large = [
        table("turnover", {"Total": 2, "N": 2}, name="lt", population="large"),
        table("domestic", {"Total": 1, "N": 1}, name="ld", population="large"),
    ]
    linked = link([TURNOVER, DOMESTIC, EXPORT, *large], ["turnover = domestic + export"])
    assert linked.relations.shape[0] == 3 + 2 + 3


def test_an_equation_that_fails_is_refused_with_the_cells():
    domestic = table("domestic", {"Total": SECRET, "N": 3, "S": SECRET - 3})
    with refused(
        "the equation turnover = domestic + export does not hold in 2 of 3 cells",
        "turnover: Total; turnover: S",
        error=NotAdditive,
    ):
        link([TURNOVER, domestic, EXPORT], ["turnover = domestic + export"])


def test_a_tolerance_covers_equations():
    domestic = table("domestic", {"Total": 8, "N": 3, "S": 5}, tolerance=1)
    assert len(link([TURNOVER, domestic, EXPORT], ["turnover = domestic + export"])) == 9


def test_an_unknown_response_is_refused_with_the_nearest():
    with refused("names 'exports', which is no table's response; did you mean 'export'"):
        link([TURNOVER, DOMESTIC, EXPORT], ["turnover = domestic + exports"])


def test_an_equation_without_common_cells_is_refused():
    export = table("export", {"Total": 3, "N": 3}, population="large")
    with refused("the equation turnover = domestic + export ties no cells"):
        link([TURNOVER, DOMESTIC, export], ["turnover = domestic + export"])
