"""The data behind the grids, read back as the page's script reads it."""

import numpy as np
import pytest

import cellguard as cg
from cellguard.errors import InternalError
from cellguard.report.page_grids import coarsest, internal_grid, public_grid
from cellguard.table.pattern import Release, release
from unit.methods.suppress.report import cases

THREE = (("A1", "A2", "B1", "B2"), ("N", "S"), ("x", "y"))


def cells_of(grid):
    """Codes of every cell with its value and mark, as plain text."""
    columns = [[axis["codes"][i] for i in codes] for axis, codes in zip(grid["axes"], grid["codes"], strict=True)]
    marks = zip(grid["value"].split(" "), grid["status"], strict=True)
    return dict(zip(zip(*columns, strict=True), marks, strict=True))


@pytest.mark.parametrize("axes", [(("A1", "A2", "B1", "B2"),), (("A1", "A2", "B1", "B2"), ("N", "S", "W")), THREE])
def test_an_internal_grid_holds_every_cell(axes):
    table = cases.table(axes=axes)
    _, audit = cases.protect(table)
    grid, kept = internal_grid(table, audit.pattern.status(0), audit.values)
    letters = {"published": ".", "primary": "p", "secondary": "s"}
    expected = {
        tuple(table.cell_name(i).split("/")): (f"{table.value[i]:.0f}", letters[audit.pattern.status(0)[i]])
        for i in range(len(table))
    }
    assert cells_of(grid) == expected and len(kept) == len(table) and grid["left_out"] == 0
    assert grid["count"] == table.facts.count.tolist()


def test_a_public_grid_holds_the_release_and_nothing_else():
    _, audit = cases.protect(cases.table())
    published = release(audit.pattern, audit.grains.value, audit.grains.decimals)
    shown = published.tables[0]
    grid = public_grid(shown, published.dimensions)
    expected = {
        codes: (value, "c" if gone else ".")
        for *codes_, value, gone in zip(*shown.codes, shown.value, shown.suppressed, strict=True)
        if (codes := tuple(codes_))
    }
    assert cells_of(grid) == expected
    assert set(grid) == {"name", "response", "decimals", "axes", "codes", "value", "status", "left_out"}


def test_trees_hold_what_occurs_and_what_is_above_it():
    tree = cg.Dimension(
        "r", cg.Hierarchy.from_parents([("Total", ""), ("A", "Total"), ("B", "Total"), ("A1", "A"), ("B1", "B")])
    )
    table = cg.cells({"r": ["Total", "A1"], "x": [5, 5]}, by=[tree], value="x")
    grid, _ = internal_grid(table, np.array(["published", "published"]), [5, 5])
    assert grid["axes"][0]["codes"] == ["Total", "A", "A1"]
    assert grid["axes"][0]["parent"] == [-1, 0, 1]


def test_codes_of_a_second_grouping_hang_on_the_total():
    coast = [("Total", ""), ("sea", "Total"), ("inland", "Total"), ("a", "sea"), ("b", "inland")]
    tree = cg.Dimension("r", cg.Hierarchy.flat(["a", "b"]), cg.Hierarchy.from_parents(coast))
    table = cg.cells({"r": ["Total", "a", "b", "sea", "inland"], "x": [5, 2, 3, 2, 3]}, by=[tree], value="x")
    grid, _ = internal_grid(table, np.full(5, "published"), [5, 2, 3, 2, 3])
    assert grid["axes"][0]["parent"] == [-1, 0, 0, 0, 0]


def test_of_a_large_table_the_coarse_levels_are_kept():
    table = cases.table()
    depth = sum(d.level[c] for d, c in zip(table.dimensions, table.codes, strict=True))
    for most in (1, 6, 12, 20, len(table)):
        kept = coarsest(table.dimensions, table.codes, most)
        assert len(kept) <= max(most, 1) and list(kept) == sorted(kept)
        left = np.setdiff1d(np.arange(len(table)), kept)
        assert not len(left) or depth[kept].max() < depth[left].min()


def test_a_code_that_no_tree_has_is_a_bug():
    _, audit = cases.protect(cases.table())
    shown = release(audit.pattern, audit.grains.value, audit.grains.decimals).tables
    trees = {d.name: d for d in audit.needs.tables.tables[0].dimensions}
    with pytest.raises(InternalError, match="does not know"):
        Release.of(shown, trees | {"industry": cg.Dimension("industry", cg.Hierarchy.flat(["Q"]))})
