"""Who may ask: a link with a token that is good once becomes a cookie, and the cookie a session with a role."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from threading import Lock

MAKER, CHECKER = "maker", "checker"
_BYTES = 32


@dataclass
class Session:
    """A page's right to ask: its role, the word that every change must carry, and the name of who sits there."""

    role: str
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(_BYTES))
    name: str = ""


class Sessions:
    """The links that were not used yet, and the sessions that came of the others.

    >>> sessions = Sessions([MAKER])
    >>> link = sessions.links[MAKER]
    >>> key = sessions.enter(link)
    >>> sessions.enter(link), sessions.of(key).role, sessions.of("guessed"), sessions.of(None)
    (None, 'maker', None, None)
    """

    def __init__(self, roles: list[str]) -> None:
        self._lock = Lock()
        self._tokens = {role: secrets.token_urlsafe(_BYTES) for role in roles}
        self._held: dict[str, Session] = {}

    @property
    def links(self) -> dict[str, str]:
        """The tokens that are still good, by role."""
        return dict(self._tokens)

    def enter(self, token: str) -> str | None:
        """Take a token, which is worth nothing from then on; return the key of a new session, None for a wrong one."""
        with self._lock:
            for role, known in self._tokens.items():
                if hmac.compare_digest(token.encode(), known.encode()):
                    del self._tokens[role]
                    key = secrets.token_urlsafe(_BYTES)
                    self._held[key] = Session(role)
                    return key
        return None

    def of(self, key: str | None) -> Session | None:
        """Return the session of a cookie."""
        return None if key is None else self._held.get(key)
