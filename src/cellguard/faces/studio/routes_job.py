"""The folder, its data and the job: who is there, uploads, what columns are, the job's text and its rules."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import APIRouter, HTTPException, Request

from cellguard.errors import CellguardError, InputError
from cellguard.faces.studio.asking import Answer, Anyone, Here, Maker, named, save_text
from cellguard.faces.studio.models import JobText, NewJob, Opening, Options, Rules, Who
from cellguard.faces.studio.studio import JOBS, Studio
from cellguard.faces.studio.unpacked import unpacked_size
from cellguard.faces.studio.work import log
from cellguard.io.write import write_text
from cellguard.job.edit import set_key, table_place
from cellguard.job.jobfile import Job
from cellguard.job.rulespec import dump_rule, parse_rule
from cellguard.methods.suppress.costs import COSTS
from cellguard.methods.suppress.engines.catalogue import ENGINES
from cellguard.pipeline.job_folder import LARGEST, JobFolder
from cellguard.pipeline.people import plain_name
from cellguard.rules.described import described
from cellguard.scratch import scratch_in
from cellguard.suggest.described import Chosen, compose_job, compose_map, describe_data
from cellguard.suggest.init import suggest_job
from cellguard.words.retell import retell

router = APIRouter(prefix="/api")
DATA = (".csv", ".parquet", ".xlsx", ".sav", ".dta", ".sas7bdat", ".txt", ".tab", ".asc", ".dat", ".rda", ".hrc")
_OTHERS = (".yaml", ".yml")


@router.get("/session")
def session_of(studio: Here, session: Anyone) -> Answer:
    """Return who asks, with which rights, and what is open."""
    return {
        "role": session.role,
        "name": session.name,
        "word": session.csrf,
        "folder": studio.home.name,
        "job": studio.folder.path.name if studio.folder else None,
        "data": studio.data,
        "largest": studio.limits.upload,
        "version": version("cellguard"),
    }


@router.post("/who")
def introduce(who: Who, session: Anyone) -> Answer:
    """Take the name of who sits there."""
    session.name = plain_name(who.name)
    return {"name": session.name}


@router.get("/files")
def list_files(studio: Here, session: Anyone) -> Answer:
    """Return the jobs and the data files of the folder."""
    names = sorted(e.name for e in os.scandir(studio.home) if e.is_file() and not e.name.startswith("."))
    own = (".states.csv", ".decisions.jsonl")
    data = [n for n in names if Path(n).suffix.lower() in DATA and not n.endswith(own)]
    return {"jobs": [n for n in names if n.lower().endswith(JOBS)], "data": data}


@router.put("/files/{name}")
async def upload(name: str, request: Request, studio: Here, session: Maker) -> Answer:
    """Take a file into the folder, for its owner's eyes only; nothing that is there is replaced."""
    path = studio.inside(name)
    if len(Path(name).parts) != 1 or path.suffix.lower() not in (*DATA, *_OTHERS):
        raise InputError(f"only data files and jobs are taken: {', '.join((*DATA, *_OTHERS))}")
    if path.exists():
        raise HTTPException(409, f"there is a file {name!r} already; give yours another name")
    most = LARGEST if path.suffix.lower() in _OTHERS else studio.limits.upload
    size = 0
    with scratch_in(studio.home) as work:
        new = work.path / "new"
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            async for chunk in request.stream():
                size += len(chunk)
                if size > most:
                    raise HTTPException(413, f"the file is larger than {most:,} bytes, the most allowed")
                file.write(chunk)
        if not size:
            raise InputError("the file is empty")
        if unpacked_size(new) > most:
            raise HTTPException(413, f"the file is larger than {most:,} bytes, the most allowed")
        try:
            os.link(new, path)  # fails if another one was faster
        except FileExistsError:
            raise HTTPException(409, f"there is a file {name!r} already; give yours another name") from None
    log("a file was uploaded")
    return {"name": name, "bytes": size}


@router.get("/data/{name}")
def look_at_data(name: str, studio: Here, session: Anyone) -> Answer:
    """Return what the columns of a data file seem to be."""
    path = studio.inside(name)
    if path.suffix.lower() not in DATA or not path.is_file():
        raise HTTPException(404, f"there is no data file {name!r}")
    return describe_data(path).plain()


