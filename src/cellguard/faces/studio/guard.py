"""What stands before every request: the host, the session, the word against forged requests, and the page's rights.

A request must name a host that the server was started for, so that no other name can be made to lead here; it must
have the cookie of a session, which browsers send from this site's pages only; and what changes anything must carry the
session's own word. Answers forbid the browser everything that the pages do not need.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection
from http.cookies import CookieError, SimpleCookie

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from cellguard.faces.studio.sessions import Session, Sessions
from cellguard.faces.web import other_host, sealed, too_large
from cellguard.words.language import first_known, speak
from cellguard.words.retell import retell

CSRF = "x-cellguard-word"
ENTER = "/enter"
_READING = {"GET", "HEAD"}
_FOREIGN = {"cross-site", "same-site"}  # other pages, also those of other servers on this machine
_LARGEST = 5_000_000  # bytes of a question; uploads have a limit of their own
_UPLOADS = "/api/files/"
_LIFE = 12 * 3600  # seconds that a browser keeps the cookie
_FORGED = "this request does not come from a page of the studio"
AWAY = (
    "This is the cellguard studio. Its link is good for one browser and one time: use the one that the terminal shows, "
    "or start `cellguard studio` again. Nothing is lost, since all of its state is in the job's folder.\n"
)


class Guard:
    """The one way in."""

    def __init__(self, app: ASGIApp, sessions: Sessions, hosts: Collection[str], port: int) -> None:
        self.app, self.sessions = app, sessions
        self.hosts = {host.lower() for host in hosts}
        self.cookie = f"cellguard-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no sockets here
            return
        request = Request(scope, receive)
        speak(first_known(request.headers.get("accept-language", "")))
        refused = self._answer(request)
        await (refused or self.app)(scope, receive, sealed(send))

    def _answer(self, request: Request) -> Response | None:
        """Return an answer if the request goes no further."""
        if refused := other_host(request, self.hosts):
            return refused
        if request.url.path == ENTER:
            return self._enter(request)
        session = self.sessions.of(self._key(request))
        if session is None:
            return PlainTextResponse(AWAY, 401)
        if request.method not in _READING and not self._own(request, session):
            return JSONResponse({"error": retell(_FORGED)}, 403)
        if request.headers.get("sec-fetch-site", "none") in _FOREIGN and request.url.path != "/":
            return JSONResponse({"error": retell(_FORGED)}, 403)
        if not request.url.path.startswith(_UPLOADS) and (fault := too_large(request, _LARGEST)):
            return fault
        request.scope["session"] = session
        return None

    def _enter(self, request: Request) -> Response:
        if request.method != "GET":
            return PlainTextResponse(AWAY, 401)
        key = self.sessions.enter(request.query_params.get("token", ""))
        if key is None:
            # A browser that is in already may use its link again.
            known = self.sessions.of(self._key(request)) is not None
            return RedirectResponse("/", 303) if known else PlainTextResponse(AWAY, 401)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self.cookie, key, max_age=_LIFE, httponly=True, samesite="strict", path="/")
        return answer

    def _key(self, request: Request) -> str | None:
        try:
            cookies = SimpleCookie(request.headers.get("cookie", ""))
        except CookieError:
            return None
        return cookies[self.cookie].value if self.cookie in cookies else None

    def _own(self, request: Request, session: Session) -> bool:
        origin = request.headers.get("origin")
        same = origin is None or origin in {f"http://{host}" for host in self.hosts}
        word = request.headers.get(CSRF, "")
        return same and hmac.compare_digest(word.encode(), session.csrf.encode())
