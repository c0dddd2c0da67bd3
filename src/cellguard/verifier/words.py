"""The headline once more: what a folder says in words must not be more than what was checked in it.

The headline names the attackers against whom nothing is reported, and each attack that nobody looked at; the caveat
lists all of the latter. Both are put together here from the keys of these attacks, and the keys that must be among them
from the certificate. A folder may say less than is proven, but nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cellguard.verifier.digests import SEED
from cellguard.verifier.job import Job
from cellguard.verifier.spec import CERTIFICATE, EARLIER, WORDS, Group, Spec
from cellguard.verifier.stages import Refused, attempt
from cellguard.verifier.stored import Folder, read_bytes

SUMMARY = "internal/summary.json"
TIES = ("crossing", "counts_and_values", "differences", "latent", "sums")
BEYOND = "insiders_between"
_TABLES = r"'[\w.-]+'(, '[\w.-]+')*( and [1-9][0-9]* more)?"
_UNTOLD = (
    r"(at least [1-9][0-9,]*, but )?it is not known how many single-respondent cells are suppressed in the same "
    r"sums as "
    rf"others, since tables? {_TABLES} do(es)? not give the number of respondents"
)


@dataclass(frozen=True)
class Claim:
    """What a certificate claims that words speak of: about insiders, sums of suppressed cells and crossing tables.

    ``coalition`` is 0 if there is no claim about insiders; ``linked`` says that one who is in several cells is known to
    be one; ``between`` that there are cells that no table lists, and ``latent`` that no rule judged some of them;
    ``sums`` that sums of suppressed cells were judged, all but some ``beyond``; ``earlier`` that earlier releases are
    among the tables. ``chosen`` says that a program chose which cells to suppress, and ``random`` that chance had a
    hand in it.
    """

    coalition: int
    linked: bool
    sums: bool
    beyond: bool
    between: bool
    latent: bool
    chosen: bool
    random: bool
    crossed: bool
    mixed: bool
    earlier: bool
    other_times: bool

    @property
    def names(self) -> dict[str, str]:
        """What each attack that may not be checked is called, in the order in which they are listed."""
        together = "respondents together"
        return {
            "crossing": "crossing tables",
            "counts_and_values": "counts and values of several tables together",
            "differences": "differences of populations",
            "latent": "cells that no table lists (latent cells)",
            "sums": "some sums of suppressed cells",
            "insiders": "insiders",
            "coalitions": together if self.coalition == 1 else f"more than {self.coalition} {together}",
            "owners": "one respondent in several cells",
            BEYOND: "what respondents know beyond listed cells",
            "unions": "sums of three or more suppressed cells that only several relations together give"
            if self.sums
            else "sums of suppressed cells (unions)",
            "earlier_releases": "other earlier releases" if self.earlier else "earlier releases",
            "other_tables": "tables outside this set",
            "other_times": "similar values of other times",
            "choice_of_cells": "what the choice of cells reveals"
            + (" in spite of random costs" if self.random else ""),
        }

    @property
    def open(self) -> set[str]:
        """The attacks that nobody checked, whatever a folder says."""
        never = {"unions", "earlier_releases", "other_tables"}
        within = {
            "coalitions": bool(self.coalition),
            "owners": bool(self.coalition) and not self.linked,
            BEYOND: bool(self.coalition) and self.between,
            "insiders": not self.coalition,
            "crossing": self.crossed,
            "counts_and_values": self.mixed,
            "other_times": self.other_times,
            "latent": self.latent,
            "sums": self.beyond,
            "choice_of_cells": self.chosen,
        }
        return never | {key for key, is_open in within.items() if is_open}

    def headline(self, listed: Collection[str], singles: str) -> str:
        """Return the headline; ``singles`` is what it says of cells with one respondent."""
        ties = " and ".join(self.names[key] for key in TIES if key in listed)
        open_ties = f", {ties} not checked" if ties else ""
        if not self.coalition:
            return f"Safe against outsiders only{open_ties}; insiders not checked: {singles}"
        whom = "every single respondent" if self.linked else "the respondents of single cells"
        whom = whom if self.coalition == 1 else f"up to {self.coalition} respondents together"
        beyond = f", {self.names[BEYOND]} not checked" if BEYOND in listed else ""
        return f"Safe against outsiders and {whom}{beyond}{open_ties}"

    def caveat(self, listed: Collection[str]) -> str:
        """Return the second line: all that was not checked."""
        line = "; ".join(f"{name} not checked" for key, name in self.names.items() if key in listed)
        return f"{line[:1].upper()}{line[1:]}."


def read_claim(
    spec: Spec, job: Job, document: Mapping[str, Any], between: Collection[Group], *, latent: bool, chosen: bool
) -> Claim:
    """Return what a certificate claims; ``between`` are the responses with cells that no table lists.

    ``latent`` says that some of these were judged by no rule, ``chosen`` that a program chose which cells to suppress.
    """
    counted = {table.group for table in spec.tables if table.count}
    several = any(len(clusters) > 1 for clusters in spec.world.values()) or not counted.issuperset(between)
    kinds = {(table.population, table.count) for table in spec.tables}
    return Claim(
        coalition=0 if spec.inside is None else spec.coalition,
        linked=spec.linked,
        sums=spec.told is not None,
        beyond=spec.told is not None and bool(document["sums"]["beyond"]),
        between=bool(between),
        latent=latent,
        chosen=chosen,
        random=SEED in document["files"],
        crossed=not spec.crossing and any(len(c.tables) > 1 for clusters in spec.world.values() for c in clusters),
        mixed=several and any((population, not count) in kinds for population, count in kinds),
        earlier=any(table.where == EARLIER for table in spec.tables),
        other_times=any(entry["period"] == "other" for entry in job.words["previous"] or ()),
    )


def check_words(folder: Folder, document: Mapping[str, Any], claim: Claim) -> None:
    """Refuse a headline that is not the summary's, or that says more than is claimed, and an attack left out."""
    summary = attempt(SUMMARY, lambda: json.loads(read_bytes(folder, SUMMARY)))
    if not isinstance(summary, dict):
        raise Refused(f"{SUMMARY} is not a JSON object")
    for key in sorted(WORDS):
        if document.get(key) is None or document.get(key) != summary.get(key):
            raise Refused(f"{CERTIFICATE}: {key} is not that of {SUMMARY}")
    listed = _listed(document["not_checked"], claim)
    for key in [key for key in claim.names if key in claim.open and key not in listed]:
        raise Refused(f"{CERTIFICATE}: not_checked leaves out {key}, an attack that was not checked")
    if summary.get("caveat") != claim.caveat(listed):
        raise Refused(f"{SUMMARY}: caveat does not say what was not checked, and nothing else")
    singles = _singles(document["headline"], summary.get("single_respondent_cells"))
    if document["headline"] != claim.headline(listed, singles):
        raise Refused(f"{CERTIFICATE}: headline says something else than what is claimed and what was not checked")


def _listed(given: object, claim: Claim) -> Sequence[str]:
    """Return the attacks that were not checked; refuse others than those known, and another order."""
    names = list(claim.names)
    if not isinstance(given, list) or given != [key for key in names if key in given]:
        raise Refused(f"{CERTIFICATE}: not_checked is no list of known attacks in their order")
    return given


def _singles(headline: object, cells: object) -> str:
    """Return what a headline says of cells with one respondent: so many, or that it is not known how many."""
    if isinstance(cells, int) and not isinstance(cells, bool):
        many = "1 single-respondent cell is" if cells == 1 else f"{cells:,} single-respondent cells are"
        return f"{many} suppressed in the same sums as others"
    said = str(headline).rpartition(": ")[2]
    return said if re.fullmatch(_UNTOLD, said) else ""
