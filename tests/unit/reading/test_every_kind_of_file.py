"""What is found out for one kind of file is found out for all: each kind in each dialect gives the same result."""

from __future__ import annotations

import numpy as np
import pytest

from cellguard.attack.external_totals import read_external_totals
from cellguard.attack.third_party import read_protected
from cellguard.errors import InputError
from cellguard.hierarchy.build import flat
from cellguard.hierarchy.codelists import read_labels, read_levels, read_parents
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.hierarchy.hrc import read_hrc
from cellguard.microdata.rda import read_code_list
from cellguard.microdata.records import records
from cellguard.table.apriori import State
from cellguard.table.read import About, cells
from cellguard.table.source import open_source
from cellguard.table.statements import read_apriori
from cellguard.table.tableset import link

DIMENSION = Dimension("region", flat(["Öst", "S"]))
TABLE = cells({"region": ["Total", "Öst", "S"], "x": [8.5, 3.5, 5]}, by=[DIMENSION], value="x")


def of_records(path):
    grouped = records(path, ["region"], ["x"], waiver="waiver")
    return grouped.labels, grouped.total["x"].tolist(), grouped.waived.tolist()


def of_cells(path):
    table = cells(path, by=["region"], value="x", count="n", marks=["mark"])
    return (
        table.value.tolist(),
        table.facts.count.tolist(),
        table.facts.marks["mark"].tolist(),
        table.dimensions[0].codes,
    )


def of_tree(hierarchy):
    return hierarchy.codes, hierarchy.parent.tolist()


def of_statements(path):
    said = read_apriori(TABLE, path).apriori
    return said.state.tolist(), np.nan_to_num(said.cost, nan=-1).tolist(), np.nan_to_num(said.upper, nan=-1).tolist()


def of_known(path):
    known = read_external_totals(path, link([TABLE]))
    return known.value.tolist(), known.sums.toarray().tolist()


def of_impossible(path):
    names = ["Total/Total", "Total/big", "Total/small", "Öst/Total", "Öst/small", "S/Total", "S/big"]
    region, size = zip(*(name.split("/") for name in names), strict=True)
    about = About("t", is_count=True, zeros="possible", impossible=open_source(path))
    by = [DIMENSION, Dimension("size", flat(["big", "small"]))]
    table = cells({"region": region, "size": size, "n": [6, 4, 2, 2, 2, 4, 4]}, by, value="n", count="n", about=about)
    assert len(table) == len(names)
    return [table.cell_name(i) for i in range(len(table))]


def of_protected(path):
    table = read_protected(open_source(path), {"region": DIMENSION}, "x", about=About("t"))
    return table.value.tolist(), table.apriori.has(State.secondary).tolist()


KINDS = {
    "records": ("f.csv", "region,x,waiver\nÖst,3.5,yes\nS,5,No\nÖst,1.25,\n", of_records),
    "cells": ("c.csv", "region,x,n,mark\nTotal,8.5,4,0\nÖst,3.5,1,TRUE\nS,5,3,n\n", of_cells),
    "levels": ("h.csv", "a,b\nÖst,Ö1\nÖst,Ö2\nS,\n", lambda path: of_tree(read_levels(path))),
    "parents": ("h.csv", "code,parent\nTotal,\nÖst,Total\nÖ1,Öst\n", lambda path: of_tree(read_parents(path))),
    "labels": ("l.csv", 'code,label\nÖst,"In the\neast"\nS,South\n', read_labels),
    "code list": ("l.cdl", "Öst,In the east\nS,South\n", read_code_list),
    "hrc": ("h.hrc", "Öst\n@Ö1\n@Ö2\nS\n", lambda path: of_tree(read_hrc(path))),
    "a-priori": ("a.csv", "region,status,cost,upper\nÖst,waived,1.5,NA\nS,n/a,,inf\n", of_statements),
    "hst": ("a.hst", "Öst,u\nS,c,1.5\n", of_statements),
    "known": ("k.csv", "region,value\nÖst,3.5\n", of_known),
    "impossible": ("i.csv", "region,size\nÖst,big\nS,small\n", of_impossible),
    "protected": ("p.csv", "region,x\nTotal,8.5\nÖst,x\nS,n/a\n", of_protected),
}
DELIMITERS = [",", ";", "\t", "|"]
ENCODINGS = ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-be"]


