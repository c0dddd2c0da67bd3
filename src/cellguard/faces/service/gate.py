"""What stands before every request: the host, its size, and what the browser may do with the answer."""

from __future__ import annotations

from collections.abc import Collection

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from cellguard.faces.web import other_host, sealed, too_large

_LARGEST_BODY, _LONGEST_ADDRESS = 200_000, 16_000


class Gate:
    """Hands on what is asked of a host that is served here, and is not too large."""

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self.app, self.hosts = app, {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        refused = self._refusal(Request(scope, receive))
        await (refused or self.app)(scope, receive, sealed(send))

    def _refusal(self, request: Request) -> Response | None:
        if refused := other_host(request, self.hosts):
            return refused
        if len(request.scope["path"]) + len(request.scope["query_string"]) > _LONGEST_ADDRESS:
            return JSONResponse({"error": "the address is too long; ask for less, or send the question as JSON"}, 414)
        return too_large(request, _LARGEST_BODY)
