"""Manual states and costs of single cells: set, taken back, and set again, with every step in the record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellguard.errors import InputError, did_you_mean
from cellguard.inputs.records import column_of
from cellguard.io.record import Entry
from cellguard.io.states_file import Codes, Said, StatesFile
from cellguard.job.edit import set_key, table_place
from cellguard.job.jobfile import Job
from cellguard.job.registry import declared
from cellguard.job.specs import TableSpec
from cellguard.pipeline.job_folder import JobFolder

SET, UNDO, REDO = "states", "undo", "redo"


@dataclass(frozen=True)
class Change:
    """What is said of one cell, before and after."""

    table: str
    codes: Codes
    was: Said
    now: Said

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Change:
        """Read it back from the record."""
        return cls(data["table"], tuple(data["codes"]), data["was"], data["now"])

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {"table": self.table, "codes": list(self.codes), "was": dict(self.was), "now": dict(self.now)}

    def reverse(self) -> Change:
        """Return the change that takes this one back."""
        return Change(self.table, self.codes, self.now, self.was)


def set_states(
    folder: JobFolder, table: str, cells: Sequence[Codes], said: Said, *, who: str, role: str
) -> list[Change]:
    """Say something of cells of a table, as ``{"status": "must_publish"}`` or ``{"cost": "5"}``; "" takes it back.

    The job's file of statements is changed, and named in the job if it had none.
    """
    job = folder.load()
    file = _read(folder, job, _spec(job, table))
    changes = []
    for codes in dict.fromkeys(cells):
        was = {name: file.of(codes).get(name, "") for name in said}
        if was != dict(said):
            changes.append(Change(table, codes, was, dict(said)))
            file = file.changed(codes, said)
    if changes:
        _write(folder, job, table, file)
        folder.record.add(SET, who=who, role=role, said={"changes": [change.plain() for change in changes]})
    return changes


def undo(folder: JobFolder, *, who: str, role: str) -> list[Change]:
    """Take back the last change that is not taken back already."""
    done, _ = history(folder.record.entries())
    if not done:
        raise InputError("nothing is left to undo")
    return _apply(folder, [change.reverse() for change in done[-1]], UNDO, who, role)


def redo(folder: JobFolder, *, who: str, role: str) -> list[Change]:
    """Make the last change again that was taken back."""
    _, undone = history(folder.record.entries())
    if not undone:
        raise InputError("nothing is left to redo")
    return _apply(folder, undone[-1], REDO, who, role)


def history(entries: Sequence[Entry]) -> tuple[list[list[Change]], list[list[Change]]]:
    """Return the changes that hold, and those that were taken back and may be made again; the last ones last."""
    done, undone = list[list[Change]](), list[list[Change]]()
    for entry in entries:
        if entry.what == SET:
            done.append([Change.parse(change) for change in entry.said["changes"]])
            undone.clear()
        elif entry.what == UNDO and done:
            undone.append(done.pop())
        elif entry.what == REDO and undone:
            done.append(undone.pop())
    return done, undone


def _apply(folder: JobFolder, changes: Sequence[Change], what: str, who: str, role: str) -> list[Change]:
    job, files = folder.load(), dict[str, StatesFile]()
    for change in changes:
        file = files.get(change.table) or _read(folder, job, _spec(job, change.table))
        there = {name: file.of(change.codes).get(name, "") for name in change.was}
        if there != dict(change.was):
            raise InputError(
                f"{'/'.join(change.codes)} of table {change.table!r} was changed elsewhere meanwhile; set it by hand"
            )
        files[change.table] = file.changed(change.codes, change.now)
    for table, file in files.items():
        _write(folder, job, table, file)
    folder.record.add(what, who=who, role=role, said={"changes": [change.plain() for change in changes]})
    return list(changes)


def said_of(folder: JobFolder, table: str) -> Mapping[Codes, Said]:
    """Return what the job's file says of the cells of a table."""
    job = folder.load()
    return _read(folder, job, _spec(job, table)).said


def _spec(job: Job, table: str) -> TableSpec:
    for spec in job.tables:
        if spec.name == table:
            if not declared(spec.protect.method).attacked:
                raise InputError(f"table {table!r} is not suppressed, so its cells have no states")
            return spec
    raise InputError(f"no table {table!r}{did_you_mean(table, [spec.name for spec in job.tables])}")


def _path(folder: JobFolder, job: Job, spec: TableSpec) -> Path:
    return job.path(spec.apriori) if spec.apriori else folder.path.with_suffix(f".{spec.name}.states.csv")


def _read(folder: JobFolder, job: Job, spec: TableSpec) -> StatesFile:
    path = _path(folder, job, spec)
    if not spec.apriori and path.exists():
        raise InputError(f"{path.name} is there, but the job does not name it; name it with `apriori`, or move it away")
    return StatesFile.read(path, [column_of(job, name) for name in spec.by], spec.by)


def _write(folder: JobFolder, job: Job, table: str, file: StatesFile) -> None:
    spec = _spec(job, table)
    path = _path(folder, job, spec)
    if spec.apriori:
        file.write(path)
        return
    text = set_key(folder.text, [*table_place(folder.text, table), "apriori"], path.name)
    folder.check(text)  # before anything is written
    file.write(path)
    folder.save(text)
