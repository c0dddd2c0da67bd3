"""How a cell is given away, in words."""

import numpy as np

from cellguard.attack.derivation import derive, explain
from cellguard.hierarchy.build import flat, from_levels
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.read import About, cells
from cellguard.table.tableset import link
from cellguard.world.constraints import constrain_tables

REGION = Dimension("region", flat("NSW"))


def words(tables, hidden, cell):
    linked = link(tables)
    constraints = constrain_tables(linked)
    names = [linked.cell_name(c).split(": ")[1] for c in range(len(linked))]
    unknown = np.isin(names, hidden)
    assert unknown.sum() == len(hidden)
    width = np.where(unknown, 5.0, 0.0)
    lower, upper = linked.value - width, linked.value + width
    return explain(constraints, constraints.relations, unknown, lower, upper, [names.index(cell)])[0]


def regions(**about):
    return cells({"region": ["Total", *"NSW"], "x": [60, 10, 20, 30]}, [REGION], value="x", about=About(**about))


def test_one_step():
    assert words([regions()], ["N"], "N") == ["N = Total - S - W, all published"]
    assert words([regions()], ["Total"], "Total") == ["Total = N + S + W, all published"]


def test_a_cell_that_is_not_hidden():
    assert words([regions()], ["N"], "S") == ["S is published, or known to be empty"]


def test_two_cells_that_leave_each_other_too_little_room():
    assert words([regions()], ["N", "S"], "N") == [
        "only N and S are suppressed in one relation, which leaves N too narrow an interval"
    ]


def test_a_chain_names_every_step_the_last_one_first():
    tree = Dimension("r", from_levels([("A", "a1"), ("A", "a2"), ("B", "b1"), ("B", "b2")]))
    data = {"r": ["Total", "A", "B", "a1", "a2", "b1", "b2"], "x": [100, 30, 70, 10, 20, 30, 40]}
    table = cells(data, [tree], value="x")
    assert words([table], ["a1", "A", "B"], "a1") == [
        "a1 = A - a2, where A follows first",
        "A = Total - B, where B follows first",
        "B = b1 + b2, all published",
    ]


def test_a_step_that_needs_two_others():
    tree = Dimension("r", from_levels([("A", "a1"), ("A", "a2"), ("B", "b1"), ("B", "b2")]))
    data = {"r": ["Total", "A", "B", "a1", "a2", "b1", "b2"], "x": [100, 30, 70, 10, 20, 30, 40]}
    found = words([cells(data, [tree], value="x")], ["Total", "A", "B"], "Total")
    assert found[0] == "Total = A + B, where A, B follow first"
    assert set(found[1:]) == {"A = a1 + a2, all published", "B = b1 + b2, all published"}


def test_a_linked_table_is_named():
    """N is hidden in both tables, but its parts by size are all published in the second."""
    sizes = {"region": ["N", "N", "N", "Total", "S", "W", "Total", "S", "W", "Total", "S", "W"]}
    sizes["size"] = ["Total", "s", "l"] + [size for size in ("Total", "s", "l") for _ in range(3)]
    sizes["x"] = [10, 4, 6, 60, 20, 30, 24, 10, 10, 36, 10, 20]
    second = cells(sizes, [REGION, "size"], value="x", about=About("sizes"))
    assert words([regions(name="short"), second], ["N", "S", "S/s", "S/l"], "S") == [
        "S = Total - N - W, where N follows first",
        "N = sizes: N/l + sizes: N/s, all published",
    ]


def test_derivations_count_the_steps():
    linked = link(regions())
    found = derive(linked.relations, np.array([True, False, False, False]))
    assert found.step.tolist() == [1, 0, 0, 0]
    stuck = derive(linked.relations, np.array([True, True, False, False]))
    assert stuck.step.tolist() == [-1, -1, 0, 0] and stuck.relation.tolist() == [-1] * 4
