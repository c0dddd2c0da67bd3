"""Sums of suppressed cells are judged like cells: those that a pattern tells, and those of each holding.

A sum that the rules call unsafe joins the set as a cell that is not published, with protection levels of its own; the
engine then protects it, and audit, insiders and certificate treat it, as any other cell. Which sums a pattern tells is
known only when it is chosen, so that choosing and judging take turns until nothing new is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray
from cellguard.inputs.assessment import Assessment
from cellguard.protection import Requirements, require
from cellguard.rules.assess import Findings, TableFindings, assess_table
from cellguard.rules.rule import Rule
from cellguard.run_context import UNWATCHED, Run
from cellguard.table.apriori import State
from cellguard.table.pattern import Pattern
from cellguard.table.sums import JudgedSums, RecordSums, Stakes, Sum, SumTable, parts_matrix
from cellguard.table.tableset import TableSet, with_sums
from cellguard.world.determined_sums import determined_sums
from cellguard.world.holding_sums import holding_sums
from cellguard.world.nearly_determined import nearly_determined

_AT_ONCE = 200  # unsafe sums that become cells together: most others go when these are protected


class SumSearch:
    """The sums of a set that were judged so far, and the assessment with unsafe ones as cells."""

    def __init__(self, assessed: Assessment, known: sp.csr_array, run: Run) -> None:
        self._base, self._known, self._run = assessed, known, run
        self.assessment = assessed
        self._unsafe: dict[Sum, bool] = {}
        self._cells: dict[Sum, None] = {}
        self._told: tuple[Sum, ...] = ()
        self._beyond: tuple[str, ...] = ()
        self._across = set[Sum]()
        self._looked_at: BoolArray | None = None
        records = assessed.sums
        if records is not None and assessed.needs.primary.any():
            tables = assessed.tables
            stakes = records.stakes(tables, np.flatnonzero(assessed.needs.primary))
            own = holding_sums(tables.relations, stakes, tables.value)
            self._judge(records, own)
            self._protect(own, len(own))

    def grow(self, pattern: Pattern) -> Requirements | None:
        """Judge the sums that a pattern tells; return the requirements with the unsafe ones, None if it has them."""
        records, world = self._base.sums, self._base.needs.world
        if records is None:
            return None
        n = len(self._base.tables)
        unknown = world.extend(pattern.unknown[:n] & ~world.constraints.empty, True)
        relations = world.relations_with(self._known)
        told = determined_sums(relations, unknown, self._base.tables.relations.shape[0], first=n)
        self._told = told.sums
        self._beyond = told.beyond
        beside = self._beside(records, relations, unknown)
        self._judge(records, [*self._told, *beside])
        self._protect(beside, len(beside))
        self._protect(self._told, _AT_ONCE)
        unsafe = any(self._unsafe.get(one) for one in [*self._told, *beside])
        return self.assessment.needs if unsafe and pattern.tables is not self.assessment.tables else None

    def _beside(self, records: RecordSums, relations: sp.csr_array, unknown: BoolArray) -> list[Sum]:
        """Return sums of unsafe and other unknown cells in all of which one holding has the largest stake.

        What protects an unsafe cell may be its holding's own cell, so that only their difference is uncertain. Without
        an unsafe cell among them a sum is safe, too; what is waived may be known. Of more sums than are looked at for
        each holding, those are that the
        relations nearly tell.
        """
        if self._looked_at is not None and (self._looked_at == unknown).all():
            return []
        self._looked_at = unknown
        tables, needs, n = self._base.tables, self._base.needs, len(self._base.tables)
        stakes = records.stakes(tables, np.flatnonzero(unknown[:n] & ~tables.stated(State.waived)))
        stakes = stakes.only(stakes.largest)
        stakes = stakes.only(np.isin(stakes.holding, stakes.holding[needs.primary[stakes.cell]]))
        own = holding_sums(tables.relations, _with_safe_cells(stakes, needs.primary), tables.value)
        near = self._nearly(relations, unknown)
        owners: dict[int, set[int]] = {}
        for cell, holding in zip(stakes.cell.tolist(), stakes.holding.tolist(), strict=True):
            owners.setdefault(cell, set()).add(holding)
        near = [one for one in near if set.intersection(*(owners.get(cell, set()) for cell in one))]
        return [one for one in dict.fromkeys([*own, *near]) if needs.primary[list(one)].any()]

    def _nearly(self, relations: sp.csr_array, unknown: BoolArray) -> list[Sum]:
        """Return the sums that relations tell but for cells that move by less than the largest protection level."""
        needs, n = self._base.needs, len(self._base.tables)
        world = needs.world
        level = float(max(needs.lower.max(), needs.upper.max()))
        room = world.value - world.lower, world.upper - world.value
        return nearly_determined(relations, unknown, room, level, self._base.tables.relations.shape[0], first=n)

    def _protect(self, sums: Sequence[Sum], most: int) -> None:
        """Make unsafe sums cells of the assessment, as many as may be new, those of fewest cells first."""
        fresh = [one for one in dict.fromkeys(sums) if self._unsafe.get(one) and one not in self._cells]
        if fresh:
            self._cells |= dict.fromkeys(sorted(fresh, key=len)[:most])
            self.assessment = with_unsafe_sums(self._base, list(self._cells), run=self._run)

    def _judge(self, records: RecordSums, sums: Sequence[Sum]) -> None:
        """Judge sums by the rules of their tables."""
        fresh = [one for one in dict.fromkeys(sums) if one not in self._unsafe]
        if not fresh:
            return
        self._run.tell(f"judging {len(fresh):,} sums of cells")
        self._across |= {one for one in fresh if _of_tied_responses(self._base.tables, one)}
        tables = records.tables(self._base.tables, fresh)
        for made in tables:
            unsafe = _findings(made).primary.tolist()
            for one, bad in zip(made.sums, unsafe, strict=True):
                self._unsafe[one] = self._unsafe.get(one, False) or bad

    def judged(self) -> JudgedSums | None:
        """Return what became of the sums; None where nobody could look at them."""
        if self._base.sums is None:
            return None
        safe = [one for one in self._told if self._unsafe.get(one) is False]
        apart = sum(one not in self._unsafe for one in self._told)
        more = [f"{apart:,} sums with cells of several responses, or not made from records"] if apart else []
        across = len(self._across - set(self._told))
        more += [f"{across:,} sums of one holding's cells of several responses"] if across else []
        return JudgedSums(
            len(self._unsafe), tuple(self._base.sums.tables(self._base.tables, safe)), (*self._beyond, *more)
        )


def _with_safe_cells(stakes: Stakes, primary: BoolArray) -> Stakes:
    """Return the stakes of those who have one in a cell that is not unsafe."""
    return stakes.only(np.isin(stakes.holding, stakes.holding[~primary[stakes.cell]]))


def _of_tied_responses(tables: TableSet, one: Sum) -> bool:
    """Whether a sum has parts of several responses, all of one equation, and is no cell itself: no rule judges it."""
    names = {tables.tables[number].response for number in tables.first[0][list(one)].tolist()}
    tied = any(names <= {name for _, name in equation.terms} for equation in tables.equations)
    return len(names) > 1 and tied and not _is_listed(tables.relations, one)


def _is_listed(relations: sp.csr_array, one: Sum) -> bool:
    """Whether some cell is the sum, by one relation.

    >>> rows = sp.csr_array(np.array([[1.0, -1, -1, 0]]))
    >>> _is_listed(rows, (1, 2)), _is_listed(rows, (1, 3))
    (True, False)
    """
    own = np.zeros(relations.shape[1])
    own[list(one)] = 1
    many, inside = len(one), abs(relations @ own)
    terms, all_terms = np.diff(relations.indptr), abs(relations @ np.ones(len(own)))
    return bool(((terms == many + 1) & (inside == many) & (all_terms == many - 1)).any())


def with_unsafe_sums(base: Assessment, sums: Sequence[Sum], *, run: Run = UNWATCHED) -> Assessment:
    """Return an assessment whose set has some sums of its cells as cells of their own."""
    if base.sums is None or not sums:
        return base
    tables = base.sums.tables(base.tables, sums)
    parts = parts_matrix([one for made in tables for one in made.sums], len(base.tables))
    linked = with_sums(base.tables, [made.table for made in tables], parts)
    findings = Findings(linked, (*base.findings.by_table, *map(_findings, tables)))
    return replace(base, findings=findings, needs=require(findings, base.needs.knowledge, run=run.endless()))


def _findings(made: SumTable) -> TableFindings:
    return assess_table(made.table, tuple(cast("Sequence[Rule]", made.rules)))


def on_grown(pattern: Pattern, needs: Requirements) -> Pattern:
    """Return a pattern of a set as one of the same set with sums of its cells, which are unpublished anyway."""
    more = len(needs.tables) - len(pattern.secondary)
    secondary = np.concatenate([pattern.secondary, np.zeros(more, bool)])
    return Pattern(needs.tables, needs.primary, secondary & ~needs.primary)
