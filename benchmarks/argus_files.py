"""Batches of τ-ARGUS against published results: python benchmarks/argus_files.py FOLDER [INSEE]

FOLDER holds the public batches (`ex1`, `ex2` of checkTauArgus, `sas1`, `sas3` of SAS2Argus), INSEE the example tables
of rtauargus (turnover_act_size.csv, turnover_act_cj.csv, activity_corr_table.csv, indiv_dt.csv). All run on copies;
exit 1 if a bar is missed.
"""

from __future__ import annotations

import csv
import itertools
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cellguard.argus.batch_run import BatchRun
from cellguard.argus.logbook import Logbook
from cellguard.argus.own_table import ArgusTable, letter

PROGRAM = Path(sys.executable).with_name("cellguard")
PATTERN = list("ssssxussssxxsss")  # of ex1 and ex2, in the order of the file
Row = dict[str, str | float]
_LEVELS = {"ACTIVITY": ("A10", "A21", "A88"), "NUTS": ("NUTS1", "NUTS2", "NUTS3"), "SIZE": ("SIZE",), "CJ": ("CJ",)}


class Line(NamedTuple):
    """What is printed of one measurement, and whether it meets its bar."""

    words: str
    met: bool = True


class Ran(NamedTuple):
    """A batch that ran: its tables, CPU seconds of the whole, and what its classical methods left."""

    tables: list[ArgusTable]
    seconds: float
    left: str = ""

    @property
    def words(self) -> str:
        """Its tables in a few words."""
        found = [
            f"{int(t.unsafe.sum())} U, {int(t.secondary.sum())} M worth {t.value[t.secondary].sum():,.0f}"
            for t in self.tables
        ]
        return f"{'; '.join(found)}; {self.seconds:.1f} CPU s{self.left}"


def run(path: Path) -> Ran:
    """Run a batch, check its proof with `verify`, and return its tables."""
    start, said = time.process_time(), list[str]()
    batch = BatchRun(path, Logbook(path.with_suffix(".log")), say=said.append)
    if batch.run() != 0:
        sys.exit("\n".join(said))
    seconds = time.process_time() - start
    subprocess.run([PROGRAM, "verify", batch.folder / "results", "-q"], check=True)
    return Ran(batch.tables, seconds, "".join(f"; {text}" for text in said if "under-protected" in text))


def public(folder: Path) -> Iterator[Line]:
    """Measure the public batches against what was published with them."""
    for name, file, total in (("ex1", "batch_ex1.arb", "5146"), ("ex2", "batch_ex2.arb", "10484.95")):
        ran = run(folder / name / file)
        lines = (folder / name / f"tabout_{name}.txt").read_text().splitlines()[1:]
        marks = {"U": "u", "M": "x"}
        found = [marks.get(letter(int(line.rsplit(",", 1)[1])), "s") for line in lines]
        first = lines[0].split(",")[2]
        met = found == PATTERN and first == total
        yield Line(f"{name}: {' '.join(found)}, total {first}; {ran.words} (bar: as published)", met)
    ran = run(folder / "sas1" / "Example1.ARB")
    table = ran.tables[0]
    met = (int(table.unsafe.sum()), int(table.secondary.sum())) == (15, 4)
    yield Line(f"sas1: {ran.words} (bar: 15 U, 4 M, 4,954)", met and table.value[table.secondary].sum() == 4954)
    published = (folder / "sas3" / "Example3_Out_5_1.csv").read_text().splitlines()
    ran = run(folder / "sas3" / "Example3.ARB")
    table = ran.tables[0]
    unsafe = {tuple(c.strip(' "') for c in x.split(";")[:3]) for x in published if ";U;" in x.replace(" ", "")}
    ours = {
        tuple(s.tree.codes[c].strip() for s, c in zip(table.spanning, table.codes[row], strict=True))
        for row in table.unsafe.nonzero()[0].tolist()
    }
    met = unsafe == ours and table.secondary.sum() <= 200 and table.value[table.secondary].sum() <= 10_500
    same = "the same primaries" if unsafe == ours else "OTHER primaries"
    yield Line(f"sas3: {ran.words}, {same} (bar: 200 M, 10,500, 10 CPU s)", bool(met) and ran.seconds <= 10)
    for method in ("GH(1,40,0)", "MOD(1,5,0,0,0)"):
        path = _classical(folder / "sas3" / "Example3.ARB", "GH(1,40,0)", method)
        yield Line(f"sas3, classical {method}: {run(path).words}")


