"""The public page: it is a function of the release alone, and no hidden figure can be found in it."""

import itertools
import re
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

import cellguard as cg
from cellguard.methods.suppress.report.page import public_page
from cellguard.table.pattern import Pattern, release
from unit.methods.suppress.report import cases

SETS = {
    "one table": cases.table,
    "three dimensions": lambda: cases.table(axes=(("A1", "A2", "B1", "B2"), ("N", "S"), ("x", "y"))),
    "linked": lambda: cg.link(
        [cases.table(name="one", response="y", axes=(("A1", "A2", "B1", "B2"),)), cases.table(name="two", seed=2)]
    ),
}


def page_of(pattern, values):
    amounts = [int(value.scaleb(6)) for value in values]
    return public_page(release(pattern, amounts, [6] * len(amounts)))


@pytest.fixture(scope="module", params=SETS)
def done(request):
    return cases.protect(SETS[request.param]())[1]


def figures(page):
    """All numbers of a page, separators taken out."""
    return set(re.findall(r"\d+(?:\.\d+)?", page.replace(",", "").replace("\u202f", "")))


def secrets(audit):
    """Every figure that must not get out: hidden values, sums of them in a relation or table, needs, intervals."""
    tables, hidden = audit.needs.tables, audit.pattern.hidden
    value = tables.value
    found = set(value[hidden])
    relations = tables.relations
    for row in range(relations.shape[0]):
        cells = relations.indices[relations.indptr[row] : relations.indptr[row + 1]]
        gone = cells[hidden[cells]]
        for many in range(1, min(len(gone), 4) + 1):
            found |= {value[list(some)].sum() for some in itertools.combinations(gone, many)}
        found.add(value[gone].sum())
    for cells in tables.cells_of:
        for mask in (audit.pattern.primary, audit.pattern.secondary, hidden):
            found.add(value[cells][mask[cells]].sum())
    found |= {value[mask].sum() for mask in (audit.pattern.primary, audit.pattern.secondary, hidden)}
    for amounts in (audit.needs.upper, audit.needs.lower, audit.lower, audit.upper):
        found |= set(amounts[hidden & np.isfinite(amounts)].round())
    return {int(x) for x in found if x >= 1000} - {int(x) for x in value[~hidden]}


def test_no_hidden_figure_is_in_the_page(done):
    page, kept = page_of(done.pattern, done.values), secrets(done)
    assert done.pattern.hidden.sum() > 3 and len(kept) > 20
    assert not {str(number) for number in kept} & figures(page)
    # The search would find them: it does find published values.
    assert {f"{v:.0f}" for v in done.needs.tables.value[~done.pattern.hidden]} <= figures(page)


def test_hidden_values_do_not_matter(done):
    """Whatever the hidden values are, the page is the same, to the letter."""
    rng = np.random.default_rng(5)
    other = [
        Decimal(int(rng.integers(1, 10**12))) if gone else value
        for value, gone in zip(done.values, done.pattern.hidden, strict=True)
    ]
    assert page_of(done.pattern, other) == page_of(done.pattern, done.values)


def test_primary_or_secondary_does_not_matter(done):
    pattern = done.pattern
    swapped = Pattern(pattern.tables, pattern.secondary, pattern.primary)
    page = page_of(pattern, done.values)
    assert page_of(swapped, done.values) == page
    written = page[page.index("<body>") : page.rindex("<script>")]
    assert not re.search(r"primary|unsafe|secondary|min_frequency|p_percent|dominance", written)


def test_the_page_counts_what_the_release_shows(done):
    page = page_of(done.pattern, done.values)
    for number, table in enumerate(done.needs.tables.tables):
        gone = int(done.pattern.hidden[done.needs.tables.cells_of[number]].sum())
        row = re.search(rf'<th scope="row">{table.name}</th>.*?</tr>', page, re.S).group(0)
        assert f'<td class="n">{len(table)}</td><td class="n">{gone}</td>' in row


def test_levels_that_are_not_shown_leave_no_code_behind():
    table = replace(cases.table(), levels={"industry": [0, 1]})
    nothing = np.zeros(len(table), bool)
    linked = cg.link(table)
    page = page_of(Pattern(linked, nothing, nothing), [Decimal(int(v)) for v in linked.value])
    data = re.search(r'id="grids">(.*?)</script>', page, re.S).group(1)
    assert '"A"' in data and '"A1"' not in data and "Tools" not in data
