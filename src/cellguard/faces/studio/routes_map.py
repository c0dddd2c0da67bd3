"""Maps: the map before and after as other settings would have it, and settings that are written into the job."""

from __future__ import annotations

from fastapi import APIRouter

from cellguard.errors import InputError
from cellguard.faces.studio.asking import Answer, Anyone, Here, Maker, named, said, save_text
from cellguard.faces.studio.models import MapSettings
from cellguard.faces.studio.studio import Studio
from cellguard.job.jobfile import Job
from cellguard.methods.maps.report.drawn import drawn_of
from cellguard.methods.maps.spec import table_of
from cellguard.methods.maps.trial import SETTINGS, settings_of, with_settings

router = APIRouter(prefix="/api")


@router.post("/map/try")
def try_map(asked: MapSettings, studio: Here, session: Anyone) -> Answer:
    """Return the map before and after by other settings than the job's, or by its own; nothing is changed."""
    job = _map_of(studio, asked)
    trial = studio.map_trial(job)
    done = trial.made(job)
    summary = done.summary().plain()
    name = table_of(job).name
    told = said({key: summary[key] for key in ("verdict", "headline", "caveat", "warnings")})
    about = {
        "name": name,
        "method": job.method,
        "settings": settings_of(job),
        "size": getattr(done.tiles.grid, "size", None),
        "points": trial.located.can_be_sized,
    }
    return {**about, **told, "figures": summary["tables"][name], "map": drawn_of(done)}


@router.put("/map")
def save_map(asked: MapSettings, studio: Here, session: Maker) -> Answer:
    """Write settings of the map into the job."""
    job = _map_of(studio, asked)
    text = with_settings(studio.job.text, asked.said(), job.method)
    save_text(studio, text, asked.version, named(session), session.role)
    return {"version": studio.job.version}


def _map_of(studio: Studio, asked: MapSettings) -> Job:
    """Return the job of a map as these settings would have it."""
    folder = studio.job
    job = folder.load()
    if job.method not in SETTINGS:
        raise InputError("this job makes no map")
    changed = asked.said()
    return folder.check(with_settings(folder.text, changed, job.method)) if changed else job
