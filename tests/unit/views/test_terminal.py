"""`cellguard show`: rows, columns, marks and what is left out."""

import io
import json
import shutil

import pytest
from rich.console import Console

from cellguard.errors import InputError
from cellguard.faces.cli.show_table import print_view, rich_table
from cellguard.io.stored_view import read_view
from cellguard.views.terminal import MOST_ROWS, cut_view, draw, parse_where


def write(folder, rows, by, hierarchies=None, name="t", internal=None):
    """An output folder as far as `show` looks at it."""
    (folder / "release").mkdir(parents=True, exist_ok=True)
    (folder / "internal/hierarchies").mkdir(parents=True, exist_ok=True)
    lines = [",".join([*by, "value", "flag"]), *rows]
    (folder / f"release/{name}.csv").write_text("\n".join(lines) + "\n")
    (folder / "release/metadata.json").write_text(json.dumps({"tables": {name: {"by": by}}}))
    for dimension, parents in (hierarchies or {}).items():
        text = "hierarchy,code,parent,label\n" + "".join(f"0,{c},{p},\n" for c, p in parents)
        (folder / f"internal/hierarchies/{dimension}.csv").write_text(text)
    if internal:
        (folder / f"internal/{name}.csv").write_text("\n".join([",".join([*by, "value", "status"]), *internal]) + "\n")
    return folder


REGION = [("Total", ""), ("North", "Total"), ("N1", "North"), ("South", "Total")]
CELLS = ["Total,Total,1200.50,", "Total,a,-0.50,", "N1,Total,,c", "North,Total,700.00,", "South,a,5.00,"]
INSIDE = ["Total,Total,1200.5,published", "Total,a,-0.5,secondary", "N1,Total,33.25,primary", "South,a,5,unpublished"]


@pytest.fixture
def folder(tmp_path):
    return write(tmp_path, CELLS, ["region", "size"], {"region": REGION}, internal=INSIDE)


def printed(view, where=None, **more):
    drawing = draw(view, where or {}, **more)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(rich_table(drawing))
    return [line.rstrip() for line in console.export_text().splitlines() if line.strip()], drawing.notes


def test_rows_are_an_indented_tree_and_columns_the_second_dimension(folder):
    lines, notes = printed(read_view(folder, None, internal=False))
    assert lines[0].split() == ["region", "\\", "size", "Total", "a"] and notes == []
    body = [line[1:] for line in lines[2:]]
    assert [line.split() for line in body] == [
        ["Total", "1,200.50", "-0.50"],
        ["North", "700.00"],
        ["N1", "c"],
        ["South", "5.00"],
    ]
    assert [len(line) - len(line.lstrip()) for line in body] == [0, 2, 4, 2]


def test_hidden_values_are_shown_only_when_asked_for(folder):
    public, _ = printed(read_view(folder, "t", internal=False))
    inside, _ = printed(read_view(folder, "t", internal=True))
    assert "33.25" not in "".join(public)
    text = " ".join(" ".join(inside).split())
    assert "● 33.25" in text and "○ -0.5" in text and "– 5" in text


def test_without_the_internal_half_codes_are_side_by_side(folder, tmp_path):
    shutil.rmtree(tmp_path / "internal")
    lines, _ = printed(read_view(folder, None, internal=False))
    assert [line[1:].split()[0] for line in lines[2:]] == ["Total", "N1", "North", "South"]
    with pytest.raises(InputError, match=r"internal/t\.csv"):
        read_view(folder, None, internal=True)


def test_one_dimension_has_one_column(tmp_path):
    view = read_view(write(tmp_path, ["Total,5,", "N,,c"], ["r"]), None, internal=False)
    lines, _ = printed(view)
    assert [line.split() for line in (lines[0], *lines[2:])] == [["r", "value"], ["Total", "5"], ["N", "c"]]


THREE = ["Total,Total,Total,9,", "N,Total,Total,4,", "Total,a,Total,7,", "Total,a,x,3,", "N,a,x,2,"]


def test_further_dimensions_stand_at_their_total_unless_chosen(tmp_path):
    view = read_view(write(tmp_path, THREE, ["r", "s", "k"]), None, internal=False)
    cut = cut_view(view, {})
    assert (cut.rows, cut.columns, cut.fixed) == ("r", "s", {"k": "Total"})
    lines, notes = printed(view, {"k": "x"})
    assert notes == ["k = x"] and [line.split() for line in lines[2:]] == [["Total", "3"], ["N", "2"]]
    cut = cut_view(view, {"r": "N"})
    assert (cut.rows, cut.columns, cut.fixed) == ("s", "k", {"r": "N"})
    lines, _ = printed(view, {"r": "N", "s": "a", "k": "x"})
    assert [line.split() for line in lines[2:]] == [["N", "2"]]


def test_depth_and_size_limit_what_is_shown(folder, tmp_path):
    lines, notes = printed(read_view(folder, None, internal=False), depth=1)
    assert len(lines) == 2 + 3 and "1 rows are not shown" in notes[0]
    many = [f"c{i},{i}," for i in range(MOST_ROWS + 50)]
    parents = [("Total", ""), *((f"c{i}", "Total") for i in range(MOST_ROWS + 50))]
    view = read_view(write(tmp_path / "big", ["Total,7,", *many], ["r"], {"r": parents}), None, internal=False)
    lines, notes = printed(view)
    assert len(lines) == 2 + 1 and notes == [f"{MOST_ROWS + 50} rows are not shown; choose with --where or --depth"]
    lines, notes = printed(view, depth=1)
    assert len(lines) == 2 + MOST_ROWS and notes[0].startswith("51 rows")


@pytest.mark.parametrize("given", ["region", "=x", "region=", "region=a,region=b"])
def test_a_place_that_is_not_one(given):
    with pytest.raises(InputError, match=r"dimension=code|twice"):
        parse_where(given.split(","))


def test_unknown_names_are_refused_with_a_hint(folder, tmp_path):
    view = read_view(folder, None, internal=False)
    with pytest.raises(InputError, match="did you mean 'region'"):
        cut_view(view, {"regio": "North"})
    with pytest.raises(InputError, match="did you mean 'North'"):
        cut_view(view, {"region": "Nord"})
    with pytest.raises(InputError, match="no table 'u'"):
        read_view(folder, "u", internal=False)
    with pytest.raises(InputError, match="no output folder"):
        read_view(tmp_path / "nowhere", None, internal=False)
    (folder / "release/t.csv").write_text("region,size,value\nTotal,Total,5\n")
    with pytest.raises(InputError, match="no column 'flag'"):
        read_view(folder, "t", internal=False)


def test_codes_are_printed_as_they_are(tmp_path, capsys):
    view = read_view(write(tmp_path, ["[red]x[/red],5,", "a[b,6,"], ["r"]), None, internal=False)
    print_view(view, {})
    out = capsys.readouterr().out
    assert "[red]x[/red]" in out and "a[b" in out and "c suppressed" in out
