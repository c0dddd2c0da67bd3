"""The methods that ``<SUPPRESS>`` names, and what carries each out. A new one is bound to its command here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Method:
    """What a method is called, how many arguments it takes after the table, and whether it protects linked tables.

    ``engine`` is the classical engine of the same name, which ``METHODS classical`` runs. ``changes`` is the method of
    a job that publishes other figures in place of the true ones; without it, cells are suppressed. After the arguments
    of a method with a ``file`` the name of one may follow. ``minutes`` is the place of the argument that limits the
    time.
    """

    words: str
    most: int = 0
    linked: bool = False
    engine: str = ""
    changes: str = ""
    file: bool = False
    minutes: int = -1


METHODS: Mapping[str, Method] = {
    "GH": Method("hypercube", 3, linked=True, engine="hypercube"),
    "MOD": Method("modular", 7, linked=True, engine="modular"),
    "OPT": Method("optimal", 1, minutes=0),
    "NET": Method("network"),
    "RND": Method("controlled rounding", 6, changes="round", minutes=2),
    "CTA": Method("controlled tabular adjustment", changes="adjust"),
    "CKM": Method("the cell key method", changes="cell_key", file=True),
}
