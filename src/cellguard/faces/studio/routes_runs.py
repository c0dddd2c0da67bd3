"""Runs: protect with progress, stop, compare, verify, decide, download; and the news that pages watch."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

from fastapi import APIRouter, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, Response, StreamingResponse

from cellguard.errors import CellguardError, InputError
from cellguard.faces.studio.asking import Answer, Anyone, Here, Maker, named, said
from cellguard.faces.studio.models import Decision, ProtectAsked, StopAsked
from cellguard.faces.studio.studio import Studio
from cellguard.faces.studio.work import Work, log
from cellguard.io.stored_view import read_view
from cellguard.pipeline import audit_folder, compare_folders, diff_folders, verify
from cellguard.pipeline.decisions import Standing, decide, protect_job, signed_release, standings
from cellguard.pipeline.job_folder import JobFolder, RunFolder
from cellguard.words.retell import retell

router = APIRouter(prefix="/api")
_BEAT = 0.4  # seconds between two looks at what is new
_QUIET = 15.0  # seconds after which a page hears that the server is there
_MOST_CHANGES = 500


@router.post("/protect")
def protect(asked: ProtectAsked, studio: Here, session: Maker) -> Answer:
    """Begin a run."""
    who, folder, stamp = named(session), studio.job, studio.stamp()
    options: Answer = {"effort": asked.effort} if asked.effort else {}
    if asked.warm:
        earlier = [folder.run(run.number) for run in folder.runs if run.released]
        if not earlier:
            raise InputError("there is no run to begin with")
        options["warm"] = earlier[-1].path

    def act(run: Any) -> int:  # noqa: ANN401
        made = protect_job(folder, options, run, who=who, role=session.role, stamp=stamp)
        log("a run was written")
        return made.number

    work = studio.begin(Work("protect", act, seconds=asked.seconds, threads=studio.limits.threads))
    return {"work": work.plain()}


@router.post("/stop")
def stop(asked: StopAsked, studio: Here, session: Anyone) -> Answer:
    """Ask the work that goes on to end: a search ends with its best safe pattern."""
    if studio.work is None or studio.work.over:
        raise InputError("nothing goes on that could be stopped")
    studio.work.stop(at_once=asked.at_once)
    return {"work": studio.work.plain()}


@router.get("/runs")
def runs(studio: Here, session: Anyone) -> Answer:
    """Return all runs with their verdicts, and how they stand."""
    folder = studio.job
    standing, now = standings(folder), (studio.stamp() if folder.runs else "")
    return {"runs": [_told(folder, run, standing.get(run.number), now) for run in reversed(folder.runs)]}


def _told(folder: JobFolder, run: RunFolder, standing: Standing | None, now: str) -> Answer:
    try:
        summary: Any = folder.run(run.number).output.summary()
    except CellguardError as error:
        return {"number": run.number, "error": retell(str(error))}
    keys = ("headline", "caveat", "verdict", "warnings", "tables", "set", "gap", "cost", "seconds", "folder")
    return {
        "number": run.number,
        "released": run.released,
        "path": run.path.relative_to(run.path.parent.parent).as_posix(),
        "summary": said({key: summary[key] for key in keys if key in summary}),
        "certificate": (run.path / "internal" / "certificate.json").is_file(),
        "report": (run.path / "internal" / "report.html").is_file(),
        "current": standing is not None and standing.stamp == now,
        "standing": None if standing is None else _plain(standing),
        "error": "",
    }


def _plain(standing: Standing) -> Answer:
    last = standing.decided if standing.state in {"accepted", "refused"} else standing.asked
    return {
        "who": standing.who,
        "at": standing.at,
        "command": standing.command,
        "again": standing.again,
        "why": standing.why,
        "state": standing.state,
        "by": last.who if last else "",
        "when": last.at if last else "",
        "reason": last.said.get("reason", "") if last else "",
    }


@router.get("/runs/{number}/difference")
def difference(number: int, studio: Here, session: Anyone, other: int | None = None) -> Answer:
    """Return what differs between a run and the one before, or another one."""
    folder = studio.job
    run = folder.run(number)
    before = [folder.run(n) for n in _before(folder, number)] if other is None else [folder.run(other)]
    if not before:
        return {"other": None, "figures": {}, "changes": [], "many": 0}
    changed = diff_folders(before[-1].path, run.path)
    listed = [[table, cell, old, new] for table, cells in changed.items() for cell, old, new in cells]
    figures = compare_folders(before[-1].path, run.path)
    told = {"figures": figures, "changes": listed[:_MOST_CHANGES], "many": len(listed)}
    return {"other": before[-1].number, **told}


def _before(folder: JobFolder, number: int) -> list[int]:
    """Return the number of the run before, if there is one."""
    return [run.number for run in folder.runs if run.number < number][-1:]


@router.post("/runs/{number}/verify")
def check(number: int, studio: Here, session: Anyone) -> Answer:
    """Check the certificate of a run with the code that shares nothing with what made it."""
    found = verify(studio.job.run(number).path)
    checks = [
        {"number": c.number, "name": retell(c.name), "passed": c.passed, "detail": retell(c.detail)}
        for c in found.checks
    ]
    return {
        "valid": found.valid,
        "checks": checks,
        "warnings": list(map(retell, found.warnings)),
        "trusted": list(map(retell, found.trusted)),
        "not_checked": list(map(retell, found.not_checked)),
    }


@router.post("/runs/{number}/audit")
def begin_audit(number: int, studio: Here, session: Anyone) -> Answer:
    """Begin to attack a run anew, from its stored facts, as an outsider and as each respondent would."""
    path = studio.job.run(number).path
    work = studio.begin(Work("audit", lambda run: audit_folder(path, within=run), threads=studio.limits.threads))
    studio.audited = number, work
    return {"work": work.plain()}


@router.get("/audit")
def audited(studio: Here, session: Anyone) -> Answer:
    """Return what the last attack on a run found."""
    if studio.audited is None:
        return {"run": None, "work": None}
    number, work = studio.audited
    found: Any = work.result
    if found is None:
        return {"run": number, "work": work.plain()}
    keys = ("verdict", "headline", "caveat", "failing")
    told = said({key: found.summary[key] for key in keys if key in found.summary})
    return {"run": number, "work": work.plain(), "summary": told, "safe": found.release is not None}


@router.get("/runs/{number}/download/{what}")
def download(
    number: int,
    what: Literal["release", "certificate", "report", "public-report", "job"],
    studio: Here,
    session: Anyone,
) -> Response:
    """Return a file of a run; the release only if it is signed."""
    folder = studio.job
    run = folder.run(number)
    if what == "release":
        name = f"{folder.path.stem}-{number:03d}-signed.zip"
        return _attached(signed_release(folder, number), name, "application/zip")
    if what == "public-report":
        return _page(run.path / "release" / "report.html")
    if what == "report":
        return _page(run.path / "internal" / "report.html")
    path = run.path / "internal" / ("certificate.json" if what == "certificate" else "job.yaml")
    if not path.is_file():
        raise HTTPException(404, "this run has no such file")
    return FileResponse(path, filename=path.name, media_type="application/octet-stream")


def _attached(content: bytes, name: str, kind: str) -> Response:
    safe = re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)
    return Response(content, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{safe}"'})


def _page(path: Path) -> Response:
    """Return a report under its own policy, apart from this site: it can neither ask here nor see the cookie."""
    if not path.is_file():
        raise HTTPException(404, "this run has no report; pip install 'cellguard[report]' and run again")
    text = path.read_text(encoding="utf-8")
    own = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    policy = own.group(1).replace("&#39;", "'") if own else "default-src 'none'; style-src 'unsafe-inline'"
    policy = f"sandbox allow-scripts allow-modals; frame-ancestors 'self'; {policy}"
    # The guard forbids frames of anything; a report may be shown inside of the studio's own pages.
    return Response(
        text, media_type="text/html", headers={"Content-Security-Policy": policy, "X-Frame-Options": "SAMEORIGIN"}
    )


@router.get("/runs/{number}/public")
def public_view(number: int, table: str, studio: Here, session: Anyone) -> Answer:
    """Return how many cells of a table its release shows."""
    view = read_view(studio.job.run(number).path, table, internal=False)
    return {"cells": len(view.value), "suppressed": sum(status == "suppressed" for status in view.status)}


@router.get("/record")
def record(studio: Here, session: Anyone) -> Answer:
    """Return the record of decisions, newest first."""
    entries = studio.job.record.entries()
    return {"entries": [_shown(entry.plain()) for entry in reversed(entries[-1000:])], "many": len(entries)}


def _shown(entry: Answer) -> Answer:
    said = {key: value for key, value in entry["said"].items() if key not in {"stamp", "changes"}}
    if isinstance(said.get("headline"), str):
        said["headline"] = retell(said["headline"])
    if "changes" in entry["said"]:
        said["changes"] = entry["said"]["changes"][:20]
        said["many"] = len(entry["said"]["changes"])
    return {**entry, "said": said}


@router.post("/decide")
def decided(asked: Decision, studio: Here, session: Anyone) -> Answer:
    """Record a request, a comment, an acceptance or a refusal."""
    entry = decide(studio.job, asked.what, asked.run, asked.reason, who=named(session), role=session.role)
    log(f"a decision was recorded: {asked.what}")
    return {"entry": _shown(entry.plain())}


@router.get("/news")
async def news(request: Request, studio: Here, session: Anyone) -> StreamingResponse:
    """Tell a page what is new, as long as it listens."""
    return StreamingResponse(_news(request, studio), media_type="text/event-stream")


async def _news(request: Request, studio: Studio) -> AsyncIterator[str]:
    last, silent = "", 0.0
    while not (studio.closing or await request.is_disconnected()):
        said = json.dumps(await run_in_threadpool(studio.news))
        if said != last:
            yield f"data: {said}\n\n"
            last, silent = said, 0.0
        elif silent >= _QUIET:
            yield ": still here\n\n"
            silent = 0.0
        await asyncio.sleep(_BEAT)
        silent += _BEAT
