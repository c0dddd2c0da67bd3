"""Codes that look alike: they differ only in blanks at their ends, in capital letters, or in zeros in front."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from cellguard.hierarchy.confidential_codes import may_be_values
from cellguard.reading.vocabulary import is_number

_SHOWN = 3
_ZEROS = "zeros in front (as 08 and 8)"
_DROPPED = " (programs that take codes for numbers drop these zeros)"
# In what two codes that look alike can differ; several kinds may hold of one pair.
_KINDS: dict[str, Callable[[str, str], bool]] = {
    "blanks at their ends": lambda a, b: a != a.strip() or b != b.strip(),
    "capital letters": lambda a, b: a.strip() != b.strip() and a.strip().casefold() == b.strip().casefold(),
    _ZEROS: lambda a, b: a.strip().isdecimal() and a.strip() != b.strip(),
}


def lookalikes(codes: Iterable[str]) -> list[tuple[str, str]]:
    """Return the codes that look like an earlier one, each with that.

    >>> lookalikes(["S", "N", " S ", "n"])
    [('S', ' S '), ('N', 'n')]
    >>> lookalikes(["08", "8", "80"])
    [('08', '8')]
    """
    first: dict[str, str] = {}
    pairs = [(first.setdefault(_likeness(code), code), code) for code in codes]
    return [(old, new) for old, new in pairs if old != new]


def _likeness(code: str) -> str:
    """Return what a code has in common with those that look like it."""
    plain = code.strip().casefold()
    return plain.lstrip("0") or "0" if plain.isdecimal() else plain


def lookalike_note(column: str, codes: Collection[str], rows: int) -> list[str]:
    """Return a warning about the codes of a column of so many rows that look alike, if there are any.

    >>> lookalike_note("region", ["S", "S "], rows=9)
    ["column 'region': 'S' and 'S ' are different codes; if they mean the same, correct the data"]
    >>> lookalike_note("region", ["01", "1"], rows=18)[0][:67]
    "column 'region': 1 pair of codes differs only in zeros in front (as"
    """
    pairs = lookalikes(codes)
    if not pairs:
        return []
    if may_be_values(codes, rows) or any(map(is_number, (code for pair in pairs for code in pair))):
        found = "1 pair of codes differs" if len(pairs) == 1 else f"{len(pairs)} pairs of codes differ"
        kinds = [kind for kind, holds in _KINDS.items() if any(holds(*pair) for pair in pairs)]
        return [
            f"column {column!r}: {found} only in {' or '.join(kinds)}, and codes are text; if they mean the same, "
            f"correct the data{_DROPPED if _ZEROS in kinds else ''}"
        ]
    shown = ", ".join(f"{old!r} and {new!r}" for old, new in pairs[:_SHOWN])
    more = f" and {len(pairs) - _SHOWN} more pairs" if len(pairs) > _SHOWN else ""
    return [f"column {column!r}: {shown}{more} are different codes; if they mean the same, correct the data"]