def _classical(path: Path, old: str, new: str) -> Path:
    """Write the same batch with a classical method beside it."""
    text = path.read_text().replace(old, new).replace("<READ", "<CELLGUARD> METHODS classical\n<READ", 1)
    other = path.with_name(f"classical_{new[:2]}.arb")
    other.write_text(text.replace("Example3.LOG", f"{other.stem}.log").replace("Example3_Out", f"{other.stem}_Out"))
    return other


def insee(source: Path, work: Path) -> Iterator[Line]:
    """Measure batches of INSEE's tables in the shapes that rtauargus gives them."""
    activity = _tree(source / "activity_corr_table.csv", ("A10", "A21", "A88"), work / "activity.hrc")
    size, form = (_cells(source / f"turnover_act_{name}.csv") for name in ("size", "cj"))
    one = {"act_size": (("ACTIVITY", "SIZE"), size)}
    trees = {"ACTIVITY": activity}
    ran = run(_batch(work / "constant", one, trees, "OPT(1,5)", cost="-2"))
    table = ran.tables[0]
    yield Line(f"act_size, cost 1 a cell: {ran.words} (bar: 77 U, 60 M)", int(table.secondary.sum()) == 60)
    ran = run(_batch(work / "value", one, trees, "OPT(1,5)"))
    yield Line(f"act_size, cost value: {ran.words} (published: 77 U, 64 M, 49.22 million)")
    for method in ("GH(1,40,0)", "MOD(1,5,0,0,0)"):
        path = _classical(_batch(work / method[:2], one, trees, method), method, method)
        yield Line(f"act_size, classical {method}: {run(path).words}")
    two = one | {"act_cj": (("ACTIVITY", "CJ"), form)}
    yield Line(f"2 linked: {run(_batch(work / 'two', two, trees, 'MOD(0,5,1,0,0)')).words} (published 83 and 88 M)")
    path = _batch(work / "both", two, trees, "MOD(0,5,0,0,0)")
    yield Line(f"2 linked, classical MOD: {run(_classical(path, 'MOD', 'MOD')).words}")
    records = _records(source)
    trees = {name: _tree(source / "indiv_dt.csv", _LEVELS[name], work / f"{name}.hrc") for name in ("ACTIVITY", "NUTS")}
    by = {"act_size": ("ACTIVITY", "SIZE"), "act_cj": ("ACTIVITY", "CJ")}
    by |= {"nuts_size": ("NUTS", "SIZE"), "nuts_cj": ("NUTS", "CJ")}
    four = {name: (spanning, _tabulated(records, spanning)) for name, spanning in by.items()}
    yield Line(f"4 linked, of records: {run(_batch(work / 'four', four, trees, 'MOD(0,5,1,0,0)')).words}")
    spanning = ("ACTIVITY", "SIZE", "CJ")
    three = {"act_size_cj": (spanning, _tabulated(records, spanning))}
    yield Line(f"3-D, of records: {run(_batch(work / 'three', three, trees, 'MOD(1,5,1,0,0)')).words}")


