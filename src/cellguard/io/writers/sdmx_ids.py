"""Identifiers of SDMX: what codes, dimensions and tables are called there, where their own names do not fit."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CODE = re.compile(r"[A-Za-z0-9_@$-]+")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def code_ids(codes: Iterable[str]) -> dict[str, str]:
    """Return the identifier of each code: the code itself where SDMX allows it.

    >>> code_ids(["Total", "10-49", "250+", "250*"])
    {'Total': 'Total', '10-49': '10-49', '250+': '250_', '250*': '250__2'}
    """
    listed = list(codes)
    taken = {code for code in listed if _CODE.fullmatch(code)}
    return {
        code: code if code in taken else _free(re.sub(r"[^A-Za-z0-9_@$-]", "_", code) or "_", taken) for code in listed
    }


def name_ids(names: Iterable[str], reserved: Iterable[str] = ()) -> dict[str, str]:
    """Return the identifiers of dimensions or tables, in capitals as is usual; none is one that is reserved.

    >>> name_ids(["region", "size class", "2nd"])
    {'region': 'REGION', 'size class': 'SIZE_CLASS', '2nd': 'X2ND'}
    """
    taken = set(reserved)
    found = {}
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", name).upper()
        found[name] = _free(plain if _NAME.fullmatch(plain) else f"X{plain}", taken)
    return found


def _free(word: str, taken: set[str]) -> str:
    """Return a word, or with a number behind it, that nothing else has; and take it."""
    number, free = 1, word
    while free in taken:
        number += 1
        free = f"{word}_{number}"
    taken.add(free)
    return free