@router.post("/jobs")
def make_job(new: NewJob, studio: Here, session: Maker) -> Answer:
    """Make a job of a data file and open it."""
    data, path = studio.inside(new.data), studio.inside(new.job)
    if data.suffix.lower() not in DATA or not data.is_file() or data.parent != path.parent:
        raise HTTPException(404, f"there is no data file {new.data!r}")
    if path.exists():
        raise HTTPException(409, f"there is a job {new.job!r} already; choose another name")
    if new.map:
        suggested = compose_map(data, new.map.x, new.map.y, new.map.size)
    elif new.tables:
        tables = tuple((tuple(table.by), table.value) for table in new.tables)
        levels = {column: tuple(chain) for column, chain in new.levels.items()}
        suggested = compose_job(data, Chosen(tables, {str(k): v for k, v in new.roles.items()}, levels, new.files))
    else:
        suggested = suggest_job(data, path.parent)
    for name, text in suggested.files.items():
        write_text(studio.inside(name), text, confidential=True)
    write_text(path, suggested.text)
    studio.open(new.job)
    return _told(studio)


@router.post("/open")
def open_job(asked: Opening, studio: Here, session: Anyone) -> Answer:
    """Open another job of the folder."""
    studio.open(asked.job)
    return _told(studio)


@router.get("/job")
def job_told(studio: Here, session: Anyone) -> Answer:
    """Return the open job: its text, what it says, and what is wrong with it."""
    return _told(studio)


@router.put("/job")
def save_job(asked: JobText, studio: Here, session: Maker) -> Answer:
    """Take a new text of the job."""
    return _changed(studio, asked.text, asked.version, named(session), session.role)


@router.get("/rules")
def rules_told(session: Anyone) -> Answer:
    """Return all rules in words."""
    return {"rules": [{k: getattr(rule, k) for k in rule.__dataclass_fields__} for rule in described()]}


@router.post("/rules/try")
def try_rules(asked: Rules, studio: Here, session: Anyone) -> Answer:
    """Count the cells that rules would call unsafe; nothing is changed."""
    return studio.trial().count({name: [parse_rule(rule) for rule in rules] for name, rules in asked.rules.items()})


@router.put("/rules")
def save_rules(asked: Rules, studio: Here, session: Maker) -> Answer:
    """Write rules into the job."""
    text = studio.job.text
    for table, rules in asked.rules.items():
        for rule in rules:
            parse_rule(rule)
        text = set_key(text, [*table_place(text, table), "rules"], rules)
    return _changed(studio, text, asked.version, named(session), session.role)


@router.put("/options")
def save_options(asked: Options, studio: Here, session: Maker) -> Answer:
    """Write how the tables are protected into the job, the same for all that its text lists."""
    folder = studio.job
    text = folder.text
    for spec in folder.load().tables:
        try:
            place = table_place(text, spec.name)
        except CellguardError:
            continue  # a table of counts that another one brings along
        said = {key: value for key, value in spec.protect.model_dump(exclude_unset=True).items() if value is not None}
        text = set_key(text, [*place, "protect"], said | {str(k): v for k, v in asked.options.items()})
    return _changed(studio, text, asked.version, named(session), session.role)


def _changed(studio: Studio, text: str, version: str, who: str, role: str) -> Answer:
    save_text(studio, text, version, who, role)
    return _told(studio)


def _told(studio: Studio) -> Answer:
    folder = studio.job
    text = folder.text
    said: Answer = {"name": folder.path.name, "text": text, "version": folder.version, "error": ""}
    try:
        job = folder.check(text)
    except InputError as error:
        return said | {"error": retell(str(error)), "tables": [], "method": ""}
    return said | {"tables": _tables(job, folder), "method": job.method, "costs": list(COSTS), "engines": list(ENGINES)}


def _tables(job: Job, folder: JobFolder) -> Sequence[dict[str, Any]]:
    text, told = folder.text, []
    for spec in job.tables:
        try:
            table_place(text, spec.name)
            own = True
        except CellguardError:
            own = False
        options = {k: v for k, v in spec.protect.model_dump().items() if isinstance(v, (str, int, bool)) or v is None}
        told.append(
            {
                "name": spec.name,
                "by": list(spec.by),
                "value": spec.value,
                "own": own,
                "rules": [dump_rule(rule) for rule in spec.rules],
                "words": [str(rule) for rule in spec.rules],
                "options": options,
            }
        )
    return told
