"""Runs of a job and what people decide of them: who makes outputs asks, who checks accepts or refuses with a reason."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from cellguard.errors import InputError
from cellguard.io.record import Entry
from cellguard.io.write import check_room
from cellguard.job.jobfile import Job
from cellguard.pipeline.folders import verify_if_possible
from cellguard.pipeline.job_folder import JobFolder, RunFolder
from cellguard.pipeline.jobs import run as run_job
from cellguard.pipeline.people import plain_name, same_person
from cellguard.run_context import Run

MAKER, CHECKER = "maker", "checker"
RUN, REQUEST, COMMENT, ACCEPT, REFUSE = "run", "request", "comment", "accept", "refuse"
_MAY: Mapping[str, Sequence[str]] = {MAKER: (REQUEST, COMMENT), CHECKER: (COMMENT, ACCEPT, REFUSE)}
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Standing:
    """How a run stands: who ran it and by which command, and what was decided last.

    ``again`` says that the command gives the same release, byte for byte; else ``why`` not: the search was ended
    ``early`` or had a time limit, or the method draws ``random`` numbers that are secret.
    """

    run: int
    who: str
    at: str
    command: str
    again: bool
    why: str
    version: str
    stamp: str
    decided: Entry | None
    asked: Entry | None

    @property
    def state(self) -> str:
        """Say it in a word: made, requested, accepted or refused."""
        if self.decided is not None and (self.asked is None or self.decided.number > self.asked.number):
            return {ACCEPT: "accepted", REFUSE: "refused"}[self.decided.what]
        return "made" if self.asked is None else "requested"


def protect_job(
    folder: JobFolder, asked: Mapping[str, Any], within: Run, *, who: str, role: str, stamp: str
) -> RunFolder:
    """Protect the tables of a job as `cellguard protect` does, into the next run's folder, and record it."""
    job = folder.load()
    place = folder.next_run()
    check_room(place.path)
    version = folder.version
    outcome = run_job(job, folder=place.path, within=within, **asked)
    place.output.write(outcome, run=within.endless())
    early = within.cancel.stopped or within.deadline is not None
    why = "early" if early else "" if outcome.method.repeats else "random"
    said = {
        "run": place.number,
        "command": command_of(folder, job, asked, place),
        "again": not why,
        "why": why,
        "version": version,
        "stamp": stamp,
        "headline": outcome.verdict.text,
        "released": outcome.release is not None,
    }
    folder.record.add(RUN, who=who, role=role, said=said)
    return place


def command_of(folder: JobFolder, job: Job, asked: Mapping[str, Any], place: RunFolder) -> str:
    """Return the command that does the same, to be given in the job's folder."""
    drawn = place.path / "internal" / "multipliers.parquet"
    words = ["cellguard", "perturb" if drawn.is_file() else "protect", _quoted(folder.path.name), "--out", "out"]
    if drawn.is_file():
        words += ["--multipliers", _quoted(_relative(folder, drawn))]
    if asked.get("effort"):
        words += ["--effort", str(asked["effort"])]
    if asked.get("warm"):
        words += ["--warm", _quoted(_relative(folder, asked["warm"]))]
    if any(getattr(table.protect, "random", False) for table in job.tables):
        words += ["--seed-from", _quoted(_relative(folder, place.path))]
    return " ".join(words)


def _relative(folder: JobFolder, path: Any) -> str:  # noqa: ANN401
    return str(path.relative_to(folder.path.parent).as_posix())


def _quoted(name: str) -> str:
    plain = all(letter.isalnum() or letter in "_-./" for letter in name)
    return name if plain else "'" + name.replace("'", "'\\''") + "'"


def standings(folder: JobFolder) -> dict[int, Standing]:
    """Return how each run stands, by its number."""
    found: dict[int, Standing] = {}
    entries = folder.record.entries()
    for entry in (entry for entry in entries if entry.what == RUN):
        number = int(entry.said["run"])
        # A run's folder may be removed and its number used again: what was decided before is not about this one.
        about = [e for e in entries if e.number > entry.number and e.said.get("run") == number]
        decided = next((e for e in reversed(about) if e.what in (ACCEPT, REFUSE)), None)
        asked = next((e for e in reversed(about) if e.what == REQUEST), None)
        said = entry.said
        told = said["command"], bool(said["again"]), said["why"], said["version"], said["stamp"]
        found[number] = Standing(number, entry.who, entry.at, *told, decided, asked)
    return found


def decide(folder: JobFolder, what: str, number: int, reason: str, *, who: str, role: str) -> Entry:
    """Record what somebody decides of a run.

    Accepted is only what has a release and a certificate that holds, by somebody else than who ran it or asked for it.
    """
    run, standing = folder.run(number), standings(folder).get(number)
    if what not in _MAY.get(role, ()):
        raise InputError(f"a {role} cannot {what}; a {role} may {' or '.join(_MAY.get(role, ['look']))}")
    if what in (REFUSE, COMMENT) and not reason.strip():
        raise InputError("say why" if what == REFUSE else "write the comment")
    said: dict[str, Any] = {"run": number, "reason": reason.strip()}
    if what in (ACCEPT, REQUEST):
        if standing is None:
            raise InputError(f"run {number} was not made here, so nobody answers for it; protect again")
        if not run.released:
            raise InputError(f"run {number} has no release")
        said["digest"] = run.digest
    if what == ACCEPT and standing is not None:
        makers = {standing.who, standing.asked.who if standing.asked else standing.who}
        if any(same_person(plain_name(who), maker) for maker in makers):
            raise InputError(f"{who} made this output; somebody else must accept it")
        _refuse_unproven(run)
    return folder.record.add(what, who=who, role=role, said=said)


def _refuse_unproven(run: RunFolder) -> None:
    found = verify_if_possible(run.path)
    if found is not None and not found.valid:
        raise InputError(f"the certificate of run {run.number} does not hold; see what `cellguard verify` says")


def signed_release(folder: JobFolder, number: int) -> bytes:
    """Return the release of an accepted run as a ZIP file with the sign-off; the same bytes each time.

    A release that was changed since it was accepted is refused.
    """
    run, standing = folder.run(number), standings(folder).get(number)
    if standing is None or standing.state != "accepted" or standing.decided is None:
        raise InputError(f"run {number} was not accepted yet; a checker signs it first")
    entry = standing.decided
    if entry.said.get("digest") != run.digest:
        raise InputError(f"the release of run {number} was changed after it was accepted; find out why, and run again")
    signed = {"run": number, "accepted_by": entry.who, "at": entry.at, "release_sha256": entry.said["digest"]}
    release = run.path / "release"
    files = {p.relative_to(release).as_posix(): p.read_bytes() for p in sorted(release.rglob("*")) if p.is_file()}
    whole = BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in {**files, "sign-off.json": json.dumps(signed, indent=1).encode() + b"\n"}.items():
            about = zipfile.ZipInfo(name, _EPOCH)
            about.compress_type, about.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            made.writestr(about, content)
    return whole.getvalue()
