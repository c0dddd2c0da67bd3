"""Tables with suppressed cells, attacked: what the rules found, what is suppressed, and what an attacker can work
out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from cellguard.attack.audit import Audit, attacker_ends
from cellguard.attack.derivation import explain
from cellguard.attack.external_totals import NO_TOTALS, ExternalTotals
from cellguard.attack.insider_pairs import Hint
from cellguard.attack.intervals import exact_moves
from cellguard.attack.nearness import Near, nearest, suspects
from cellguard.attack.reliance import moved_inside, relies_on
from cellguard.errors import InputError
from cellguard.io.folder import OutputFolder
from cellguard.io.stored_explanations import StoredExplanations
from cellguard.job.jobfile import Job
from cellguard.job.trusted_rules import taken_on_trust
from cellguard.methods.suppress.explain import Explanations, explain_proof
from cellguard.methods.suppress.headline import Headline, headline
from cellguard.methods.suppress.hide_together import hidden_with
from cellguard.methods.suppress.suppress import Suppression
from cellguard.proofs.probe import Unsolved
from cellguard.report.cell_names import name_cell
from cellguard.rules.assess import Findings
from cellguard.run_context import UNWATCHED
from cellguard.seam.method import Result
from cellguard.seam.summary import Summary
from cellguard.table.facts import BoolArray, FloatArray
from cellguard.table.pattern import STATUS, Release, release
from cellguard.table.sums import JudgedSums
from cellguard.table.table import Table

MOST = 2_000  # unknown cells up to which exact intervals are worked out for a report
MOST_COUNTS = 500  # ... of which some are counts: where programs do not end whole, each takes integer programs
SUSPECTS = 25  # respondents of whom a folder keeps how closely they may come to the others of a cell


@dataclass(frozen=True, eq=False)
class Intervals:
    """The attacker's exact interval of every distinct cell; ``hidden`` marks those that an attacker does not see."""

    hidden: BoolArray
    lower: FloatArray
    upper: FloatArray


class Choice(StrEnum):
    """Who chose the secondaries: the job or another tool, the engine by costs that anybody knows, or by random ones."""

    GIVEN = "given"
    ENGINE = "engine"
    RANDOM = "random"

    @classmethod
    def of(cls, chosen: Suppression | None) -> Choice:
        """Return how a pattern was chosen."""
        if chosen is None:
            return cls.GIVEN
        return cls.ENGINE if chosen.seed is None else cls.RANDOM

    @classmethod
    def of_folder(cls, folder: OutputFolder) -> Choice:
        """Return what a folder says of it; if it says nothing, the engine, of which less is known."""
        try:
            said = folder.summary().get("choice")
        except InputError:
            said = None
        return cls(said) if said in list(cls) else cls.ENGINE


