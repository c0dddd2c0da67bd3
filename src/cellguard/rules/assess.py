"""`assess`: which cells are unsafe, under which rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.errors import InputError, did_you_mean
from cellguard.rules.all_of import parts
from cellguard.rules.others import with_others
from cellguard.rules.rule import Rule
from cellguard.table.apriori import State
from cellguard.table.arrow import Streams, of_all, of_table
from cellguard.table.fact import Mark, Signs
from cellguard.table.signed_facts import Sizes
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet, link

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class TableFindings(Streams):
    """What the rules say of one table: for each rule and cell the sensitivity, and whether it makes the cell unsafe."""

    table: Table
    rules: tuple[Rule, ...]
    sensitivity: tuple[FloatArray, ...]
    unsafe: tuple[BoolArray, ...]
    elsewhere: BoolArray | None = None  # the cells of a latent table that others list, and are judged there

    def __repr__(self) -> str:
        rules = "; ".join(map(str, self.rules)) or "no rules"
        return f"<TableFindings {self.table.name!r}: {int(self.primary.sum())} unsafe of {len(self.table)} ({rules})>"

    @cached_property
    def primary(self) -> BoolArray:
        """The unsafe cells: some rule or the state must_suppress says so, and no waiver takes it back."""
        state = self.table.apriori
        said = np.logical_or.reduce([*self.unsafe, state.has(State.must_suppress)])
        public = state.has(State.must_publish) & (self.table.release == "earlier")
        here = True if self.elsewhere is None else ~self.elsewhere
        return np.asarray(said & ~state.has(State.waived) & ~public & here, bool)

    def why(self, cell: str | Sequence[str] | int) -> list[str]:
        """Return the reasons why a cell is unsafe; none for a safe cell.

        >>> from cellguard.rules.simple import MinFrequency
        >>> from cellguard.table.read import cells
        >>> t = cells({"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 2, 7]}, by=["r"], value="x", count="n")
        >>> assess(t, [MinFrequency(3)])["table"].why("N")
        ['min_frequency 3']
        """
        number = cell if isinstance(cell, int) else self.table.find(cell)
        if not self.primary[number]:
            return []
        return [reason for reason, cells in self._ways if cells[number]]

    @cached_property
    def _ways(self) -> list[tuple[str, BoolArray]]:
        """The ways in which cells became unsafe, and which did: a rule that decides in several ways says which."""
        ways: list[tuple[str, BoolArray]] = []
        for rule, unsafe in zip(self.rules, self.unsafe, strict=True):
            ways += [
                (reason, cells & unsafe) for reason, cells in rule.branches(self.table.facts) or [(str(rule), unsafe)]
            ]
        return [*ways, (State.must_suppress.name, self.table.apriori.has(State.must_suppress))]

    def reasons(self) -> list[str]:
        """Return the reasons of every cell, joined with '; '."""
        names = [reason for reason, _ in self._ways]
        pattern = np.zeros(len(self.table), np.int64)
        for i, (_, cells) in enumerate(self._ways):
            pattern |= (cells & self.primary).astype(np.int64) << i
        different, inverse = np.unique(pattern, return_inverse=True)
        texts = ["; ".join(name for i, name in enumerate(names) if p >> i & 1) for p in different.tolist()]
        return [texts[i] for i in inverse.tolist()]

    def to_arrow(self) -> pa.Table:
        """Return dimension columns, value, whether the cell is unsafe in this table, and why. Confidential."""
        columns = {"value": self.table.value, "unsafe": self.primary, "reasons": self.reasons()}
        return of_table(self.table, columns)


@dataclass(frozen=True, eq=False)
class Findings(Streams):
    """Which cells of a set of tables are unsafe, and why; `assess` returns it.

    A cell that is unsafe in one table is unsafe in all that show it. Findings are an Arrow table, as a whole (with a
    column ``table``; all tables must have the same dimensions) or table by table: dimension columns, ``value``,
    ``unsafe`` and ``reasons``. Confidential.

    Parameters
    ----------
    tables
        The tables as one linked set.
    by_table
        The findings of each table.

    Examples
    --------
    >>> import cellguard as cg, pyarrow as pa
    >>> t = cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 2, 7]}, by=["r"], value="x", count="n")
    >>> findings = cg.assess(t, cg.MinFrequency(3))
    >>> findings, findings.why("N")
    (<Findings table: 1 unsafe of 3 distinct cells>, ['min_frequency 3'])
    >>> pa.table(findings)["reasons"].to_pylist()
    ['', 'min_frequency 3', '']
    """

    tables: TableSet
    by_table: tuple[TableFindings, ...]

    def __repr__(self) -> str:
        names = ", ".join(f.table.name for f in self.by_table)
        none = f"; no rule was applied to {', '.join(self.without_rules)}" if self.without_rules else ""
        return f"<Findings {names}: {int(self.primary.sum())} unsafe of {len(self.tables)} distinct cells{none}>"

    def __getitem__(self, name: str) -> TableFindings:
        names = [f.table.name for f in self.by_table]
        if name not in names:
            raise InputError(f"no table {name!r}{did_you_mean(name, names)}")
        return self.by_table[names.index(name)]

    @property
    def without_rules(self) -> tuple[str, ...]:
        """The tables to which no rule was applied: of their cells it is not known whether they are safe.

        A rule that can never fire is none, but for counts that are no secret beside values that rules judge: see
        `cellguard.job.counts_beside`.
        """
        judged = [here.table for here in self.by_table if any(rule.can_fire for rule in here.rules)]
        bare = [here for here in self.by_table if here.table not in judged and not here.table.is_added]
        return tuple(here.table.name for here in bare if not (here.rules and _beside(here.table, judged)))

    @cached_property
    def primary(self) -> BoolArray:
        """The unsafe ones among the distinct cells."""
        primary = np.zeros(len(self.tables), bool)
        for findings, cells in zip(self.by_table, self.tables.cells_of, strict=True):
            primary[cells] |= findings.primary
        return primary

    def shown_primary(self, name: str) -> BoolArray:
        """Return which cells of one table are unsafe, be it only because another table of the set says so."""
        number = self.tables.index(name)
        return self.primary[self.tables.cells_of[number]]

    def to_arrow(self) -> pa.Table:
        """Return the rows of all tables that were not added, with a column ``table`` in front. Confidential."""
        listed = [findings for findings in self.by_table if not findings.table.is_added]
        return of_all({findings.table.name: findings.to_arrow() for findings in listed})

    def why(self, cell: str | Sequence[str]) -> list[str]:
        """Return the reasons of a cell of the first table that has it, as `TableFindings.why`."""
        for findings in self.by_table:
            try:
                return findings.why(cell)
            except InputError:
                if findings is self.by_table[-1]:
                    raise
        return []


def _beside(table: Table, judged: Sequence[Table]) -> bool:
    """Return whether a table has the counts of cells whose values some other table shows."""
    shape = table.population, {d.name for d in table.dimensions}
    return table.is_count and any(
        not other.is_count and shape == (other.population, {d.name for d in other.dimensions}) for other in judged
    )


def assess(tables: Table | TableSet, rules: Rule | Sequence[Rule] | Mapping[str, Rule | Sequence[Rule]]) -> Findings:
    """Apply sensitivity rules: return which cells are unsafe, and why.

    Parameters
    ----------
    tables
        A table or a linked set.
    rules
        One rule or a list for all tables, or a mapping from the name of each table to its own. A cell is unsafe if any
        rule says so. ``[]`` applies none on purpose.

    Returns
    -------
    Findings
        The unsafe cells with their reasons. Rules that judge whole rows add cells that are not published to the
        tables.

    Raises
    ------
    InputError
        If a table lacks a fact that a rule looks at, has no rules, or has negative values under a rule that cannot
        judge them, or if an unsafe cell must be published.

    References
    ----------
    Hundepool, A. et al. (2012). *Statistical Disclosure Control*. Wiley, section 4.2.

    Examples
    --------
    >>> from cellguard.rules.linear import PPercent
    >>> from cellguard.table.read import cells
    >>> t = cells({"r": ["Total", "N", "S"], "x": [192, 92, 100], "x1": [81, 81, 30], "x2": [30, 5, 30]},
    ...           by=["r"], value="x", top=["x1", "x2"])
    >>> assess(t, [PPercent(10)]).primary.tolist()
    [False, True, False]
    """
    linked = tables if isinstance(tables, TableSet) else link(tables)
    chosen = rules if isinstance(rules, Mapping) else {t.name: rules for t in linked.tables}
    for name in chosen:
        linked[name]
    for table in linked.tables:
        if table.name not in chosen:
            raise InputError(f"table {table.name!r} has no rules; give it some, or [] to apply none on purpose")
    listed = {t.name: _listed(chosen[t.name]) for t in linked.tables}
    linked = with_others(linked, listed)
    judged = [assess_table(t, listed[t.name]) for t in linked.tables]
    judged = [replace(j, elsewhere=_elsewhere(linked, i)) if j.table.is_latent else j for i, j in enumerate(judged)]
    findings = Findings(linked, tuple(judged))
    _refuse_contradiction(findings)
    return findings


def _elsewhere(tables: TableSet, number: int) -> BoolArray:
    """Return which cells of a table other tables list, each by rules of its own."""
    listed = np.zeros(len(tables), bool)
    for other, (table, cells) in enumerate(zip(tables.tables, tables.cells_of, strict=True)):
        if other != number and not table.is_latent:
            listed[cells] = True
    return listed[tables.cells_of[number]]


def _listed(rules: Rule | Sequence[Rule]) -> tuple[Rule, ...]:
    """Return one rule or several as a tuple; anything else is refused."""
    listed = tuple(rules) if isinstance(rules, Sequence) else (rules,)
    for rule in listed:
        if isinstance(rule, type) or not hasattr(rule, "sensitivity"):
            raise InputError("rules must be values such as PPercent(10), or a list of them")
    return listed


def _missing(table: Table, rule: Rule) -> str | None:
    """Describe which fact of a rule a table lacks, and how to give it."""
    optional = () if table.origin == "records" else rule.optional
    missing = table.facts.missing(fact for fact in rule.facts if fact not in optional)
    only_marks = table.facts.missing(fact for fact in rule.facts if isinstance(fact, Mark))
    if missing and table.origin == "records" and not only_marks:
        return (
            "facts that the table was made without; name all its rules when you make it from records: "
            "tabulate(..., rules=[...])"
        )
    return missing


def assess_table(table: Table, rules: tuple[Rule, ...]) -> TableFindings:
    """Return what rules say of one table by itself; a table that lacks a fact that they need is refused."""
    for rule in rules:
        missing = _missing(table, rule)
        if missing:
            raise InputError(f"table {table.name!r}: the rule {rule} needs {missing}")
        if rule.nonnegative:
            _refuse_negative(table, rule)
        if not table.is_count and any(part.hides_below is not None for part in parts(rule)):
            raise InputError(
                f"table {table.name!r}: `hide: small` of {rule} is for tables of counts, which this one is not; leave "
                "it out: sums are protected by a percentage of their value (`protection_percent`)"
            )
    judged = [rule.look(table) for rule in rules]
    return TableFindings(table, rules, tuple(j.sensitivity for j in judged), tuple(j.unsafe for j in judged))


def _refuse_negative(table: Table, rule: Rule) -> None:
    if Sizes() in table.facts:
        return
    negative = table.value < 0
    if table.facts.tops is not None:
        negative = negative | (table.facts.tops < 0).any(axis=1)
    if Signs() in table.facts:
        negative = negative | (table.facts[Signs()] < 0).any(axis=1)
    if negative.any():
        cell = int(np.flatnonzero(negative)[0])
        where = f"{table.place.name}, column {table.response!r}" if table.origin == "records" else table.where(cell)
        raise InputError(
            f"{where}: the cell {table.message_name(cell)} has a negative value or contribution, but the rule "
            f"{rule} only makes sense for values that are not negative; {_CURES[table.origin == 'records']}"
        )


_CURES = (
    "use a rule such as min_frequency for this table, or name the column of the sums of sizes with `sizes`",
    "say what it sees instead, as `negative: absolute`, or use a rule such as min_frequency for this table",
)


def _refuse_contradiction(findings: Findings) -> None:
    """A cell that must be published is neither unsafe (only a waiver allows that) nor of a level not shown."""
    for here, cells in zip(findings.by_table, findings.tables.cells_of, strict=True):
        table = here.table
        both = table.unpublished & table.apriori.has(State.must_publish)
        if both.any():
            cell = int(np.flatnonzero(both)[0])
            raise InputError(
                f"{table.where(cell)}: the cell {table.message_name(cell)} must be published, but `publish` does not "
                "show its level"
            )
        both = findings.primary[cells] & table.apriori.has(State.must_publish)
        if both.any() and table.release == "earlier":
            _refuse_public(findings, table, cells[both])
        if both.any():
            cell = int(np.flatnonzero(both)[0])
            reasons = "; ".join(here.why(cell)) or "in another table of the set"
            raise InputError(
                f"{table.where(cell)}: the cell {table.message_name(cell)} must be published, but is unsafe "
                f"({reasons}); {int(both.sum())} cells are so. If the contributors allow publication, say `waived`"
            )


def _refuse_public(findings: Findings, table: Table, cells: Positions) -> None:
    """Refuse cells that an earlier release shows and that are unsafe now: nobody can take them back."""
    for here, own in zip(findings.by_table, findings.tables.cells_of, strict=True):
        for row in np.flatnonzero(here.primary & np.isin(own, cells))[:1].tolist():
            raise InputError(
                f"{here.table.message_name(row)} of table {here.table.name!r} is unsafe ({'; '.join(here.why(row))}), "
                f"but public already: {table.name!r}, of an earlier release, shows it ({len(cells)} cells are so). It "
                "cannot be taken back: if that is accepted, or its contributors allow it, say `waived` of it in an "
                "a-priori file; else use the rules of that release"
            )