def _batch(
    folder: Path,
    tables: Mapping[str, tuple[Sequence[str], list[Row]]],
    trees: Mapping[str, Path],
    suppress: str,
    cost: str = "",
) -> Path:
    """Write a batch with its files as rtauargus does, run nothing, and return its path."""
    folder.mkdir()
    lines = ["// Batch generated by package *rtauargus*"]
    for name, (by, rows) in tables.items():
        columns = [*by, "TOT", "N_OBS", "MAX"]
        text = [",".join(f"{row[c]:>20}" for c in columns) for row in rows]
        (folder / f"{name}.tab").write_text("\n".join(text) + "\n")
        rda = ['   <SEPARATOR> ","', '   <SAFE> "s"', '   <UNSAFE> "u"', '   <PROTECT> "p"']
        for variable in by:
            rda += [variable, "  <RECODEABLE>", '  <TOTCODE> "Total"']
            if variable in trees:
                rda += ["  <HIERARCHICAL>", f'  <HIERCODELIST> "{trees[variable]}"', '  <HIERLEADSTRING> "@"']
        rda += ["TOT", "  <NUMERIC>", "  <DECIMALS> 4", "N_OBS", "  <FREQUENCY>", "MAX", "  <MAXSCORE>"]
        (folder / f"{name}.rda").write_text("\n".join(rda) + "\n")
        unsafe = [r for r in rows if 0 < float(r["N_OBS"]) < 3 or float(r["MAX"]) > 0.85 * float(r["TOT"])]
        (folder / f"{name}.hst").write_text("".join(",".join(str(r[b]) for b in by) + ",u\n" for r in unsafe))
        lines += [f'<OPENTABLEDATA> "{folder / name}.tab"', f'<OPENMETADATA> "{folder / name}.rda"']
        spanning = "".join(f'"{variable}"' for variable in by)
        lines += [f'<SPECIFYTABLE> {spanning}|"TOT"||{cost}', "<SAFETYRULE> MAN(10)"]
    lines.append("<READTABLE> 1")
    for number, name in enumerate(tables, 1):
        lines.append(f'<APRIORI> "{folder / name}.hst",{number},",",0,0')
    lines.append(f"<SUPPRESS> {suppress}")
    for number, name in enumerate(tables, 1):
        lines.append(f'<WRITETABLE> ({number},4,AS+,"{folder / name}.csv")')
    path = folder / "batch.arb"
    path.write_text("\n".join(lines) + "\n")
    return path


def _cells(path: Path) -> list[Row]:
    with path.open(newline="") as file:
        return [dict(row) for row in csv.DictReader(file)]


def _tree(source: Path, columns: Sequence[str], file: Path) -> Path:
    """Write the file of a hierarchy, a column per level; a code that two levels repeat comes once."""
    paths = {tuple(dict.fromkeys(str(row[c]) for c in columns)) for row in _cells(source)}
    lines: dict[tuple[str, ...], str] = {}
    for path in sorted(paths):
        for depth in range(1, len(path) + 1):
            lines.setdefault(path[:depth], "@" * (depth - 1) + path[depth - 1])
    file.write_text("\n".join(lines.values()) + "\n")
    return file


def _records(source: Path) -> list[dict[str, tuple[str, ...] | int]]:
    """Return each firm's codes at all levels, and its turnover in units of a tenth."""
    found: list[dict[str, tuple[str, ...] | int]] = []
    for row in _cells(source / "indiv_dt.csv"):
        above = {
            "ACTIVITY": ("A10", "A21", "A88"),
            "NUTS": ("NUTS1", "NUTS2", "NUTS3"),
            "SIZE": ("SIZE",),
            "CJ": ("CJ",),
        }
        codes = {n: ("Total", *dict.fromkeys(str(row[c]) for c in columns)) for n, columns in above.items()}
        found.append({**codes, "value": round(10 * float(row["TURNOVER"]))})
    return found


def _tabulated(records: Sequence[Mapping[str, tuple[str, ...] | int]], by: Sequence[str]) -> list[Row]:
    cells: dict[tuple[str, ...], list[int]] = {}
    for record in records:
        value = record["value"]
        assert isinstance(value, int)
        for codes in itertools.product(*(record[name] for name in by)):  # type: ignore[misc]
            n, total, largest = cells.get(codes, [0, 0, 0])
            cells[codes] = [n + 1, total + value, max(largest, value)]
    return [
        {**dict(zip(by, codes, strict=True)), "N_OBS": n, "TOT": total / 10, "MAX": largest / 10}
        for codes, (n, total, largest) in cells.items()
    ]


def main(folder: str, *others: str) -> int:
    """Print a line per measurement; return 1 if one misses its bar."""
    missed = False
    with tempfile.TemporaryDirectory(prefix="cellguard-") as work:
        copy = Path(work, "public")
        shutil.copytree(folder, copy)
        parts = [public(copy), *(insee(Path(other), Path(work)) for other in others)]
        for line in itertools.chain(*parts):
            print(f"{'ok    ' if line.met else 'MISSED'} {line.words}", flush=True)
            missed |= not line.met
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