@dataclass(frozen=True, eq=False)
class SuppressionResult(Result):
    """An audit with what it was made from; ``job`` is None for a folder.

    ``known`` are totals that the attacker has from elsewhere, ``suppression`` what the engine gives if the pattern was
    chosen. ``sums`` is what became of the sums of suppressed cells, None if nobody could look at them. With
    ``accept_no_rules`` tables without rules may be released all the same, and are called safe by nobody.
    """

    findings: Findings
    audit: Audit
    known: ExternalTotals = NO_TOTALS
    job: Job | None = None
    suppression: Suppression | None = None
    accept_no_rules: bool = False
    notes: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    sums: JudgedSums | None = None
    choice: Choice = Choice.GIVEN

    def __repr__(self) -> str:
        return f"<SuppressionResult: {self.audit!r}>"

    @property
    def tables(self) -> Sequence[Table]:
        """The true tables."""
        return self.audit.needs.tables.tables

    @cached_property
    def release(self) -> Release | None:
        """The tables as published, if every protection level is proven and every table has rules, or it is accepted
        that not.
        """
        grains = self.audit.grains
        exact = grains.value.tolist(), grains.decimals.tolist()
        return release(self.audit.pattern, *exact) if self.verdict.allows_release else None

    @cached_property
    def verdict(self) -> Headline:
        """What is proven, and what was not checked."""
        other = self.job is not None and any(spec.period == "other" for spec in self.job.previous)
        pattern = self.audit.pattern
        chosen = self.choice if (pattern.secondary & ~pattern.unpublished).any() else Choice.GIVEN
        said = headline(self.findings, self.audit, self.sums, other_times=other, choice=chosen.value)
        return replace(said, accepted=self.accept_no_rules and said.kind == "no rule")

    @property
    def question(self) -> str:
        """Who can estimate an unsafe cell too closely."""
        whom = "an outsider" if self.audit.inside is None else "an outsider or a respondent"
        return f"whether {whom} can estimate a cell that the policy's own rules call unsafe too closely"

    @property
    def hidden(self) -> BoolArray:
        """The cells of the pattern."""
        return self.audit.pattern.hidden

    @property
    def hints(self) -> Sequence[Hint]:
        """The pairs of respondents that the engine found close to each other."""
        return () if self.suppression is None else self.suppression.hints

    @property
    def inputs(self) -> Mapping[str, str]:
        """The digests of the files as they were when they were read."""
        return self.digests

    @cached_property
    def explained(self) -> Explanations | None:
        """Which cells protect which, as far as the proof tells, if all that must be protected is."""
        if self.audit.verdict != "safe":
            return None
        return explain_proof(self.audit, known=self.known.sums)

    @cached_property
    def explanations(self) -> StoredExplanations:
        """What is known of why cells are suppressed, as the folder keeps it: of each unsafe cell, and who comes
        near.
        """
        relies = relies_on(self.audit) if self.audit.verdict == "safe" else {}
        inside, unsafe = self.audit.inside, np.flatnonzero(self.audit.needs.primary).tolist()
        return StoredExplanations(
            {} if self.explained is None else self.explained.through,
            {cell: others for cell, others in relies.items() if others is not None},
            None if inside is None else {cell: suspects(inside, cell, SUSPECTS) for cell in unsafe},
            moved_inside(self.audit),
        )

    @cached_property
    def inside_of(self) -> Mapping[int, list[int]]:
        """The unsafe cells that secondaries protect from respondents, by secondary."""
        served: dict[int, list[int]] = {}
        for unsafe, moved in moved_inside(self.audit).items():
            for cell in moved:
                served.setdefault(cell, []).append(unsafe)
        return served

    @cached_property
    def hidden_with(self) -> Mapping[int, list[str]]:
        """The responses with which cells are suppressed, by cell."""
        return {} if self.job is None else hidden_with(self.audit.pattern, self.job)

    @cached_property
    def nearest(self) -> list[Near]:
        """The pairs in which an insider may come nearest to another respondent, if insiders were looked at."""
        return [] if self.audit.inside is None else nearest(self.audit.inside)

    @cached_property
    def intervals(self) -> Intervals | None:
        """The attacker's exact intervals, unless they are too many to work out for a page."""
        return exact_intervals(self.audit)

    def cell(self, cell: int) -> dict[str, str]:
        """Return a distinct cell as people read it: its table, its codes and what these are called."""
        tables = self.audit.needs.tables
        number, position = (int(a[cell]) for a in tables.first)
        return name_cell(tables.tables[number], position)

    def decimals(self, cell: int) -> int:
        """Return how many decimals a distinct cell is published with."""
        tables = self.audit.needs.tables
        return tables.tables[int(tables.first[0][cell])].decimals

    def status(self, cell: int) -> str:
        """Return the status of a distinct cell."""
        return STATUS[1] if self.audit.pattern.primary[cell] else STATUS[2]

    def reasons(self, cell: int) -> str:
        """Return the rules that make a distinct cell unsafe in the table that shows it first."""
        number, position = (int(a[cell]) for a in self.audit.needs.tables.first)
        return "; ".join(self.findings.by_table[number].why(position)) or "unsafe in a linked table"

    def summary(self) -> Summary:
        """Return verdict, counts and what gives cells away; no suppressed value, but what an attacker would find."""
        return Summary(
            "audit" if self.suppression is None else "protect",
            self.verdict,
            {t.name: self._count(i) for i, t in enumerate(self.tables)},
            [*self.notes, *self._not_optimal(), *self._random()],
            self._facts(),
        )

    def _facts(self) -> dict[str, Any]:
        audit, tables = self.audit, self.audit.needs.tables
        return {
            "single_respondent_cells": self.verdict.single_respondent_cells,
            **({"microdata": dict(self.counts)} if self.counts else {}),
            "set": {
                "cells": len(tables),
                "relations": int(tables.relations.shape[0]),
                "primary": int(audit.needs.primary.sum()),
                "secondary": int((audit.pattern.secondary & ~audit.pattern.unpublished).sum()),
                "failing": int(audit.failing.sum()),
                "undecided": int(audit.undecided.sum()),
                "witnesses": len(audit.decided.moves) + (0 if audit.inside is None else len(audit.inside.moves)),
            },
            **self._cost(),
            "failing": self.failures(),
            "insiders": "not checked" if audit.inside is None else "checked",
            "coalition": 0 if audit.inside is None else audit.inside.size,
            "too_near": self.too_near(),
            "sums": self._sums(),
            "trusted": taken_on_trust(rule for here in self.findings.by_table for rule in here.rules),
            "settings": {} if self.job is None else self.job.model_dump(),
            "choice": self.choice.value,
            "seed": None if self.suppression is None else "secret" if self.choice is Choice.RANDOM else "fixed",
        }

    def _sums(self) -> dict[str, Any]:
        """Return how many sums of suppressed cells were judged and are protected, and what was not looked at."""
        tables = self.audit.needs.tables.tables
        unsafe = sum(len(table) for table in tables if table.release == "sums")
        if self.sums is None:
            return {"judged": 0, "unsafe": unsafe, "beyond": ["all"]}
        return {"judged": self.sums.judged, "unsafe": unsafe, "beyond": list(self.sums.beyond)}

    def failures(self, most: int = 100) -> list[dict[str, Any]]:
        """Return the cells that are not protected, how closely an attacker comes, and through which relations."""
        audit, tables = self.audit, self.audit.needs.tables
        world = audit.needs.world
        relations = world.relations_with(self.known.sums)
        unknown = audit.pattern.unknown & ~world.constraints.empty
        wanted = np.flatnonzero(audit.failing | audit.undecided)[:most].tolist()
        reasons = explain(world.constraints, relations, unknown, audit.lower, audit.upper, wanted)
        return [
            {
                "cell": tables.cell_name(cell),
                "lower": _finite(audit.lower[cell]),
                "upper": _finite(audit.upper[cell]),
                "undecided": bool(audit.undecided[cell]),
                "how": how,
            }
            for cell, how in zip(wanted, reasons, strict=True)
        ]

    def too_near(self, most: int = 100) -> list[dict[str, Any]]:
        """Return which insiders, by number, estimate others too closely, or may, and in which cells."""
        inside, tables = self.audit.inside, self.audit.needs.tables
        pairs = [] if inside is None else [*inside.failing, *inside.undecided]
        cells = self.audit.problem.cells
        return [
            {
                "insider": None if pair.insider < 0 else pair.insider,
                "others": list(pair.others),
                "cell": tables.cell_name(int(cells[pair.cell])),
                "undecided": inside is not None and pair in inside.undecided,
            }
            for pair in pairs[:most]
        ]

    def _not_optimal(self) -> list[str]:
        """Return a warning if the optimum was asked for, and is not proven."""
        chosen = self.suppression
        if chosen is None or chosen.engine != "optimal" or chosen.gap == 0 or chosen.seed is not None:
            return []
        return ["the pattern is safe, but the engine optimal did not get to a proof that it is the cheapest"]

    def _random(self) -> list[str]:
        """Return what to know of a pattern that was chosen by random costs."""
        if self.suppression is None or self.choice is not Choice.RANDOM:
            return []
        return [
            "costs were multiplied by random factors: another run suppresses other cells, at another cost, and how far "
            "from the least is not known. internal/seed.json (secret) gives this pattern again, with --seed-from"
        ]

    def _cost(self) -> dict[str, Any]:
        """Return what the secondaries cost, and how far that may be from the least possible."""
        if self.suppression is None:
            return {}
        chosen = self.suppression
        return {
            "cost": chosen.cost,
            "lower_bound": chosen.bound,
            "bound_rests_on": sorted(chosen.cuts),
            "gap": chosen.gap,
            "deterministic": chosen.finished,
            "engine": chosen.engine,
        }

    def _count(self, number: int) -> dict[str, Any]:
        status = self.audit.pattern.status(number)
        cells = self.audit.needs.tables.cells_of[number]
        counts = {word: int((status == word).sum()) for word in STATUS}
        hidden = np.isin(status, STATUS[1:3])
        return {
            "release": self.tables[number].release,
            "cells": len(status),
            **counts,
            "failing": int(self.audit.failing[cells].sum()),
            "suppressed_value": float(self.audit.needs.tables.value[cells][hidden].sum()),
        }


def exact_intervals(audit: Audit, most: int | None = None) -> Intervals | None:
    """Return the exact intervals: those of the audit, or worked out now if they are few.

    None if they are many, or beyond the solver: nothing that is proven rests on them.
    """
    problem, n = audit.problem, len(audit.needs.tables)
    hidden = np.zeros(n, bool)
    hidden[problem.cells[problem.cells < n]] = True
    if audit.exact.all():
        return Intervals(hidden, audit.lower, audit.upper)
    usual = MOST_COUNTS if problem.whole.any() else MOST
    if len(problem.cells) > (usual if most is None else most):
        return None
    try:
        ends = exact_moves(problem, run=UNWATCHED)
    except Unsolved:
        return None
    return Intervals(hidden, *attacker_ends(audit.grains, problem, n, *ends))


def _finite(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None
