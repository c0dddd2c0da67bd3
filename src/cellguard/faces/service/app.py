"""The application: questions in, answers out, and every fault in words."""

from __future__ import annotations

from collections import OrderedDict
from importlib.resources import files
from pathlib import Path
from threading import Lock

import numpy as np
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp

from cellguard.answers.answer import Answer
from cellguard.answers.answering import AnsweringSource
from cellguard.answers.question import Question
from cellguard.errors import CellguardError, InternalError
from cellguard.faces.service.asking import KINDS, about, question_of_body, question_of_query, rendered
from cellguard.faces.service.audit_log import AuditLog
from cellguard.faces.service.gate import Gate
from cellguard.faces.service.keys import Users, read_keys
from cellguard.faces.service.sdmx_paths import flow_csv, flow_of, flows
from cellguard.io.writers.sdmx_ids import code_ids, name_ids
from cellguard.io.writers.sdmx_structure import RESERVED, structure_message
from cellguard.pipeline.sources import open_source
from cellguard.table.pattern import Release, ReleasedTable

KEY = "x-api-key"
_FILES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_RENDERED = 500
_DOCS = (("format", "json, csv, arrow or sdmx"), ("value", "what is summed"), ("by", "a variable; several times"))


class Service:
    """A source behind HTTP, with its users and its log."""

    def __init__(self, folder: Path, *, open_to_all: bool, workers: int = 1) -> None:
        self.source: AnsweringSource = open_source(folder)
        per_minute = max(1, self.source.spec.limits.per_minute // workers)
        self.users = Users(read_keys(folder), per_minute=per_minute, open_to_all=open_to_all)
        self.log = AuditLog(folder)
        self._ready: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._lock = Lock()

    def close(self) -> None:
        """Let go of the source and the log."""
        self.source.close()
        self.log.close()

    def user(self, request: Request) -> str:
        """Return who asks; refuse strangers, and those who ask too often."""
        given = request.headers.get(KEY)
        bearer = request.headers.get("authorization", "")
        if given is None and bearer.lower().startswith("bearer "):
            given = bearer[7:].strip()
        user = self.users.of(given)
        if user is None:
            raise HTTPException(401, f"give your key in the header {KEY}", {"WWW-Authenticate": "Bearer"})
        if not self.users.may_ask(user):
            self.log.tell(user, "", "too often")
            raise HTTPException(429, "you ask too often; wait a minute", {"Retry-After": "60"})
        return user

    def answer(self, question: Question, user: str) -> Answer:
        """Answer a question, and write to the log how it ended."""
        try:
            answer = self.source.ask(question, who=user)
        except InternalError:
            self.log.tell(user, question.words, "internal error")
            raise
        except CellguardError:
            self.log.tell(user, question.words, "not understood")
            raise
        end = ("repeated" if answer.repeated else "answered") if answer.answered else "refused"
        self.log.tell(user, question.words, end, number=answer.number)
        return answer

    def told(self, question: Question, kind: str, user: str) -> Response:
        """Answer a question in a format."""
        answer = self.answer(question, user)
        status = 200 if answer.answered or kind == "json" else 409
        kind = kind if answer.answered else "json"
        name = (question.digest, kind)
        ready = self._ready.get(name) if answer.repeated else None
        if ready is None:
            ready = rendered(self.source, answer, kind)
            if answer.number:  # what depends on the user is not kept
                with self._lock:
                    self._ready[name] = ready
                    while len(self._ready) > _RENDERED:
                        self._ready.popitem(last=False)
        headers = {"X-Repeated": str(answer.repeated).lower()}
        return Response(ready, status, headers, media_type=KINDS[kind])


def create_app(service: Service) -> FastAPI:
    """Return the application without its gate."""
    app = FastAPI(
        title=service.source.spec.title,
        version="1",
        description="Tables of one source, each checked with all that was answered before.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.service = service
    _add_tables(app, service)
    _add_sdmx(app, service)
    app.add_exception_handler(CellguardError, _in_words)
    app.add_exception_handler(HTTPException, _plain)
    app.add_exception_handler(RequestValidationError, _not_understood)
    app.add_exception_handler(Exception, _bug)
    app.get("/", include_in_schema=False)(lambda: _file("index.html"))
    app.get("/assets/{name}", include_in_schema=False)(_file)
    return app


def gated(service: Service, hosts: list[str]) -> ASGIApp:
    """Return the application behind its gate, which is what is served."""
    return Gate(create_app(service), hosts)


def _add_tables(app: FastAPI, service: Service) -> None:
    @app.get("/api/about", summary="What may be asked, what was told so far, and what is checked")
    def tell_about(request: Request) -> Response:
        return JSONResponse(about(service.source, service.user(request)))

    parameters = [
        {"name": name, "in": "query", "schema": {"type": "string"}, "description": words}
        for name, words in (*_DOCS, ("where", "variable:code"), ("level", "variable:number, 0 is the total"))
    ]

    @app.get("/api/table", summary="Ask for a table by a query", openapi_extra={"parameters": parameters})
    def by_query(request: Request) -> Response:
        user = service.user(request)
        question, kind = question_of_query(request.query_params.multi_items())
        return service.told(question, kind, user)

    body = {"content": {"application/json": {"schema": {"type": "object"}}}, "required": True}

    @app.post("/api/table", summary="Ask for a table by an object", openapi_extra={"requestBody": body})
    async def by_body(request: Request) -> Response:
        user = service.user(request)
        question, kind = question_of_body(await request.body())
        return await run_in_threadpool(service.told, question, kind, user)


def _add_sdmx(app: FastAPI, service: Service) -> None:
    def data(request: Request, flow: str, key: str) -> Response:
        user = service.user(request)
        wanted = flow_of(service.source, flow, key)
        answer = service.answer(wanted.question, user)
        if not answer.answered:
            return Response(rendered(service.source, answer, "json"), 409, media_type=KINDS["json"])
        return Response(flow_csv(service.source, wanted, answer), media_type=KINDS["sdmx"])

    @app.get("/sdmx/data/{flow}/{key}", summary="SDMX-style: observations of a value by a key, as SDMX-CSV")
    def by_flow(request: Request, flow: str, key: str) -> Response:
        return data(request, flow, key)

    @app.get("/sdmx/data/dataflow/{agency}/{flow}/{version}/{key}", summary="The same in the style of SDMX 3.0")
    def by_flow_3(request: Request, agency: str, flow: str, version: str, key: str) -> Response:
        return data(request, flow, key)

    def structure(request: Request) -> Response:
        service.user(request)
        return Response(_structure(service.source), media_type="application/vnd.sdmx.structure+xml; version=3.0.0")

    for path in ("/sdmx/datastructure/{agency}/{flow}", "/sdmx/structure/datastructure/{agency}/{flow}/{version}"):
        app.get(path, summary="Code lists and data structures of all values, as SDMX-ML 3.0")(structure)


def _structure(source: AnsweringSource) -> str:
    """Return the structure of all values, each by all variables."""
    variables = dict(source.variables)
    ids = flows(source)
    nothing = tuple(np.zeros(0, object) for _ in variables)
    tables = [
        ReleasedTable(name, tuple(variables), nothing, [], np.zeros(0, bool), name, "", 0) for name in source.values
    ]
    codes = {name: code_ids(dimension.codes) for name, dimension in variables.items()}
    return structure_message(Release.of(tables, variables), ids, name_ids(variables, RESERVED), codes)


def _file(name: str) -> Response:
    home = Path(str(files("cellguard.faces.service").joinpath("assets")))
    known = {path.name: path for path in home.iterdir() if path.suffix in _FILES}
    if name not in known:
        raise HTTPException(404, "there is no such page")
    return FileResponse(known[name], media_type=_FILES[known[name].suffix])


async def _in_words(request: Request, error: Exception) -> Response:
    if isinstance(error, InternalError):
        return await _bug(request, error)
    return JSONResponse({"error": _printable(str(error))}, 422)


async def _plain(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 400
    headers = getattr(error, "headers", None)
    return JSONResponse({"error": getattr(error, "detail", "")}, status, headers)


async def _not_understood(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "this is not understood"}, 422)


async def _bug(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": f"internal error: {type(error).__name__}. Please report it"}, 500)


def _printable(text: str) -> str:
    """Return a text that any client can read: halves of characters that a question brought along are left out."""
    return text.encode("utf-8", "replace").decode()
