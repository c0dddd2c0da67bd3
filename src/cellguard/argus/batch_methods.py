"""The methods that ``<SUPPRESS>`` names, and what carries each out. A new one is bound to its command here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Method:
    """What a method is called, how many arguments it takes after the table, and whether it protects linked tables.

    ``engine`` is the classical engine of the same name, which ``METHODS classical`` runs. Without ``is_done`` the batch
    is refused with a cure.
    """

    words: str
    most: int = 0
    linked: bool = False
    engine: str = ""
    is_done: bool = True


METHODS: Mapping[str, Method] = {
    "GH": Method("hypercube", 3, linked=True, engine="hypercube"),
    "MOD": Method("modular", 7, linked=True, engine="modular"),
    "OPT": Method("optimal", 1),
    "NET": Method("network"),
    "RND": Method("controlled rounding", 6, is_done=False),
    "CTA": Method("controlled tabular adjustment", is_done=False),
    "CKM": Method("the cell key method", is_done=False),
}
