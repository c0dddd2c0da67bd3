"""Somebody who rewrites an output folder and makes all files agree again, as far as he can.

He has cellguard's own writers for the release, computes counts and digests anew, and knows the format.
"""

import csv
import json
import shutil
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.io import stored_run
from cellguard.io.writers.release_files import write_release
from cellguard.methods.suppress.report.page import public_page
from cellguard.table.pattern import Release, ReleasedTable
from unit.verifier import folders

import quick_yaml

HIDDEN = ("primary", "secondary")


class Forger:
    """An output folder that is being rewritten; tables are lists of rows, each a dict of texts."""

    def __init__(self, out):
        self.out = Path(out)
        self.document = json.loads((self.out / "internal/certificate.json").read_text(encoding="utf-8"))
        self.job = quick_yaml.load((self.out / "internal/job.yaml").read_text(encoding="utf-8"))
        self.summary = json.loads((self.out / "internal/summary.json").read_text(encoding="utf-8"))
        self.names = [table["name"] for table in self.document["tables"]]
        self.rows = {name: self._read_rows(name) for name in self.names}
        self.facts = {name: pq.read_table(self._facts(name)).to_pylist() for name in self.names}
        self.kinds = {name: pq.read_schema(self._facts(name)) for name in self.names}
        self.moves = pq.read_table(self.out / "internal/certificate.parquet").to_pylist()
        self.between = pq.read_table(self.out / "internal/world.parquet").to_pylist()
        self.later = []

    def _facts(self, name):
        return self.out / f"internal/facts/{name}.parquet"

    def _read_rows(self, name):
        with (self.out / f"internal/{name}.csv").open(newline="", encoding="utf-8") as stream:
            return list(csv.DictReader(stream))

    def spec(self, name):
        """What certificate and stored job say of a table."""
        at = self.names.index(name)
        return self.document["tables"][at], self.job["tables"][at]

    def at(self, name, status, skip=0):
        """The position of a row of this status."""
        return [i for i, row in enumerate(self.rows[name]) if row["status"] == status][skip]

    def cell(self, name, **codes):
        return next(i for i, row in enumerate(self.rows[name]) if codes.items() <= row.items())

    def copies(self, name, at):
        """All rows of one distinct cell: (table, position)."""
        wanted = self._identity(name, at)
        return [(n, i) for n in self.names for i in range(len(self.rows[n])) if self._identity(n, i) == wanted]

    def _identity(self, name, at):
        about, row = self.spec(name)[0], self.rows[name][at]
        codes = frozenset((d, row[d]) for d in about["by"] if row[d] != "Total")
        return about["response"], about["population"], codes

    def show(self, name, at):
        """Publish a cell in all tables, and leave it out of every need."""
        for n, i in self.copies(name, at):
            self.rows[n][i] |= {"status": "published", "need_lower": "", "need_upper": "", "need_sliding": ""}

    def without_idle_cells(self):
        """Publish every secondary, and take out all witnesses: what is left when nothing is unsafe any more."""
        for name in self.names:
            for i, row in enumerate(self.rows[name]):
                if row["status"] == "secondary":
                    self.show(name, i)
        self.moves = []

    def value(self, name, at, change):
        """Change a value and the total of its facts by so much, in all tables that show the cell."""
        for n, i in self.copies(name, at):
            new = Decimal(self.rows[n][i]["value"]) + change
            self.rows[n][i]["value"] = f"{new:f}".rstrip("0").rstrip(".") if "." in f"{new:f}" else f"{new:f}"
            self.facts[n][i]["total"] = float(new)

    def move_rows(self, name, order):
        """Put the rows of a table into another order (or leave some out), and let everything follow."""
        place, table = {old: new for new, old in enumerate(order)}, self.names.index(name)
        self.rows[name] = [self.rows[name][i] for i in order]
        self.facts[name] = [self.facts[name][i] for i in order]
        moves = [m for m in self.moves if m["table"] != table or m["row"] in place]
        self.moves = [m | {"row": place[m["row"]]} if m["table"] == table else m for m in moves]
        for terms in self.document["known"]:
            terms[:] = [[t, place[r]] if t == table else [t, r] for t, r in terms if t != table or r in place]

    def write(self):
        """Write all files so that they agree with each other, then what was kept for later, then the digests."""
        for name in self.names:
            self._write_table(name)
        numbers = {old: new for new, old in enumerate(dict.fromkeys(m["witness"] for m in self.moves))}
        self.moves = [m | {"witness": numbers[m["witness"]]} for m in self.moves]
        kinds = pq.read_schema(self.out / "internal/certificate.parquet")
        pq.write_table(pa.Table.from_pylist(self.moves, kinds), self.out / "internal/certificate.parquet")
        self.document["witnesses"] = len(numbers)
        kinds = pq.read_schema(self.out / "internal/world.parquet")
        pq.write_table(pa.Table.from_pylist(self.between, kinds), self.out / "internal/world.parquet")
        self._release()
        self._summarise()
        folders.write_json(self.out / "internal/summary.json", self.summary)
        folders.write_json(self.out / "internal/certificate.json", self.document)
        folders.write_job(self.out, self.job)
        for change in self.later:
            change(self.out)
        return folders.seal(self.out)

    def _write_table(self, name):
        header = list(self.rows[name][0])
        lines = [header, *([row[c] for c in header] for row in self.rows[name])]
        folders.write_csv(self.out / f"internal/{name}.csv", lines)
        pq.write_table(pa.Table.from_pylist(self.facts[name], self.kinds[name]), self._facts(name))

    def _release(self):
        tables = tuple(self._released(name) for name in self.names)
        shutil.rmtree(self.out / "release")
        dimensions = {d: stored_run.read_dimension(self.out / "internal", d) for t in tables for d in t.by}
        release = Release.of(tables, dimensions)
        write_release(self.out / "release", release, ["parquet", "xlsx"])
        (self.out / "release/report.html").write_text(public_page(release), encoding="utf-8")

    def _released(self, name):
        about = self.spec(name)[0]
        rows = [row for row in self.rows[name] if row["status"] != "unpublished"]
        place = Decimal(1).scaleb(-about["decimals"])
        value = ["" if row["status"] in HIDDEN else f"{Decimal(row['value']).quantize(place):f}" for row in rows]
        codes = tuple(np.array([row[d] for row in rows], object) for d in about["by"])
        hidden = np.array([text == "" for text in value], bool)
        more = about["response"], about["population"], about["decimals"]
        return ReleasedTable.of_texts(name, tuple(about["by"]), codes, value, hidden, *more)

    def _summarise(self):
        words = {"published", "primary", "secondary", "unpublished"}
        found = {word: set() for word in words}
        for name in self.names:
            rows = self.rows[name]
            for i, row in enumerate(rows):
                found[row["status"]].add(self._identity(name, i))
            counts = {word: sum(row["status"] == word for row in rows) for word in words}
            hidden = sum(Decimal(row["value"]) for row in rows if row["status"] in HIDDEN)
            self.summary["tables"][name] |= counts | {"cells": len(rows), "suppressed_value": float(hidden)}
        self.summary["set"] |= {"cells": len(set().union(*found.values())), "witnesses": self.document["witnesses"]}
        self.summary["set"] |= {word: len(found[word]) for word in HIDDEN}


def page(change):
    """Change the data of the public page once everything is written."""

    def later(out):
        path = out / "release/report.html"
        text = path.read_text(encoding="utf-8")
        begin = text.index('id="grids">') + len('id="grids">')
        end = text.index("</script>", begin)
        data = json.loads(text[begin:end])
        change(data["tables"])
        path.write_text(text[:begin] + json.dumps(data) + text[end:], encoding="utf-8")

    return later


def text(name, old, new):
    """Replace a text in a file once everything is written."""

    def later(out):
        before = (out / name).read_text(encoding="utf-8")
        assert old in before
        (out / name).write_text(before.replace(old, new, 1), encoding="utf-8")

    return later
