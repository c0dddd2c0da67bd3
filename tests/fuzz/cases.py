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


ROLES = ("holding", "weight", "waiver", "request")  # each is the name of its column, too


@dataclass(frozen=True)
class Records:
    """The truth: one code per column and one value per response of each record, and the roles that the job gives.

    ``holding`` says to whom a record belongs; ``weight`` is a whole number; ``waiver`` and ``request`` are yes or no.
    """

    codes: Mapping[str, Sequence[str]]
    values: Mapping[str, Sequence[int]]
    holding: Sequence[str] | None = None
    weight: Sequence[int] | None = None
    waiver: Sequence[str] | None = None
    request: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(next(iter(self.codes.values())))

    @property
    def roles(self) -> dict[str, Sequence[Any]]:
        """The columns of the roles that there are."""
        return {name: column for name in ROLES if (column := getattr(self, name)) is not None}

    def text(self) -> str:
        """The records as a CSV file, in their order."""
        columns = {"id": range(len(self)), **self.codes, **self.roles, **self.values}
        return csv_text(list(columns), zip(*columns.values(), strict=True))


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
    """Read records; columns of whole numbers are values, but for the id and the weight."""
    header, rows = read_csv(text)
    columns = {name: [row[i] for row in rows] for i, name in enumerate(header) if name != "id"}
    roles: dict[str, Any] = {name: columns.pop(name) for name in ROLES if name in columns}
    if "weight" in roles:
        roles["weight"] = [int(text) for text in roles["weight"]]
    whole = {name for name, column in columns.items() if all(text.removeprefix("-").isdigit() for text in column)}
    return Records(
        {name: column for name, column in columns.items() if name not in whole},
        {name: [int(text) for text in column] for name, column in columns.items() if name in whole},
        **roles,
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
