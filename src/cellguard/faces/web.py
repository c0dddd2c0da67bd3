"""What every server of cellguard has in common: where it listens, which hosts it answers, how large a question may be.

The studio and the service answer only under the names that they were started for, so that no other name can be made to
lead to them (DNS rebinding), and forbid the browser whatever their pages do not need.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Collection

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Message, Send

from cellguard.errors import InputError
from cellguard.words.retell import retell

LOOPBACK = "127.0.0.1"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_BACKLOG = 512


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens; who asks before anybody answers waits."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        raise InputError(f"cannot listen at {host}:{port}: {error.strerror or 'the address is not usable'}") from None
    return made


def in_address(host: str) -> str:
    """Return a host as addresses write it.

    >>> in_address("::1"), in_address("127.0.0.1")
    ('[::1]', '127.0.0.1')
    """
    return f"[{host}]" if ":" in host else host


def served_names(host: str, port: int) -> frozenset[str]:
    """Return what a question may name as its host.

    >>> sorted(served_names("127.0.0.1", 80))
    ['127.0.0.1', '127.0.0.1:80', 'localhost', 'localhost:80']
    """
    names = {in_address(host).lower()} | ({"localhost"} if host == LOOPBACK else set())
    return frozenset({f"{name}:{port}" for name in names} | (names if port == 80 else set()))


def other_host(request: Request, hosts: Collection[str]) -> Response | None:
    """Return the answer to a question that names a host which is not served here."""
    if request.headers.get("host", "").lower() in hosts:
        return None
    return PlainTextResponse("this host is not served here\n", 421)


def too_large(request: Request, most: int) -> Response | None:
    """Return the answer to a question of more than so many bytes, or one that does not say how long it is."""
    if "transfer-encoding" in request.headers:
        return JSONResponse({"error": retell("say how long the request is")}, 411)
    told = request.headers.get("content-length", "0")
    if not (told.isascii() and told.isdecimal()) or int(told[:12]) > most:
        return JSONResponse({"error": retell(f"this is larger than {most:,} bytes")}, 413)
    return None


def sealed(send: Send) -> Send:
    """Return what sends an answer with the headers of every answer; those that the answer has itself stay."""

    async def send_sealed(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message["headers"]}
            extra = [(k.lower().encode(), v.encode()) for k, v in HEADERS.items() if k.lower().encode() not in own]
            message = {**message, "headers": [*message["headers"], *extra]}
        await send(message)

    return send_sealed
