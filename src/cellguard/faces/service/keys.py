"""Who may ask: a key per user, of which only the digest is kept, and how often each may ask."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import time
from collections import deque
from pathlib import Path
from threading import Lock

from cellguard.errors import InputError

FILE = "keys.json"
PUBLIC = "public"
_NAME = re.compile(r"[\w.@-]{1,60}")


def new_key(folder: Path, user: str) -> str:
    """Make a key for a user, in place of the one that it had; return it, since it is kept nowhere."""
    if not _NAME.fullmatch(user) or user == PUBLIC:
        raise InputError(f"a user's name has letters, digits, and . @ - _, at most 60, and is not {PUBLIC!r}")
    key, known = secrets.token_urlsafe(32), read_keys(folder)
    known[user] = _digest(key)
    path, passing = folder / FILE, folder / f".{FILE}.{os.getpid()}"
    handle = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(known, file, indent=1, sort_keys=True)
    passing.replace(path)
    return key


def read_keys(folder: Path) -> dict[str, str]:
    """Return the digest of each user's key."""
    path = folder / FILE
    if not path.exists():
        return {}
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(known, dict) and all(isinstance(digest, str) for digest in known.values()):
            return known
    except (OSError, ValueError):
        pass
    raise InputError(f"{FILE} cannot be read; make it again with `cellguard serve FOLDER --new-key USER`")


class Users:
    """Knows users by their keys, and counts their requests of the last minute.

    >>> users = Users({"ann": _digest("secret")}, per_minute=2, open_to_all=False)
    >>> users.of("secret"), users.of("guess"), users.of(None)
    ('ann', None, None)
    >>> [users.may_ask("ann", at) for at in (0.0, 1.0, 2.0, 61.5)]
    [True, True, False, True]
    """

    def __init__(self, keys: dict[str, str], *, per_minute: int, open_to_all: bool) -> None:
        self._keys, self.per_minute, self.open_to_all = keys, per_minute, open_to_all
        self._asked: dict[str, deque[float]] = {}
        self._lock = Lock()

    def of(self, key: str | None) -> str | None:
        """Return the user of a key; `PUBLIC` where everybody may ask and no key is given."""
        if key is None:
            return PUBLIC if self.open_to_all else None
        mine, found = _digest(key), None
        for user, digest in self._keys.items():
            if hmac.compare_digest(mine, digest):
                found = user
        return found

    def may_ask(self, user: str, now: float | None = None) -> bool:
        """Return whether a user may ask now, and count it if so."""
        now = time.monotonic() if now is None else now
        with self._lock:
            asked = self._asked.setdefault(user, deque())
            while asked and asked[0] <= now - 60:
                asked.popleft()
            if len(asked) >= self.per_minute:
                return False
            asked.append(now)
            return True


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
