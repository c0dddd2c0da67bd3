"""Sheets: any window of any look shows the cells that plain Python finds there."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellguard.errors import InputError
from cellguard.views.grid import Axis, Grid
from cellguard.views.sheet import Fold, Look, Sheet

WORDS = ("safe", "unsafe", "unpublished")


def axis(name, parents):
    codes = [f"{name}{i}" for i in range(len(parents))]
    return Axis(name, codes, np.array(parents, np.int32), np.ones(len(parents), bool), {codes[-1]: "the last"})


def sheet(cells, axes, status, reasons=None):
    columns = [np.array([cell[i] for cell in cells], np.int32) for i in range(len(axes))]
    figures = {"value": np.arange(len(cells), dtype=float)}
    return Sheet(Grid("t", axes, columns), WORDS, np.array(status, np.int8), reasons or {}, figures)


def below(parents, code):
    """The code and all codes below it, in the order of a tree drawn from the top."""
    found = [code]
    for child, parent in enumerate(parents):
        if parent == code:
            found += below(parents, child)
    return found


def seen(parents, fold, name):
    """The codes that a fold shows, by recursion."""

    def walk(code, depth):
        found = [code]
        is_open = (depth < fold.depth) != (f"{name}{code}" in fold.turned)
        children = [child for child, parent in enumerate(parents) if parent == code]
        for child in children if is_open else ():
            found += walk(child, depth + 1)
        return found

    return [code for root, parent in enumerate(parents) if parent < 0 for code in walk(root, 0)]


trees = st.lists(st.integers(0, 5), min_size=0, max_size=7).map(lambda p: [-1, *(min(x, i) for i, x in enumerate(p))])


@settings(max_examples=150, deadline=None)
@given(st.data(), trees, trees)
def test_windows_show_what_is_there(data, down, across):
    axes = [axis("r", down), axis("c", across)]
    every = [(r, c) for r in range(len(down)) for c in range(len(across))]
    cells = data.draw(st.lists(st.sampled_from(every), unique=True, min_size=1))
    status = data.draw(st.lists(st.integers(0, 2), min_size=len(cells), max_size=len(cells)))
    folds = [
        Fold(data.draw(st.integers(0, 3)), frozenset(data.draw(st.sets(st.sampled_from(list(a.codes)), max_size=3))))
        for a in axes
    ]
    drawn = sheet(cells, axes, status).draw(Look("r", "c", row_fold=folds[0], column_fold=folds[1]))
    rows, columns = seen(down, folds[0], "r"), seen(across, folds[1], "c")
    assert drawn.rows.shown.tolist() == rows and drawn.columns.shown.tolist() == columns
    number = {cell: i for i, cell in enumerate(cells)}
    wanted = [[number.get((r, c), -1) for c in columns] for r in rows]
    assert drawn.window(0, 0, 99, 99).tolist() == wanted
    top, left = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 4))
    assert drawn.window(top, left, top + 2, left + 2).tolist() == [
        row[left : left + 2] for row in wanted[top : top + 2]
    ]


@settings(max_examples=100, deadline=None)
@given(st.data(), trees)
def test_filters_keep_rows_with_picked_cells_and_what_is_above_them(data, down):
    axes = [axis("r", down), axis("c", [-1, 0])]
    cells = [(r, c) for r in range(len(down)) for c in range(2)]
    status = data.draw(st.lists(st.integers(0, 2), min_size=len(cells), max_size=len(cells)))
    look = Look("r", "c", statuses=frozenset({"unsafe"}), row_fold=Fold(0))
    drawn = sheet(cells, axes, status).draw(look)
    picked = {r for (r, _), s in zip(cells, status, strict=True) if s == 1}
    kept = [r for r in range(len(down)) if picked & set(below(down, r))]
    assert sorted(drawn.rows.shown.tolist()) == kept
    assert sorted(drawn.cells[drawn.picked].tolist()) == [i for i, s in enumerate(status) if s == 1]
    places = [drawn.next_picked(0, -1)]
    while len(places) <= len(cells) and places[-1]:
        places.append(drawn.next_picked(*places[-1]))
        if places[-1] == places[0]:
            break
    assert len(set(filter(None, places))) == sum(s == 1 for s in status)


@pytest.fixture
def three():
    axes = [axis("r", [-1, 0, 0, 1]), axis("c", [-1, 0]), axis("s", [-1, 0, 0])]
    cells = [(r, c, s) for r in range(4) for c in range(2) for s in range(3)]
    reasons = {"few": np.array([i % 5 == 0 for i in range(len(cells))])}
    return sheet(cells, axes, [0] * len(cells), reasons)


def test_other_dimensions_stand_at_one_code(three):
    usual = three.usual_look()
    assert (usual.rows, usual.columns, usual.fixed) == ("r", "c", (("s", "s0"),))
    drawn = three.draw(Look("s", "r", (("c", "c1"),)))
    codes = [three.codes(cell) for cell in drawn.window(0, 0, 3, 4).ravel().tolist()]
    assert codes[0] == ("r0", "c1", "s0") and len({(r, s) for r, c, s in codes if c == "c1"}) == 12


def test_search_finds_codes_and_labels_on_either_side(three):
    look = Look("r", "c", (("s", "s0"),), search="THE LAST")
    drawn = three.draw(look)
    assert [head.code for head in drawn.rows.heads(0, 9)] == ["r0", "r1", "r3"]
    assert [head.code for head in drawn.columns.heads(0, 9)] == ["c0", "c1"]
    assert len(three.draw(Look("r", "c", (("s", "s0"),), search="nowhere")).rows) == 0


def test_reasons_are_picked_and_cells_found(three):
    drawn = three.draw(Look("r", "c", (("s", "s0"),), reasons=frozenset({"few"})))
    assert drawn.cells[drawn.picked].tolist() == [0, 15]
    assert three.find(("r2", "c1", "s0")) == 15 and three.find(("r2", "c1", "no")) is None
    assert 15 in drawn.cells.tolist() and three.text("value", 15) == "15"


@pytest.mark.parametrize(
    "look",
    [
        Look("r", "c"),
        Look("r", "r", (("s", "s0"), ("c", "c0"))),
        Look("r", "c", (("s", "zz"),)),
        Look("q", "c", (("s", "s0"),)),
        Look("r", None, (("s", "s0"),)),
    ],
)
def test_a_look_that_makes_no_sense_is_refused(three, look):
    with pytest.raises(InputError):
        three.draw(look)
