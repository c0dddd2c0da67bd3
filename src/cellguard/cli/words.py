"""Words as a job file writes them."""

from __future__ import annotations

import re

_YAML = {"yes", "no", "on", "off", "true", "false", "null", "y", "n"}


def name_of(text: str) -> str:
    """Return a name for a table or file: letters, digits, _ . and -.

    >>> name_of("my table (1)")
    'my_table_1'
    """
    return re.sub(r"[^\w.-]+", "_", text).strip("_") or "table"


def text_of(word: str | None) -> str:
    """Quote a word for YAML where it would not be read as itself.

    >>> text_of("region"), text_of("no"), text_of("it's")
    ('region', "'no'", "'it''s'")
    """
    word = str(word)
    plain = re.fullmatch(r"[A-Za-z_][\w./-]*", word) and word.lower() not in _YAML
    return word if plain else "'" + word.replace("'", "''") + "'"
