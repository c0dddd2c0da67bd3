"""`Studio`: the job that the pages look at. What it keeps in memory can be made again from the job's folder."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

from cellguard.errors import InputError
from cellguard.faces.studio.work import Work
from cellguard.inputs.assessment import Assessment
from cellguard.inputs.tables import input_files
from cellguard.job.jobfile import Job
from cellguard.job.registry import declared
from cellguard.methods.maps.trial import MapTrial, reading_of
from cellguard.pipeline import assess_job
from cellguard.pipeline.folders import Explainer
from cellguard.pipeline.job_folder import JobFolder, addresses_in
from cellguard.pipeline.rule_trial import RuleTrial
from cellguard.pipeline.sheets import sheet_of_findings, sheet_of_folder
from cellguard.views.sheet import Sheet

T = TypeVar("T")
_KEPT = 12  # things that are made from files and kept
JOBS = (".yaml", ".yml")


@dataclass(frozen=True)
class Limits:
    """What the server allows: bytes of an upload, threads of the search."""

    upload: int = 500_000_000
    threads: int = 1


class Studio:
    """One folder, and one job in it that is open. Safe to use from several threads.

    ``home`` is where jobs and data are, ``root`` what nothing is read or written outside of; ``data`` is a file that
    was named at the start.
    """

    def __init__(
        self,
        home: Path,
        job: str | None = None,
        limits: Limits = Limits(),  # noqa: B008
        *,
        root: Path | None = None,
        data: str | None = None,
    ) -> None:
        self.home, self.root, self.limits = home.resolve(), (root or home).resolve(), limits
        self.data = data
        self.folder: JobFolder | None = None
        self.work: Work | None = None
        self.compared: Work | None = None
        self.audited: tuple[int, Work] | None = None
        self.closing = False
        self._assessing: tuple[str, Work] | None = None
        self._lock = RLock()
        self._kept: OrderedDict[object, Any] = OrderedDict()
        self._parsed: tuple[str, Job | InputError] | None = None
        self._addresses = addresses_in(self.home)
        if job is not None:
            self.open(job)

    @property
    def job(self) -> JobFolder:
        """The open job."""
        if self.folder is None:
            raise InputError("no job is open; choose one, or make one from a data file")
        return self.folder

    def inside(self, name: str) -> Path:
        """Return the path of a file of the folder; names that lead out of it, and hidden ones, are refused."""
        parts = Path(name).parts
        bad = not name or "\0" in name or "\\" in name or len(name) > 200 or any(part.startswith(".") for part in parts)
        path = self.home / name
        if bad or Path(name).is_absolute() or not path.resolve().is_relative_to(self.root):
            raise InputError("this is no name of a file in the folder")
        return path

    def open(self, name: str) -> JobFolder:
        """Open a job of the folder."""
        path = self.inside(name)
        if path.suffix.lower() not in JOBS or not path.is_file():
            raise InputError(f"there is no job {name!r} in the folder")
        folder = JobFolder.of(path, self.root, self._addresses)
        _ = folder.text  # which says what is wrong with a file that is none
        with self._lock:
            if self.work is not None and not self.work.over:
                raise InputError("work on the open job goes on; stop it, or wait")
            if self.folder is None or self.folder.path != folder.path:
                self.folder, self._assessing = folder, None
                self.work = self.compared = self.audited = None
                self._kept.clear()
        return self.job

    @property
    def is_suppressed(self) -> bool:
        """Whether the job's tables are suppressed, so that their cells may have states."""
        return declared(self.job.load().method).attacked

    def stamp(self) -> str:
        """Return what tells whether anything that the findings depend on has changed: the job, and its files."""
        folder = self.job
        version = folder.version
        with self._lock:
            if self._parsed is None or self._parsed[0] != f"{folder.path} {version}":
                self._parsed = f"{folder.path} {version}", _loaded(folder)
            job = self._parsed[1]
        if isinstance(job, InputError):
            return f"{version} {job}"
        return " ".join([version, *(f"{name}:{_state(path)}" for name, path in sorted(input_files(job).items()))])

    def tag(self) -> str:
        """Return the stamp as pages hear of it; of a job that can no longer be read, as one."""
        try:
            return _short(self.stamp())
        except InputError as error:
            return _short(str(error))

    def assessing(self) -> tuple[Assessment | None, Work]:
        """Return what the rules find in the job as it is now, if that is known, and the work that finds it out.

        It begins when somebody asks. Until it is over, and if it fails, there is None.
        """
        with self._lock:
            stamp = self.stamp()
            if self._assessing is None or self._assessing[0] != stamp:
                if self._assessing is not None and not self._assessing[1].over:
                    self._assessing[1].stop(at_once=True)
                folder = self.job
                self._assessing = stamp, Work("assess", lambda run: assess_job(folder.load(), within=run)).start()
            work = self._assessing[1]
            found: Assessment | None = work.result
            return found, work

    def assessed(self, wait: float | None = 20.0) -> Assessment:
        """Return what the rules find in the job as it is now; an error says why it cannot be had."""
        _, work = self.assessing()
        work.wait(wait)
        found, work = self.assessing()
        if found is None:
            raise InputError(work.error or "the tables are still being made; ask again in a moment")
        return found

    def sheet(self, table: str, run: int | None) -> Sheet:
        """Return a table as a sheet: as the rules find it now, or as a run left it."""
        if run is None:
            found = self.assessed()
            return self._keep(("now", id(found), table), partial(sheet_of_findings, found, table), holding=found)
        path = self.job.run(run).path
        return self._keep(("run", run, table, _state(path)), partial(sheet_of_folder, path, table))

    def explainer(self, run: int) -> Explainer:
        """Return what a run knows of its cells."""
        path = self.job.run(run).path
        return self._keep(("explain", run, _state(path)), partial(Explainer.of, path))

    def trial(self) -> RuleTrial:
        """Return the job's tables, ready for any rules; those of a job whose rules alone differ are the same."""
        job = self.job.load()
        bare = {**job.model_dump(), "tables": [{**t.model_dump(), "rules": []} for t in job.tables]}
        files = [f"{name}:{_state(path)}" for name, path in sorted(input_files(job).items())]
        return self._keep(("trial", str(bare), *files), partial(RuleTrial.of, job))

    def map_trial(self, job: Job) -> MapTrial:
        """Return the points of a job's map, ready for any settings; those of a job that reads the same are the same."""
        files = [f"{name}:{_state(path)}" for name, path in sorted(input_files(job).items())]
        return self._keep(("map", reading_of(job), *files), partial(MapTrial.of, job))

    def _keep(self, key: object, make: Callable[[], T], holding: object = None) -> T:
        """Return what is kept under a key, or make it; the last few things are kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                kept: T = self._kept[key][0]
                return kept
        made = make()
        with self._lock:
            self._kept[key] = made, holding
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return made

    def begin(self, work: Work) -> Work:
        """Begin long work on the job, one piece at a time."""
        with self._lock:
            if self.work is not None and not self.work.over:
                raise InputError(f"{self.work.kind} goes on; stop it, or wait for its end")
            self.work = work
            return work.start()

    def news(self) -> Mapping[str, Any]:
        """Return what pages watch: when a part of it changes, they ask for that part again."""
        said: dict[str, Any] = {"folder": _listing(self.home), "work": self.work.plain() if self.work else None}
        folder = self.folder
        if folder is not None:
            assessing = self._assessing[1].plain() if self._assessing else None
            said |= {"job": folder.path.name, "stamp": self.tag(), "assess": assessing}
            said |= {"record": _state(folder.record_path), "runs": [run.number for run in folder.runs]}
        return said


def _loaded(folder: JobFolder) -> Job | InputError:
    try:
        return folder.load()
    except InputError as error:
        return error


def _state(path: Path) -> str:
    try:
        seen = path.stat()
    except OSError:
        return "-"
    return f"{seen.st_mtime_ns}.{seen.st_size}"


def _listing(folder: Path) -> str:
    try:
        return _short(" ".join(sorted(entry.name for entry in os.scandir(folder))))
    except OSError:
        return "-"


def _short(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]
