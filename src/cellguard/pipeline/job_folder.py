"""`JobFolder`: a job file with what belongs to it: its runs, statements about single cells, the record of decisions.

All of it is in files beside the job: `job-runs/001` and so on are output folders, `job.decisions.jsonl` is the record,
`job.TABLE.states.csv` are manual states and costs. So a program may end at any moment, and another one goes on.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cellguard.errors import InputError, JobError
from cellguard.inputs.tables import input_files
from cellguard.io.folder import OutputFolder
from cellguard.io.record import Record
from cellguard.io.write import write_text
from cellguard.job.jobfile import Job
from cellguard.job.yamlfile import read_job_text
from cellguard.microdata.address import is_remote
from cellguard.rules.presets import PRESETS

LARGEST = 2_000_000
_RUN = re.compile(r"\d{3,}")


@dataclass(frozen=True)
class RunFolder:
    """One run of a job: its number, and its output folder."""

    number: int
    path: Path

    @property
    def output(self) -> OutputFolder:
        """The output folder."""
        return OutputFolder(self.path)

    @property
    def released(self) -> bool:
        """Whether it has a release."""
        return (self.path / "release").is_dir()

    @property
    def digest(self) -> str:
        """What the release is told by: the sha-256 of its files' names and contents, in order."""
        whole = hashlib.sha256()
        for path in sorted((self.path / "release").rglob("*")):
            if path.is_file():
                name, content = path.relative_to(self.path).as_posix(), path.read_bytes()
                whole.update(f"{len(name)}:{name}:{len(content)}:".encode() + content)
        return whole.hexdigest()


@dataclass(frozen=True)
class JobFolder:
    """A job file and the files that belong to it; nothing that it reads or writes may be outside of ``root``."""

    path: Path
    root: Path
    addresses: frozenset[str] = frozenset()

    @classmethod
    def of(cls, path: Path, root: Path | None = None, addresses: frozenset[str] = frozenset()) -> JobFolder:
        """Return the folder of a job; only these databases may be read, see `addresses_in`."""
        path = path.resolve()
        return cls(path, (root or path.parent).resolve(), addresses)

    @property
    def text(self) -> str:
        """The text of the job; one that is too large is refused, since reading it would hold up everybody."""
        try:
            if self.path.stat().st_size > LARGEST:
                raise JobError(f"{self.path.name}: larger than {LARGEST:,} bytes, too large for a job; is it the data?")
            return self.path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            raise JobError(f"cannot read {self.path.name!r} as a UTF-8 text file") from None

    @property
    def version(self) -> str:
        """The digest of the job's text, by which changes are noticed."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    def load(self) -> Job:
        """Read the job; a path that leads out of the root is refused."""
        return self.check(self.text)

    def save(self, text: str) -> None:
        """Write the job, if it is one and stays inside; what was there before is kept as it is otherwise."""
        if text != self.text:
            self.check(text)
            write_text(self.path, text, force=True)

    def check(self, text: str) -> Job:
        """Return the job that a text would be."""
        data, lines = read_job_text(text, self.path.name)
        policy = data.get("policy") if isinstance(data, Mapping) else None
        if isinstance(policy, str) and policy not in PRESETS:  # which is read before all else is known
            self._refuse({policy: self.path.parent / policy})
        job = Job.parse(data, folder=self.path.parent, source=self.path.name, lines=lines)
        self.refuse_outside(job)
        return job

    def refuse_outside(self, job: Job) -> None:
        """Refuse a job that reads or writes anything outside of the root."""
        for name in _sources(job):
            if is_remote(name) and name not in self.addresses:
                raise JobError(
                    f"{self.path.name}: the database {name!r} was not named when the job was opened here; write it "
                    "into the job with an editor, and start again"
                )
        if job.microdata is not None and job.microdata.files_elsewhere:
            raise JobError(f"{self.path.name}: `files_elsewhere` is for the command line; put the files beside the job")
        named = dict(input_files(job))
        named |= {one.folder: job.path(one.folder) for one in job.previous}
        if job.output and job.output.folder:
            named[job.output.folder] = job.path(job.output.folder)
        self._refuse(named)

    def _refuse(self, named: Mapping[str, Path]) -> None:
        for name, path in named.items():
            if not path.resolve().is_relative_to(self.root):
                raise JobError(
                    f"{self.path.name}: {name!r} is outside of the folder that was chosen; put it there, or start with "
                    "--root and a folder that holds both"
                )

    @property
    def record(self) -> Record:
        """The record of decisions; one that a link leads elsewhere is refused."""
        if self.record_path.is_symlink():
            raise InputError(f"{self.record_path.name} is a link; put the record itself beside the job")
        return Record(self.record_path)

    @property
    def record_path(self) -> Path:
        """Where the record of decisions is."""
        return self.path.with_suffix(".decisions.jsonl")

    @property
    def runs_folder(self) -> Path:
        """The folder of all runs."""
        return self.path.parent / f"{self.path.stem}-runs"

    @property
    def runs(self) -> list[RunFolder]:
        """The runs, oldest first; what a link leads to is no run."""
        if not self.runs_folder.is_dir() or self.runs_folder.is_symlink():
            return []
        named = (p for p in self.runs_folder.iterdir() if _RUN.fullmatch(p.name) and not p.is_symlink())
        paths = (p for p in named if (p / "internal").is_dir())
        return sorted((RunFolder(int(path.name), path) for path in paths), key=lambda run: run.number)

    def run(self, number: int) -> RunFolder:
        """Return a run by its number; one with links in it is refused, since they may lead anywhere."""
        for run in self.runs:
            if run.number == number:
                if any(path.is_symlink() for path in run.path.rglob("*")):
                    raise InputError(f"run {number} has links in its folder, which no run writes; remove them")
                return run
        raise InputError(f"there is no run {number}")

    def next_run(self) -> RunFolder:
        """Return the place of the next run; the folder around it is made."""
        self.runs_folder.mkdir(mode=0o700, exist_ok=True)
        number = max((run.number for run in self.runs), default=0) + 1
        return RunFolder(number, self.runs_folder / f"{number:03d}")


def addresses_in(root: Path) -> frozenset[str]:
    """Return the databases that the jobs of a folder name, as they are now: whoever put them there may read them."""
    found = set[str]()
    for path in sorted(root.iterdir()) if root.is_dir() else ():
        if path.suffix.lower() in {".yaml", ".yml"} and path.is_file():
            with suppress(InputError):
                found |= {name for name in _sources(Job.load(path)) if is_remote(name)}
    return frozenset(found)


def _sources(job: Job) -> tuple[str, ...]:
    cells = [table.cells.source for table in job.tables if table.cells]
    return (*cells, *([job.microdata.source] if job.microdata else []))
