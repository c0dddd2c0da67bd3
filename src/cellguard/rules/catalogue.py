"""Every rule there is: those of this folder, of installed packages, and those that a program registered besides."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from cellguard.rules.rule import RULES, Rule, required

GROUP = "cellguard.rules"
HOMES = ("linear", "rows", "signed", "simple", "statisticon")  # the modules of this folder that declare rules


def rules() -> Mapping[str, type[Rule]]:
    """Return the registered rules by their names in job files; each module declares its own.

    >>> list(rules())[:2]
    ['attribute_disclosure', 'dominance']
    """
    _declare_all()
    return dict(sorted(RULES.items()))


def docs_row(name: str) -> str:
    """Return what the docs say of a rule, as a row of their table.

    >>> docs_row("max_share")
    '| `max_share: k` | x1 > k/100 X | the largest | `protection_percent` of X |'
    """
    kind = rules()[name]
    needed = required(kind)
    written = needed[0] if len(needed) == 1 else f"{{{', '.join(needed)}}}"
    return f"| `{name}: {written}` | {' | '.join(kind.formula)} |"


@cache
def _declare_all() -> None:
    """Load the modules that declare rules, and what installed packages name as entry points."""
    for module in HOMES:
        import_module(f"cellguard.rules.{module}")
    for point in entry_points(group=GROUP):
        point.load()
