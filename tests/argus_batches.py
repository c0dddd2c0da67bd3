"""Small batches with files of their own, in the shapes that other programs write."""

import io
from pathlib import Path

from cellguard.argus.batch_run import BatchRun
from cellguard.argus.logbook import Logbook

RECORDS = [  # region, size, holding, asked, weight, turnover, cost
    ("N1", "s", "h1", "0", 1.0, 80.0, 5),
    ("N1", "s", "h1", "0", 2.0, 12.0, 5),
    ("N1", "b", "h2", "1", 1.0, 400.0, 9),
    ("N1", "b", "h3", "0", 1.5, 30.0, 1),
    ("N2", "s", "h4", "0", 1.0, 55.0, 3),
    ("N2", "s", "h5", "2", 1.0, 60.0, 3),
    ("N2", "s", "h6", "0", 4.0, 58.0, 3),
    ("N2", "b", "h7", "0", 1.0, 210.0, 8),
    ("N2", "b", "h8", "0", 1.0, 190.0, 8),
    ("N2", "b", "h9", "0", 1.0, 205.0, 8),
    ("S1", "s", "i1", "0", 1.0, 20.0, 2),
    ("S1", "s", "i2", "0", 1.0, 21.0, 2),
    ("S1", "s", "i3", "0", 1.0, 22.0, 2),
    ("S1", "s", "i4", "0", 1.0, 19.0, 2),
    ("S1", "b", "i5", "0", 1.0, 310.0, 7),
    ("S1", "b", "i6", "1", 1.0, 5.0, 7),
    ("S2", "s", "i7", "0", 1.0, 0.0, 4),
    ("S2", "s", "i8", "0", 1.0, 0.0, 4),
    ("S2", "b", "j1", "0", 1.0, 100.0, 6),
    ("S2", "b", "j2", "0", 1.0, 120.0, 6),
    ("S2", "b", "j3", "0", 1.0, 90.0, 6),
    ("S2", "b", "j4", "0", 1.0, 95.0, 6),
    ("99", "b", "j5", "0", 1.0, 50.0, 6),
    ("99", "s", "j6", "0", 1.0, 45.0, 6),
]
RDA = """<SEPARATOR> ","
Region 2 99
  <RECODEABLE>
  <TOTCODE> "Total"
  <HIERARCHICAL>
  <HIERCODELIST> "region.hrc"
  <HIERLEADSTRING> "@"
Size 3
  <RECODEABLE>
Group 3
  <HOLDING>
Ask 1
  <REQUEST> "1" "2"
Weight 5
  <NUMERIC>
  <WEIGHT>
Turnover 9
  <NUMERIC>
  <DECIMALS> 1
Cost 5
  <NUMERIC>
"""
HRC = "N\n@N1\n@N2\nS\n@S1\n@S2\n"
TAB = [  # a table that adds up: region, size, value, freq, largest, second, status, levels
    ("Total", "Total", 300, 30, 70, 40, "s", "", ""),
    ("Total", "s", 120, 16, 30, 20, "s", "", ""),
    ("Total", "b", 180, 14, 70, 40, "s", "", ""),
    ("N", "Total", 110, 12, 70, 20, "s", "", ""),
    ("N", "s", 30, 8, 9, 8, "s", "", ""),
    ("N", "b", 80, 4, 70, 4, "u", 20, 30),
    ("S", "Total", 100, 10, 30, 20, "s", "", ""),
    ("S", "s", 50, 5, 30, 10, "s", "", ""),
    ("S", "b", 50, 5, 20, 12, "s", "", ""),
    ("W", "Total", 90, 8, 40, 20, "s", "", ""),
    ("W", "s", 40, 3, 20, 12, "s", "", ""),
    ("W", "b", 50, 5, 40, 4, "s", "", ""),
]
TAB_RDA = """   <SEPARATOR> ","
   <SAFE> "s"
   <UNSAFE> "u"
   <PROTECT> "p"
Region
  <RECODEABLE>
  <TOTCODE> "Total"
Size
  <RECODEABLE>
  <TOTCODE> "Total"
Value
  <NUMERIC>
Firms
  <FREQUENCY>
First
  <MAXSCORE>
Second
  <MAXSCORE>
Status
  <STATUS>
Low
  <NUMERIC> <LOWERPL>
High
  <NUMERIC> <UPPERPL>
"""


def micro_folder(folder, end="\n", encoding="utf-8", records=RECORDS):
    """Write the records with their metadata and hierarchy."""
    lines = [",".join(map(str, record)) for record in records]
    Path(folder, "firms.asc").write_bytes((end.join(lines) + end).encode(encoding))
    Path(folder, "firms.rda").write_bytes(RDA.replace("\n", end).encode(encoding))
    Path(folder, "region.hrc").write_bytes(HRC.replace("\n", end).encode(encoding))
    return Path(folder)


def tab_folder(folder, rows=TAB, rda=TAB_RDA, separator=",", comma=False, end="\n"):
    """Write a ready-made table with its metadata; their names differ."""
    lines = [separator.join(str(x).replace(".", ",") if comma else str(x) for x in row) for row in rows]
    Path(folder, "cells.tab").write_text(end.join(lines) + end, newline="")
    Path(folder, "about_cells.rda").write_text(rda.replace('","', f'"{separator}"', 1))
    return Path(folder)


def micro_batch(specify, rule, *more):
    """A batch about the records; ``more`` are further lines."""
    head = ['<OPENMICRODATA> "firms.asc"', '<OPENMETADATA> "firms.rda"', f"<SPECIFYTABLE> {specify}"]
    return "\n".join([*head, f"<SAFETYRULE> {rule}", "<READMICRODATA>", *more, ""])


def tab_batch(rule, *more, read="0", specify='"Region""Size"|"Value"||'):
    """A batch about the ready-made table."""
    head = ['<OPENTABLEDATA> "cells.tab"', '<OPENMETADATA> "about_cells.rda"', f"<SPECIFYTABLE> {specify}"]
    return "\n".join([*head, f"<SAFETYRULE> {rule}", f"<READTABLE> {read}", *more, ""])


def run_batch(folder, text, name="b.arb", expect=0, **how):
    """Run a batch; return all that it said."""
    path = Path(folder, name)
    path.write_text(text)
    said = io.StringIO()
    logbook = Logbook(Path(folder, "log.txt"))
    status = BatchRun(path, logbook, say=lambda line: said.write(line + "\n"), **how).run()
    logbook.close()
    assert status == expect, said.getvalue()
    return said.getvalue()


def statuses(path):
    """The statuses of a code-value file with AS+, by the codes of each cell."""
    rows = [line.replace('"', "").split(",") for line in Path(path).read_text().splitlines()]
    return {tuple(code.strip() for code in row[:-2]): int(row[-1]) for row in rows if row[-1].isdigit()}
