"""What people write in Python by habit or by a slip: each answer has cause, place and cure, and nothing comes out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cellguard as cg

RULES = [cg.MinFrequency(3), cg.PPercent(10)]
FRAME = pd.DataFrame(
    {
        "region": ["N", "S", "W", "E"] * 10,
        "size": ["a", "b"] * 20,
        "x": [float(10 + i) for i in range(40)],
        "w": [1.5] * 40,
    }
)
FILES = {
    "empty.csv": b"",
    "header.csv": b"region,size,x\n",
    "page.pdf": b"%PDF-1.4 ...",
    "records.zip": b"PK\x03\x04....",
    "picture.png": b"\x89PNG\r\n\x1a\n",
    "records.xls": b"\xd0\xcf\x11\xe0",
    "old.dat": b"\xd0\xcf\x11\xe0",
    "packed.csv.gz": b"\x1f\x8b\x08\x00",
    "text.parquet": b"region,x\nN,1\n",
    "text.xlsx": b"region,x\nN,1\n",
    "ragged.csv": b"region,x\nN,1\nS,2,3\n",
    "twice.csv": b"region,x,x\nN,1,2\n",
    "words.csv": b"region,x\nN,1\nS,many\n",
    "thousands.csv": b"region;x\nN;1.234,5\nS;2.000,0\n",
    "euros.csv": "region,x\nN,€ 5\nS,€ 6\n".encode(),
    "blank.csv": b"region,x\nN,1\n,2\n",
    "levels.csv": b"level1,level2\nNS,N\nNS,S\nNS,E\n",
    "loop.csv": b"code,parent\nN,S\nS,N\n",
}


def asked(data=FRAME, by=("region",), value="x", rules=RULES, **more):
    return cg.protect(data, by if isinstance(by, str) else list(by), value, rules=rules, **more)


def with_column(name, values):
    return FRAME.assign(**{name: values})


SLIPS = {
    # columns
    "a column misspelled": (lambda: asked(by=["regoin"]), "no column 'regoin'; did you mean 'region'?"),
    "a column in capitals": (lambda: asked(by=["Region"]), "no column 'Region'; did you mean 'region'?"),
    "a value that is not there": (lambda: asked(value="turnover"), "no column 'turnover'; known are 'region', 'size'"),
    "a weight that is not there": (lambda: asked(weight="weight"), "no column 'weight'; known are"),
    "one name for a list": (lambda: asked(by="region"), "must be a list of columns; give ['region']"),
    "no dimension": (lambda: asked(by=[]), "the list is empty; name at least one, as by=['industry', 'region']"),
    "no tables at all": (lambda: cg.protect(FRAME, rules=RULES), "say which tables: by=['region', 'age']"),
    "a dimension twice": (lambda: asked(by=["region"] * 2), "names a dimension twice: 'region'; name each once"),
    "the value as a dimension": (lambda: asked(by=["region", "x"]), "'x' has two roles"),
    "text as the value": (lambda: asked(value="size"), "row 1, column 'size': not a number"),
    "decimal numbers as codes": (lambda: asked(with_column("y", FRAME.x / 3), ["y"]), "column 'y' holds decimal"),
    "two columns of one name": (lambda: asked(pd.concat([FRAME, FRAME[["x"]]], axis=1)), "'x' twice; rename one"),
    # entries
    "a missing code": (
        lambda: asked(with_column("region", FRAME.region.where(FRAME.index > 2))),
        "row 1, column 'region': the code is blank; give every record a code, or say `missing={'code': 'drop'}`",
    ),
    "a missing value": (
        lambda: asked(with_column("x", FRAME.x.where(FRAME.index > 2))),
        "row 1, column 'x': the value is missing (blank or NaN); give it, or say `missing={'value': 'drop'}`",
    ),
    "an infinite value": (lambda: asked(with_column("x", np.inf)), "row 1, column 'x': the value is infinite; give a"),
    "values below 0": (lambda: asked(with_column("x", FRAME.x - 30)), "as options={'negative': 'absolute'}"),
    "weights below 0": (lambda: asked(with_column("w", -FRAME.w), weight="w"), "a weight must not be below 0; correct"),
    "a row of totals": (
        lambda: asked(pd.concat([FRAME, FRAME[:1].assign(region="Total", x=1180)])),
        "row 41, column 'region': 'Total' is the total of dimension 'region'; records have codes below it, so delete",
    ),
    "totals among inner cells": (
        lambda: asked({"region": ["Total", "N", "S"], "n": [30, 10, 20]}, value=None, freq="n", rules=RULES[0]),
        "row 1: the cell Total is a total",
    ),
    "decimal counts": (
        lambda: asked({"region": ["N", "S"], "n": [10.5, 20]}, value=None, freq="n", rules=RULES[0]),
        "row 1, column 'n': a count must be a whole number; round it",
    ),
    "an inner cell twice": (
        lambda: asked({"region": ["N", "N"], "n": [1, 20]}, value=None, freq="n", rules=RULES[0]),
        "row 2: the cell N is a duplicate of the frame row 1; each cell has one row: remove one, or name the column",
    ),
    "weights of inner cells": (lambda: asked(freq="w", weight="w"), "`weight` has no meaning; leave it out"),
    # frames
    "no rows": (lambda: asked(FRAME[:0]), "there are no rows; the data are empty"),
    "no columns": (lambda: asked(pd.DataFrame()), "the frame has no columns"),
    "a column for a frame": (lambda: asked(FRAME.x), "a Series of pandas; give the whole frame, and name its columns"),
    "an array for a frame": (lambda: asked(FRAME.to_numpy()), "cannot read ndarray; give a pandas, polars"),
    "nothing for a frame": (lambda: asked(None), "cannot read NoneType; give a pandas, polars"),
    "columns of two lengths": (lambda: asked({"region": ["N"], "x": [1, 2]}), "must be lists or arrays of one length"),
    # files
    "a file that is not there": (lambda: asked("records.csv"), "no file 'records.csv'; check its name and its folder"),
    "no file of a pattern": (lambda: asked("2026/*.csv"), "no file matches '2026/*.csv'; check the folder"),
    "a folder without records": (lambda: asked("nothing"), "a folder without Parquet files; name a file in it"),
    "files of two kinds": (lambda: asked("*e*.*"), "matches Parquet files and others; name files of one kind"),
    "an empty file": (lambda: asked("empty.csv"), "empty.csv: the file is empty; it needs a header line and rows"),
    "a header only": (lambda: asked("header.csv"), "header.csv: there are no rows"),
    "a PDF file": (lambda: asked("page.pdf"), "page.pdf: this is a PDF file, and no table; save its table as CSV"),
    "a zip file": (lambda: asked("records.zip"), "records.zip: this is a zip file, and no table; unpack it"),
    "a gzip file": (lambda: asked("packed.csv.gz"), "packed.csv.gz: this is a gzip file, and no table; unpack it"),
    "a picture": (lambda: asked("picture.png"), "picture.png: this is a picture, and no table; name a file"),
    "an old workbook": (lambda: asked("records.xls"), ".xls files are not read; save it as .xlsx or CSV"),
    "an old workbook renamed": (lambda: asked("old.dat"), "this is an old Office file, and no table; save it as .xlsx"),
    "text called Parquet": (lambda: asked("text.parquet"), "text.parquet: not a Parquet file, or a damaged one"),
    "text called Excel": (lambda: asked("text.xlsx"), "text.xlsx: cannot be read"),
    "a line with more fields": (lambda: asked("ragged.csv"), "ragged.csv line 3: more fields than columns; give each"),
    "a header with a name twice": (lambda: asked("twice.csv"), "the header names 'x' twice; give each column a name"),
    "words among numbers": (lambda: asked("words.csv"), "words.csv line 3, column 'x': not a number; write numbers"),
    "thousands separators": (lambda: asked("thousands.csv"), "line 2, column 'x': not a number; write numbers without"),
    "currencies": (lambda: asked("euros.csv"), "euros.csv line 2, column 'x': not a number; write numbers without"),
    "a blank code": (lambda: asked("blank.csv"), "blank.csv line 3, column 'region': the code is blank; give every"),
    # rules
    "no rules": (lambda: cg.protect(FRAME, ["region"], "x"), "say what is sensitive: rules=cg.MinFrequency(3) for"),
    "a share for a percentage": (lambda: asked(rules=cg.PPercent(0.1)), "p is 0.1 %; did you mean 10 %?"),
    "a share in a mapping": (lambda: asked(rules={"dominance": {"n": 2, "k": 0.85}}), "k is 0.85 %; did you mean 85 %"),
    "more than all": (lambda: cg.Dominance(1, 120), "k must be above 0 and below 100 percent, not 120"),
    "n and k exchanged": (lambda: cg.Dominance(85, 2), "did you mean n = 2 and k = 85?"),
    "a rule misspelled": (lambda: asked(rules={"p_precent": 10}), "unknown rule 'p_precent'; did you mean 'p_percent'"),
    "a number for a rule": (lambda: asked(rules=3), "a rule is an object such as cg.PPercent(10), or {'p_percent'"),
    "a class for a rule": (lambda: asked(rules=cg.MinFrequency), "a rule is an object such as cg.PPercent(10)"),
    "half a respondent": (lambda: cg.MinFrequency(2.5), "n must be 1 or more, and whole, not 2.5"),
    # further arguments
    "a hierarchy without a code": (
        lambda: asked(hierarchies={"region": "levels.csv"}),
        "row 3, column 'region': 'W' is not in dimension 'region'; known are 'N', 'S', 'E'",
    ),
    "a hierarchy in a circle": (lambda: asked(hierarchies={"region": "loop.csv"}), "add a row with the total's code"),
    "a hierarchy of nothing": (lambda: asked(hierarchies={"regoin": ["size", "region"]}), "did you mean 'region'?"),
    "columns that do not nest": (
        lambda: asked(with_column("size", ["a", "b", "c", "d", "e"] * 8), hierarchies={"region": ["size", "region"]}),
        "has two parents",
    ),
    "an attack misspelled": (lambda: asked(attack={"lowr": 0}), "attack.lowr: unknown key 'lowr'; did you mean 'lower"),
    "a word for an attack": (lambda: asked(attack="none"), "`attack` must be a mapping, as {'lower': 0}"),
    "a method misspelled": (lambda: asked(method="supress"), "no method 'supress'; did you mean 'suppress'?"),
    "an option misspelled": (lambda: asked(options={"decimal": 1}), "unknown key 'decimal'; did you mean 'decimals'?"),
    "a cost misspelled": (lambda: asked(cost="values"), "`cost`: unknown cost 'values'; did you mean 'value'?"),
    "gaps to be ignored": (lambda: asked(missing="ignore"), "missing must be 'error', 'drop', or a mapping such as"),
    "a formula with a slip": (lambda: cg.protect(FRAME, tables="~ regin", rules=RULES[0]), "did you mean 'region'?"),
    "columns and a formula": (lambda: asked(tables="~ region"), "give one of `by` and `tables`"),
    # habits of pandas
    "names for columns": (lambda: cg.crosstab("region", "size"), "for names of columns take cg.pivot_table(frame,"),
    "columns of two frames": (lambda: cg.crosstab(FRAME.region, FRAME["size"][:5]), "take all columns from one frame"),
    "values without a function": (lambda: cg.crosstab(FRAME.region, FRAME["size"], FRAME.x), "give aggfunc='sum'"),
    "a function without values": (lambda: cg.crosstab(FRAME.region, FRAME["size"], aggfunc="sum"), "give `values`"),
    "a median": (lambda: cg.pivot_table(FRAME, "x", "region", aggfunc="median"), "aggfunc must be 'count', 'sum' or"),
    "gaps filled": (lambda: cg.pivot_table(FRAME, "x", "region", fill_value=0), "leave it out: empty sums and counts"),
    # what came out
    "a code that is none": (
        lambda: asked().crosstab(where={"region": "Q"}),
        "no code 'Q' in dimension 'region'; known",
    ),
    "a dimension that is none": (lambda: asked().crosstab(where={"reg": "N"}), "which is no dimension of the table;"),
    "a cell that is none": (lambda: asked().why("North"), "no table has a cell 'North'; write it as codes or labels"),
    "a table that is none": (lambda: asked().crosstab("t9"), "no table 't9'; known are 'table'"),
    "a file for a folder": (lambda: asked().write("blank.csv"), "is no output folder, so nothing replaces it; choose"),
    "records for a table": (lambda: cg.audit_table(FRAME, by=["region"]), "no row has the total 'Total' in column"),
    "nothing suppressed": (
        lambda: cg.audit_table({"region": ["Total", "N"], "value": [3, 3]}, by=["region"]),
        "no cell of these tables is suppressed; name the column that marks such cells with `flag`",
    ),
    "no folder to verify": (lambda: cg.verify("nowhere"), "name an output folder of cellguard"),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "nothing").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", SLIPS)
def test_each_slip_has_its_cure(here, name):
    ask, words = SLIPS[name]
    before = sorted(path.name for path in here.iterdir())
    with pytest.raises(cg.CellguardError) as caught:
        ask()
    said = str(caught.value)
    assert words in said
    assert not any(secret in said for secret in ("--force", "1180", "tables[0]"))
    assert sorted(path.name for path in here.iterdir()) == before


def test_there_are_sixty():
    assert len(SLIPS) >= 60
