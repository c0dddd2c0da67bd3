"""The application: the pages, the answers, and errors in the user's words."""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import cache
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from starlette.types import ASGIApp

from cellguard.errors import CellguardError, InternalError
from cellguard.faces.studio import routes_compare, routes_job, routes_map, routes_runs, routes_table
from cellguard.faces.studio.guard import Guard
from cellguard.faces.studio.sessions import Sessions
from cellguard.faces.studio.studio import Studio
from cellguard.faces.studio.work import log, told
from cellguard.words.catalogue import translation
from cellguard.words.language import LANGUAGES, Language
from cellguard.words.retell import retell

_KINDS = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
_WORDS = "words.json"
_HEXAGONS = "hexagons.js"  # which pages of maps share


def create_app(studio: Studio) -> FastAPI:
    """Return the application without its guard, as tests of the answers ask it."""
    app = FastAPI(title="cellguard studio", docs_url=None, redoc_url=None, openapi_url="/api/openapi.json")
    app.state.studio = studio
    for routes in (routes_job, routes_table, routes_map, routes_runs, routes_compare):
        app.include_router(routes.router)
    app.add_exception_handler(CellguardError, _in_words)
    app.add_exception_handler(HTTPException, _plain)
    app.add_exception_handler(RequestValidationError, _not_understood)
    app.add_exception_handler(Exception, _bug)
    app.get("/", include_in_schema=False)(_first_page)
    app.get(f"/assets/{_WORDS}", include_in_schema=False)(_words)
    app.get("/assets/{name}", include_in_schema=False)(_asset)
    return app


def guarded(studio: Studio, sessions: Sessions, hosts: Collection[str], port: int) -> ASGIApp:
    """Return the application behind its guard, which is what is served."""
    return Guard(create_app(studio), sessions, hosts, port)


def _first_page() -> Response:
    return _file("index.html")


def _words() -> Response:
    return Response(_all_words(), media_type=_KINDS[".json"])


@cache
def _all_words() -> str:
    """Return what the pages say, by its key, in every language."""
    said = json.loads(files("cellguard.faces.studio").joinpath("assets", _WORDS).read_text(encoding="utf-8"))
    return json.dumps({key: {one: said_in(one, key, text) for one in LANGUAGES} for key, text in said.items()})


def said_in(language: Language, key: str, text: str) -> str:
    """Return a text of the pages in a language: of this key, of the studio, or of all of cellguard; else in English."""
    contexts = (f"studio {key}", "studio", "")
    return next((told for place in contexts if (told := translation(text, language, place))), text)


def _asset(name: str) -> Response:
    return _file(name)


def _file(name: str) -> Response:
    home = Path(str(files("cellguard.faces.studio").joinpath("assets")))
    known = {path.name: path for path in home.iterdir() if path.suffix in _KINDS}
    known[_HEXAGONS] = Path(str(files("cellguard.report").joinpath("templates", "map.js")))
    if name not in known:
        raise HTTPException(404, "there is no such page")
    return FileResponse(known[name], media_type=_KINDS[known[name].suffix])


async def _in_words(request: Request, error: Exception) -> Response:
    if isinstance(error, InternalError):
        return await _bug(request, error)
    return JSONResponse({"error": retell(str(error))}, 422)


async def _plain(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 400
    return JSONResponse({"error": retell(str(getattr(error, "detail", "")))}, status)


async def _not_understood(request: Request, error: Exception) -> Response:
    parts = error.errors() if isinstance(error, RequestValidationError) else []
    where = ", ".join(sorted({".".join(map(str, part["loc"][1:])) or "the body" for part in parts}))
    return JSONResponse({"error": retell(f"this is not understood: {where[:300]}")}, 422)


async def _bug(request: Request, error: Exception) -> Response:
    log(f"internal error: {type(error).__name__}")
    return JSONResponse({"error": told(error)}, 500)
