"""What stands before every request: the host, its size, and what the browser may do with the answer."""

from __future__ import annotations

from collections.abc import Collection

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
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

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        refused = self._refusal(Request(scope, receive))
        await (refused or self.app)(scope, receive, sealed)

    def _refusal(self, request: Request) -> Response | None:
        if request.headers.get("host", "").lower() not in self.hosts:
            return PlainTextResponse("this host is not served here\n", 421)
        if len(request.scope["path"]) + len(request.scope["query_string"]) > _LONGEST_ADDRESS:
            return JSONResponse({"error": "the address is too long; ask for less, or send the question as JSON"}, 414)
        if "transfer-encoding" in request.headers:
            return JSONResponse({"error": "say how long the request is"}, 411)
        told = request.headers.get("content-length", "0")
        if not (told.isascii() and told.isdecimal()) or int(told[:12]) > _LARGEST_BODY:
            return JSONResponse({"error": f"this is larger than {_LARGEST_BODY:,} bytes"}, 413)
        return None
