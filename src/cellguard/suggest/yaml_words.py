"""Words as a job file writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable

_YAML = {"yes", "no", "on", "off", "true", "false", "null", "y", "n"}


def in_comment(names: Iterable[str]) -> str:
    """Join names for a comment, which a line break in one of them must not end.

    >>> in_comment(["a", "b\\nversion: 2"])
    'a, b version: 2'
    """
    return ", ".join(" ".join(name.split()) for name in names)


def text_of(word: str | None) -> str:
    """Quote a word for YAML where it would not be read as itself.

    >>> text_of("region"), text_of("no"), text_of("it's")
    ('region', "'no'", "'it''s'")
    """
    word = str(word)
    plain = re.fullmatch(r"[A-Za-z_][\w./-]*", word) and word.lower() not in _YAML
    return word if plain else "'" + word.replace("'", "''") + "'"
