"""A case: one job with all its files, and the records that lie behind its tables."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

RECORDS = "records.csv"


@dataclass(frozen=True)
class Records:
    """The truth: one code a column, one value a response and perhaps a holding for each record."""

    codes: Mapping[str, Sequence[str]]
    values: Mapping[str, Sequence[int]]
    holding: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(next(iter(self.codes.values())))

    def text(self) -> str:
        """The records as a CSV file, in their order."""
        groups = {} if self.holding is None else {"holding": self.holding}
        columns = {"id": range(len(self)), **self.codes, **groups, **self.values}
        return csv_text(list(columns), zip(*columns.values(), strict=True))

    def take(self, order: Sequence[int]) -> Records:
        """The records in another order."""
        return Records(
            {name: [column[i] for i in order] for name, column in self.codes.items()},
            {name: [column[i] for i in order] for name, column in self.values.items()},
            None if self.holding is None else [self.holding[i] for i in order],
        )


@dataclass(frozen=True)
class Case:
    """A job as plain data, the text of every file that it names, the records, and words for what is special in it."""

    job: Mapping[str, Any]
    files: Mapping[str, str]
    records: Records
    features: tuple[str, ...] = ()
    seed: int = 0
    attempt: int = 0

    def write_files(self, folder: Path) -> None:
        """Write the files that the job names, and the records."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in {**self.files, RECORDS: self.records.text()}.items():
            (folder / name).write_text(text, encoding="utf-8")

    def write(self, folder: Path, report: str = "") -> Path:
        """Write a folder that stands by itself: ``cellguard protect folder/job.yaml --out DIR`` repeats the case."""
        self.write_files(folder)
        plain = json.loads(json.dumps(self.job))  # so that nothing in it is an alias of something else
        (folder / "job.yaml").write_text(yaml.safe_dump(plain, sort_keys=False), encoding="utf-8")
        if report:
            (folder / "report.txt").write_text(report, encoding="utf-8")
        return folder


def read_case(folder: Path) -> Case:
    """Read a folder that `Case.write` wrote."""
    job = yaml.safe_load((folder / "job.yaml").read_text(encoding="utf-8"))
    files = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.csv")}
    return Case(job, files, read_records(files[RECORDS]))


def read_records(text: str) -> Records:
    """Read records; columns of whole numbers are values, but for the id."""
    header, rows = read_csv(text)
    columns = {name: [row[i] for row in rows] for i, name in enumerate(header) if name != "id"}
    holding = columns.pop("holding", None)
    whole = {name for name, column in columns.items() if all(text.isdigit() for text in column)}
    return Records(
        {name: column for name, column in columns.items() if name not in whole},
        {name: [int(text) for text in column] for name, column in columns.items() if name in whole},
        holding,
    )


def csv_text(header, rows) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def read_csv(text: str) -> tuple[list[str], list[list[str]]]:
    header, *rows = csv.reader(io.StringIO(text))
    return header, rows