@pytest.fixture
def write(tmp_path):
    def write(kind, delimiter=",", encoding="utf-8", newline="\n", decimal="."):
        name, text, _ = KINDS[kind]
        text = text.replace(",", delimiter)
        text = text.replace(".5", f"{decimal}5").replace(".25", f"{decimal}25").replace("\n", newline)
        mark = "\ufeff" if encoding == "utf-16-be" else ""
        path = tmp_path / name
        path.write_bytes((mark + text).encode(encoding))
        return path

    return write


@pytest.fixture
def plain(write):
    def plain(kind):
        return KINDS[kind][2](write(kind))

    return plain


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("delimiter", DELIMITERS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_delimiter_and_encoding_are_found_out(write, plain, kind, delimiter, encoding):
    expected = plain(kind)
    assert "Öst" in str(expected) or kind in {"a-priori", "hst", "known", "protected"}
    assert KINDS[kind][2](write(kind, delimiter, encoding)) == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_windows_line_ends(write, plain, kind, encoding):
    expected = plain(kind)
    if kind == "labels":
        expected = {code: label.replace("\n", "\r\n") for code, label in expected.items()}
    assert KINDS[kind][2](write(kind, encoding=encoding, newline="\r\n")) == expected


@pytest.mark.parametrize("kind", ["records", "cells", "a-priori", "hst", "known", "protected"])
@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_a_decimal_comma_is_found_out(write, plain, kind, delimiter):
    assert KINDS[kind][2](write(kind, delimiter, "cp1252", "\r\n", decimal=",")) == plain(kind)


NUMBERS = {
    "records": lambda path: records(path, ["region"], ["x"]),
    "cells": lambda path: cells(path, by=["region"], value="x"),
    "a-priori": lambda path: read_apriori(TABLE, path),
    "known": lambda path: read_external_totals(path, link([TABLE])),
    "protected": lambda path: read_protected(open_source(path), {"region": DIMENSION}, "x", about=About("t")),
}


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        (("1,234", "2"), "not a number; ',' may separate thousands here: write numbers without separators"),
        (("1,25", "2.5"), "not a number; some numbers have a '.' and some a ',': write one decimal mark"),
        (("1,234,567", "2"), "not a number; write numbers without thousands separators"),
    ],
)
def test_a_decimal_mark_that_nobody_can_tell_is_refused(tmp_path, kind, numbers, words):
    column = {"a-priori": "cost", "known": "value"}.get(kind, "x")
    path = tmp_path / "f.csv"
    path.write_text(f"region;{column}\nS;{numbers[1]}\nÖst;{numbers[0]}\nTotal;2\n")
    with pytest.raises(InputError) as caught:
        NUMBERS[kind](path)
    assert f"f.csv line 3, column '{column}': {words}" in str(caught.value)


READERS = {
    "records": lambda path: records(path, ["region"], ["x"]),
    "cells": lambda path: cells(path, by=["region"], value="x"),
    "levels": read_levels,
    "labels": read_labels,
    "a-priori": lambda path: read_apriori(TABLE, path),
    "known": lambda path: read_external_totals(path, link([TABLE])),
}


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"region;x,y\nN;5,5\n", "f.csv line 1: the columns may be separated by ',' or by ';'; put names that hold"),
        (b"region;x\nN;5\n\x81;5\n", "f.csv line 3: written neither in UTF-8 nor in Windows-1252; save it in UTF-8"),
        ("region;x\nN;5\n".encode("utf-16-le"), "f.csv: no text file, or in an unknown encoding; save it"),
        (b"", "f.csv: the file is empty"),
        (b"region,region\nN,5\n", "f.csv: the header names 'region' twice"),
        (b"region,x\n", "f.csv: "),
    ],
)
def test_what_cannot_be_told_is_refused_with_its_place(tmp_path, kind, data, words):
    path = tmp_path / "f.csv"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        READERS[kind](path)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize("kind", READERS)
def test_a_broken_quote_is_refused(tmp_path, kind):
    path = tmp_path / "f.csv"
    path.write_text('code,label,region,x,cost,value\nS,"a,S,1,1,1\nS,b,S,1,1,1\n')
    with pytest.raises(InputError, match=r"^f\.csv line 2: "):
        READERS[kind](path)
