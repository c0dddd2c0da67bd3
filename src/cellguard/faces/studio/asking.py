"""What every answer is made with: the studio, the session, and who may do what."""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import Depends, HTTPException, Request

from cellguard.errors import InputError
from cellguard.faces.studio.sessions import CHECKER, MAKER, Session
from cellguard.faces.studio.studio import Studio
from cellguard.words.retell import retell

Answer = dict[str, Any]


def _studio(request: Request) -> Studio:
    return cast("Studio", request.app.state.studio)


def _session(request: Request) -> Session:
    return cast("Session", request.scope["session"])


def _maker(session: Annotated[Session, Depends(_session)]) -> Session:
    if session.role != MAKER:
        raise HTTPException(403, "only who makes outputs may do this; a checker accepts or refuses them")
    return session


def _checker(session: Annotated[Session, Depends(_session)]) -> Session:
    if session.role != CHECKER:
        raise HTTPException(403, "only who checks outputs may do this")
    return session


Here = Annotated[Studio, Depends(_studio)]
Anyone = Annotated[Session, Depends(_session)]
Maker = Annotated[Session, Depends(_maker)]
Checker = Annotated[Session, Depends(_checker)]


def named(session: Session) -> str:
    """Return the name of who sits there, which every decision carries."""
    if not session.name:
        raise InputError("say who you are first: your name goes into the record of decisions")
    return session.name


def said(summary: Answer) -> Answer:
    """Return what a page shows of a summary, with its sentences in the language of who asks."""
    told = {key: retell(summary[key]) for key in ("headline", "caveat") if isinstance(summary.get(key), str)}
    return {**summary, **told, **({"warnings": list(map(retell, w))} if (w := summary.get("warnings")) else {})}


def refuse_stale(studio: Studio, version: str) -> None:
    """Refuse a change that was made from another version of the job than there is now."""
    if version != studio.job.version:
        raise HTTPException(409, "the job was changed meanwhile, on another page or with an editor; look at it again")


def save_text(studio: Studio, text: str, version: str, who: str, role: str) -> None:
    """Take a new text of the job, and record that."""
    refuse_stale(studio, version)
    folder = studio.job
    if text != folder.text:
        folder.save(text)
        folder.record.add("job", who=who, role=role, said={"version": folder.version})
