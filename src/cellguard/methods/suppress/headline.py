"""The headline of a result: what is proven, what is not, and what nobody looked at. Every face takes it from here.

Nothing is called safe without saying against whom, and nothing at all where no rule was applied. Confidential: the
number of single-respondent cells does not belong into a release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellguard.attack.audit import Audit
from cellguard.attack.insider_pairs import Pair
from cellguard.errors import listing
from cellguard.inputs.assessment import no_rule
from cellguard.rules.assess import Findings
from cellguard.seam.open_attacks import open_differences, open_latent, open_ties
from cellguard.seam.verdict import Kind, NotChecked, Verdict
from cellguard.table.sums import JudgedSums

_BEYOND = "what respondents know beyond listed cells"
_NAMED = 3  # cells that a headline names
_OTHER_TIMES = NotChecked(
    "other_times",
    "similar values of other times",
    "An attacker who takes the value that a suppressed cell had at another time for an estimate of it.",
)

_CHOICES = {
    "engine": NotChecked(
        "choice_of_cells",
        "what the choice of cells reveals",
        "Somebody who runs the program on tables that fit what is published, and keeps those that give the same "
        "suppressed cells; `protect: {random: true}` makes many more of them fit.",
    ),
    "random": NotChecked(
        "choice_of_cells",
        "what the choice of cells reveals in spite of random costs",
        "Somebody who knows that what is suppressed is enough to protect the true values, and that dear cells are "
        "suppressed less often; costs were random, and the seed is secret.",
    ),
}


@dataclass(frozen=True, slots=True)
class Singles:
    """How many suppressed cells with exactly one respondent share a sum with another suppressed cell.

    Whoever is alone in such a cell knows its value, so that the sum tells more about the others. ``unknown`` are tables
    that do not tell how many respondents their suppressed cells have, so that there may be more.
    """

    cells: int
    unknown: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.unknown:
            which = f"{'tables' if len(self.unknown) > 1 else 'table'} {listing(self.unknown)}"
            more = f"at least {self.cells:,}, but " if self.cells else ""
            return (
                f"{more}it is not known how many single-respondent cells are suppressed in the same sums as others, "
                "since "
                f"{which} {'do' if len(self.unknown) > 1 else 'does'} not give the number of respondents"
            )
        cells = "1 single-respondent cell is" if self.cells == 1 else f"{self.cells:,} single-respondent cells are"
        return f"{cells} suppressed in the same sums as others"


@dataclass(frozen=True, slots=True)
class Headline(Verdict):
    """The verdict of an audit, with how many single-respondent cells insiders could start from."""

    singles: Singles

    @property
    def single_respondent_cells(self) -> int | None:
        """How many cells a single respondent could start from; None if that is not known."""
        return None if self.singles.unknown else self.singles.cells


def headline(
    findings: Findings,
    audit: Audit,
    sums: JudgedSums | None = None,
    *,
    other_times: bool = False,
    choice: str = "given",
) -> Headline:
    """Return the headline of an audit; ``sums`` says which sums of suppressed cells were judged.

    None means that nobody looked at them; ``other_times`` that there are releases of other times, with values of their
    own. ``choice`` says who chose secondaries: ``engine`` by costs that anybody knows, or ``random`` ones.

    >>> from cellguard.attack.audit import audit
    >>> from cellguard.protection import require
    >>> from cellguard.rules.assess import assess
    >>> from cellguard.rules.simple import MinFrequency
    >>> from cellguard.table.pattern import Pattern
    >>> from cellguard.table.read import cells
    >>> table = cells({"r": ["Total", "N", "S", "W"], "x": [10, 2, 5, 3], "n": [9, 1, 4, 4]},
    ...               by=["r"], value="x", count="n")
    >>> findings = assess(table, [MinFrequency(3)])
    >>> needs = require(findings)
    >>> pattern = Pattern(needs.tables, needs.primary, np.array([False, False, False, True]))
    >>> headline(findings, audit(needs, pattern)).text.split(": ")[1]
    '1 single-respondent cell is suppressed in the same sums as others'
    """
    singles = single_respondent_cells(audit)
    world, tables = audit.needs.world, audit.needs.tables
    unchecked = (*open_ties(world), *open_differences(tables), *open_latent(world), *_open_sums(sums))
    kind, text = _verdict(findings, audit, unchecked, singles)
    inside = _open_insiders(audit, singles)
    earlier = any(table.release == "earlier" for table in audit.needs.tables.tables)
    others = [*_open_attacks(sums, earlier=earlier), *([_OTHER_TIMES] if other_times else [])]
    chosen = [_CHOICES[choice]] if choice in _CHOICES else []
    return Headline(kind, text, (*unchecked, *inside, *others, *chosen), singles)


def _verdict(findings: Findings, audit: Audit, untied: Sequence[NotChecked], singles: Singles) -> tuple[Kind, str]:
    unruled = no_rule(findings.without_rules, len(findings.by_table))
    more = f". {unruled}" if unruled else ""
    if audit.verdict == "unsafe":
        near = f"an outsider can estimate too closely {_cells(audit.failing)}"
        if not audit.failing.any() and audit.inside is not None:
            near = f"{_insiders(audit.inside.failing)} can estimate others too closely"
        return Kind.UNSAFE, f"UNSAFE: {near}; do not publish{more}"
    if audit.verdict == "undecided" and audit.inside is not None and audit.inside.undecided:
        undecided = np.zeros(len(audit.problem.cells), bool)
        undecided[[pair.cell for pair in audit.inside.undecided]] = True
        why = f"what respondents can work out of {_cells(undecided)} could not be decided"
        together = audit.inside.size > 1
        cure = "`coalition: 1` looks at single respondents" if together else "`insiders: false` looks at outsiders only"
        return Kind.UNDECIDED, f"NOT PROVEN: {why} ({cure}); do not publish{more}"
    if audit.verdict == "undecided":
        why = f"{_cells(audit.undecided)} could not be decided ({_more_cells(audit)})"
        if audit.needs.world.open:
            cure = "accept this with `attack: {crossing: not_checked}`, or publish less in one job"
            why = f"{'; '.join(audit.needs.world.open)} ({cure})"
        return Kind.UNDECIDED, f"NOT PROVEN: {why}; do not publish{more}"
    if unruled:
        return Kind.NO_RULE, f"{unruled}, so nothing is known to be safe"
    left = f", {' and '.join(one.name for one in untied)} not checked" if untied else ""
    if audit.inside is not None:
        whom = "every single respondent" if audit.inside.linked else "the respondents of single cells"
        if audit.inside.size > 1:
            whom = f"up to {audit.inside.size} respondents together"
        beyond = f", {_BEYOND} not checked" if audit.needs.world.between else ""
        return Kind.SAFE, f"Safe against outsiders and {whom}{beyond}{left}"
    only = f"outsiders only{left}"
    return Kind.SAFE, f"Safe against {only}; insiders not checked: {singles}"


def _more_cells(audit: Audit) -> str:
    """Return what to do about cells that more slack did not prove: their names, and what would help."""
    some = [audit.needs.tables.message_name(int(cell)) for cell in np.flatnonzero(audit.undecided)[:_NAMED]]
    more = f" and {int(audit.undecided.sum()) - _NAMED:,} more" if audit.undecided.sum() > _NAMED else ""
    named = f"{'; '.join(some)}{more}" if some else "see the cells that are marked undecided"
    return (
        f"{named}: suppress one more cell in a sum with each, by `status: secondary` in `cells` or `apriori`, or "
        "merge its code with another"
    )


def _open_insiders(audit: Audit, singles: Singles) -> tuple[NotChecked, ...]:
    """Return what was not looked at of what respondents can work out."""
    if audit.inside is None:
        who = f"A respondent who subtracts its own contribution, alone or with others: {singles}."
        return (NotChecked("insiders", "insiders", who),)
    most = audit.inside.size
    more = "respondents together" if most == 1 else f"more than {most} respondents together"
    who = "Several respondents who pool what they know." if most == 1 else f"More than {most} who pool what they know."
    open_attacks = [NotChecked("coalitions", more, who)]
    if not audit.inside.linked:
        who = (
            "Ready-made tables do not say who is in several cells: only those were looked at who are alone in a cell, "
            "or one of two where the larger contribution is given, each with that cell alone."
        )
        open_attacks.append(NotChecked("owners", "one respondent in several cells", who))
    if audit.needs.world.between:
        who = "Respondents who also use where in combinations that no table lists they are."
        open_attacks.append(NotChecked("insiders_between", _BEYOND, who))
    return tuple(open_attacks)


def _open_sums(sums: JudgedSums | None) -> tuple[NotChecked, ...]:
    """Return the sums of suppressed cells that were too many to judge."""
    if sums is None or not sums.beyond:
        return ()
    who = f"Somebody who works out sums of suppressed cells that were not judged: {'; '.join(sums.beyond)}."
    return (NotChecked("sums", "some sums of suppressed cells", who),)


def _open_attacks(sums: JudgedSums | None, *, earlier: bool) -> tuple[NotChecked, ...]:
    """Return the attacks that no audit looks at yet; a new entry shows in every face.

    ``sums`` are those of suppressed cells that were looked at, None if none were.
    """
    if sums is not None:
        unions = NotChecked(
            "unions",
            "sums of three or more suppressed cells that only several relations together give",
            "An attacker who works out such a sum. Looked at were all sums that single relations give, with subtotals "
            "replaced by parts, what such sums have beyond others, all pairs, and the sums of unsafe cells, and of "
            "those that protect them, in which one holding has the largest stake. Not looked at were sums of cells of "
            "different holdings that are nearly known.",
        )
    else:
        unions = NotChecked(
            "unions",
            "sums of suppressed cells (unions)",
            "Somebody who works out a sum of suppressed cells, which may be one respondent or holding alone.",
        )
    return (
        unions,
        NotChecked(
            "earlier_releases",
            "other earlier releases" if earlier else "earlier releases",
            "Somebody who compares with tables that were published before"
            + (", other than those that are looked at." if earlier else "."),
        ),
        NotChecked(
            "other_tables",
            "tables outside this set",
            "Other tables about the same respondents; put them into the same job.",
        ),
    )


def foreign(disclosed: int, untied: Sequence[str] = ()) -> str:
    """Return the headline about tables made elsewhere, of which only what is disclosed exactly can be told.

    ``untied`` is what could not be looked at.

    >>> foreign(0, ["the tables a, b, c cross in too many combinations"])
    'NOT PROVEN: the tables a, b, c cross in too many combinations; do not publish'
    """
    if disclosed:
        cells = "1 suppressed cell" if disclosed == 1 else f"{disclosed:,} suppressed cells"
        return f"UNSAFE: an outsider can work out {cells} exactly; do not publish"
    if untied:
        return f"NOT PROVEN: {'; '.join(untied)}; do not publish"
    return "No suppressed cell is disclosed exactly. (How closely they can be estimated is in --intervals.)"


def single_respondent_cells(audit: Audit) -> Singles:
    """Count the suppressed cells with exactly one respondent that share a relation with another suppressed cell.

    Suppressed are those that the release suppresses; cells that no table shows, as sums of them, are not counted.
    """
    world = audit.needs.world
    tables = world.tables
    hidden = audit.pattern.hidden & ~audit.pattern.unpublished & ~world.constraints.empty & ~tables.unlisted
    single, told = np.zeros(len(tables), bool), np.zeros(len(tables), bool)
    for table, cells in zip(tables.tables, tables.cells_of, strict=True):
        if table.facts.count is not None:
            told[cells] = True
            single[cells[(table.facts.count == 1) & (table.release != "fitted")]] = True
    relations = abs(world.relations[:, : len(tables)])
    beside = relations.T @ (relations @ hidden.astype(float) > 1).astype(float) > 0
    silent = hidden & ~told
    names = [t.name for t, cells in zip(tables.tables, tables.cells_of, strict=True) if silent[cells].any()]
    return Singles(int((single & hidden & beside).sum()), tuple(names))


def _insiders(pairs: Sequence[Pair]) -> str:
    many = len({pair.members for pair in pairs})
    if any(pair.others for pair in pairs):
        return "1 coalition of respondents" if many == 1 else f"{many:,} coalitions of respondents"
    return "1 respondent" if many == 1 else f"{many:,} respondents"


def _cells(which: np.ndarray[Any, np.dtype[np.bool_]]) -> str:
    many = int(which.sum())
    return "1 unsafe cell" if many == 1 else f"{many:,} unsafe cells"
