"""Cells stand in the order of their codes in the hierarchies, whatever the order of the input."""

import itertools

import numpy as np
import pytest

from cellguard.errors import Disagreement, InputError
from cellguard.hierarchy.build import flat, from_levels
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table import cell_order
from cellguard.table.apriori import State
from cellguard.table.read import About, CellColumns, cells, read_cells
from cellguard.table.source import open_source
from cellguard.table.tableset import link

INDUSTRY = Dimension("industry", from_levels([("B", "B2"), ("B", "B1"), ("A", "")]))
SIZE = Dimension("size", flat(["large", "small"]))


def shuffled(columns, seed):
    order_ = np.random.default_rng(seed).permutation(len(next(iter(columns.values()))))
    return {name: [column[i] for i in order_] for name, column in columns.items()}


def cube():
    pairs = list(itertools.product(["Total", "B", "B2", "B1", "A"], ["Total", "large", "small"]))
    value = {"B2": 5, "B1": 7, "A": 9, "B": 12, "Total": 21}
    columns = {"industry": [a for a, _ in pairs], "size": [b for _, b in pairs]}
    columns["x"] = [value[a] * {"large": 2, "small": 1, "Total": 3}[b] for a, b in pairs]
    columns["n"] = [value[a] for a, _ in pairs]
    columns["status"] = ["waived" if a == "B1" else "" for a, _ in pairs]
    return columns


@pytest.mark.parametrize("seed", range(5))
def test_facts_statements_and_rows_follow_the_cells(seed):
    data = shuffled(cube(), seed)
    columns = CellColumns("x", "n", status="status")
    table = read_cells(open_source(data), {"industry": INDUSTRY, "size": SIZE}, columns, About("t"))
    names = [table.cell_name(i) for i in range(len(table))]
    assert names == [f"{a}/{b}" for a, b in zip(cube()["industry"], cube()["size"], strict=True)]
    assert table.value.tolist() == cube()["x"] and table.facts.count.tolist() == cube()["n"]
    assert [State(s).name if s else "" for s in table.apriori.state] == cube()["status"]
    for cell, row in enumerate(table.rows.tolist()):
        assert f"{data['industry'][row]}/{data['size'][row]}" == names[cell]
        assert table.where(cell).endswith(f"row {row + 1}")


def test_the_first_dimension_varies_slowest():
    table = cells(shuffled(cube(), 1), [SIZE, INDUSTRY], value="x")
    assert [table.cell_name(i) for i in range(6)] == [
        *(f"Total/{code}" for code in ("Total", "B", "B2", "B1", "A")),
        "large/Total",
    ]


def test_flat_dimensions_are_in_natural_order():
    table = cells({"size": ["10-49", "250+", "1-9", "Total", "50-249"], "x": [4, 1, 9, 16, 2]}, ["size"], value="x")
    assert [table.cell_name(i) for i in range(5)] == ["Total", "1-9", "10-49", "50-249", "250+"]


def test_empty_cells_are_not_behind_the_others():
    data = {"r": ["Total", "N", "S", "Total", "Total", "N", "S"], "s": [*["Total"] * 3, "a", "b", "b", "a"]}
    table = cells({**data, "n": [5, 2, 3, 3, 2, 2, 3]}, ["r", "s"], value="n", count="n")
    assert [table.cell_name(i) for i in range(9)] == [f"{r}/{s}" for r in ("Total", "N", "S") for s in ("Total", *"ab")]
    assert table.value.tolist() == [5, 3, 2, 2, 0, 2, 3, 3, 0]


def test_errors_name_the_lines_of_the_file(tmp_path):
    (tmp_path / "t.csv").write_text("r,x,n\nS,7,7\nTotal,12,4\nN,5,2\n")
    table = cells(tmp_path / "t.csv", ["r"], value="x", count="n")
    with pytest.raises(InputError, match=r"t.csv line 3: the count of respondents of Total .* part S \(t.csv line 2\)"):
        link(table)
    other = cells({"r": ["N", "S", "Total"], "x": [5, 8, 13]}, ["r"], value="x", name="other")
    (tmp_path / "t.csv").write_text("r,x\nS,7\nTotal,13\nN,6\n")
    with pytest.raises(Disagreement, match=r"N \(t.csv line 4\) and N \(table 'other' row 1\)"):
        link([cells(tmp_path / "t.csv", ["r"], value="x"), other])


def test_a_table_in_order_is_not_copied():
    table = cells(cube(), [INDUSTRY, SIZE], value="x")
    assert cell_order.in_hierarchy_order(table) is table
