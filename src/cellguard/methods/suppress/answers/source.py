"""`SuppressingSource`: a source of true figures, each table suppressed together with all that was shown before.

A new table is protected as one linked set with all answers before (`previous`, in memory), whose cells stay as they
are: shown for good, or never. Populations that `where` chooses and that nest are subtracted from each other there;
those that overlap are refused. The records behind all cells are compared (`inputs.shown`): cells that differ by a few
respondents from what was shown are suppressed, and tables about nearly the same records are refused. Then linear
programs over the records decide what all answers tell together: nothing is answered that `attacker` does not clear.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cellguard.answers.answer import Answer
from cellguard.answers.answering import AnsweringSource, digest_of_figures
from cellguard.answers.question import Question
from cellguard.arrays import BoolArray
from cellguard.errors import InputError, NotProtected, Stopped
from cellguard.inputs.earlier_releases import Earlier, Memory
from cellguard.inputs.shown.closeness import Closeness
from cellguard.inputs.shown.memory import Shown
from cellguard.job.specs import PreviousSpec
from cellguard.methods.suppress.answers.attacker import in_danger, refuse_unlike
from cellguard.methods.suppress.answers.opened import Opened, open_records
from cellguard.methods.suppress.method import Suppress
from cellguard.microdata.grouped import COUNT
from cellguard.register.entry import ANSWER, Entry
from cellguard.run_context import Run
from cellguard.table.columns import all_headed
from cellguard.table.printed import nearest, printed
from cellguard.table.table import Table

METHOD = "suppress"
CHECKED = (
    "what all answers of a value tell together of each respondent, by linear programs over the records: to outsiders, "
    "and to each other respondent",
    "differences of nested populations, as far as they differ by codes of one variable",
    "cells that differ from unions of cells of one other answer by too few respondents",
)
NOT_CHECKED = (
    "what is known of values beforehand, but that none is below 0, and what answers about one value tell of another",
    "what refusals and suppressed cells tell by themselves",
    "tables published elsewhere that `previous` of the job does not name, and cycles of those that it names "
    "with answers",
)
Cell = frozenset[tuple[str, str]]
_BEFORE, _APART = "what was answered before", "what must be suppressed"
_ROUNDS, _CELLS = 6, 300
_NOTHING = "together with what was answered before, nothing more of this table can be told safely"
_TOO_MANY = (
    "all answers together would tell too much about a few respondents; ask for fewer variables, coarser codes, or a "
    "table without a filter"
)
_TOO_LONG = "what to suppress was not found in the time that an answer may take; ask for less"
_ALONE = "no cell may be shown even by itself: there are too few contributors, or one of them dominates"


@dataclass(frozen=True, eq=False)
class _Told:
    """An answer that was given: its entry's number as a name, and what it shows of which value."""

    uid: str
    value: str
    cells: frozenset[Cell]
    shown: tuple[Shown, ...]
    earlier: Earlier


class SuppressingSource(AnsweringSource):
    """A source of suppressed tables that was opened."""

    method = METHOD
    narrows = False
    checked, not_checked = CHECKED, NOT_CHECKED

    def __init__(self, folder: str | Path) -> None:
        self.opened: Opened = open_records(Path(folder))
        opened = self.opened
        super().__init__(Path(folder), opened.spec, opened.dimensions, opened.owner)
        several = opened.grouped.records.max(initial=1) > 1 or len(opened.grouped) > opened.grouped.holdings
        who = opened.grouped.holding.tolist() if several else None
        self._closeness = Closeness(who, opened.fewest)
        self._told_before: list[_Told] = []
        self.refresh()

    @property
    def values(self) -> tuple[str, ...]:
        """What may be asked for."""
        return tuple(self.opened.templates)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules, in words."""
        return tuple(dict.fromkeys(str(rule) for one in self.opened.templates.values() for rule in one.rules))

    @property
    def exposure(self) -> Mapping[str, float]:
        """There is no such measure of true figures."""
        return {}

    def would_answer(self, question: Question) -> bool:
        """Return whether something could be shown now. Nothing is written."""
        with self._lock:
            try:
                return bool(self._decided(question, self._table(question)).any())
            except (InputError, NotProtected, Stopped):
                return False

    def _attempt(self, question: Question, who: str) -> Answer | None:
        table = self._table(question)
        nothing = np.zeros(int((~table.unpublished).sum()), bool)
        try:
            shown = self._decided(question, table)
        except Stopped:
            return Answer.no(question, _TOO_LONG, exposure=0.0)
        except NotProtected as error:
            return self._refused(question, who, f"{_NOTHING}: {error}", (), nothing)
        if not shown.any():
            why = _NOTHING if self._told_before else _ALONE
            return self._refused(question, who, why, self._instead(question), nothing)
        seen = {cell for told in self._told_before if told.value == question.value for cell in told.cells}
        new = len(_cells(question, table, shown) - seen)
        if (limit := self._limited(new, who)) is not None:
            return Answer.no(question, limit, exposure=0.0)
        withheld = int((~shown).sum())
        about = f"{withheld:,} cells are suppressed, being unsafe or protecting those that are" if withheld else ""
        figures = _values(table, shown)
        entry = self._entry(question, who, ANSWER, shown, rank=new, figures=figures, about=about)
        if not self.register.append(entry):
            return None
        with self._in_step():
            self._take(question, table, entry)
            self._note(entry)
        answer = _shown_answer(question, table, entry)
        self._keep(answer)
        return answer

    def _decided(self, question: Question, table: Table) -> BoolArray:
        """Return which cells of a table, of those that are published at all, can be shown beside all answers."""
        members = self.opened.members(question)
        self._refuse_overlap(question, members)
        self._closeness.refuse_near(members, self._told_before)
        secret: dict[tuple[str, ...], str] = {}
        for _ in range(_ROUNDS):
            try:
                shown = self._protected(question, table, secret)
            except InputError:
                if secret:  # a cell that is to be suppressed now was shown before, and cannot be taken back
                    raise NotProtected(_TOO_MANY) from None
                raise
            whole = np.zeros(len(table), bool)
            whole[np.flatnonzero(~table.unpublished)] = shown
            here = self.opened.shown(question, table, whole, "asked")
            near = {cell for _, cell in self._closeness.near([here], self._told_before)}
            near = near or self._told_together(question, here)
            if not near:
                return shown
            secret |= dict.fromkeys(near, "must_suppress")
        raise NotProtected(_TOO_MANY)

    def _told_together(self, question: Question, here: Shown) -> set[tuple[str, ...]]:
        """Return cells of a new answer without which all answers of the value may tell less; none if they are safe."""
        opened = self.opened
        told = [shown for one in self._told_before if one.value == question.value for shown in one.shown]
        run = Run(deadline=time.monotonic() + self.spec.limits.seconds)
        holding, together = opened.grouped.holding, opened.job.attack.coalition
        found = set()
        figures, counts = opened.figures(question.value), question.value == COUNT
        refuse_unlike(here, figures)
        for records in in_danger([*told, here], figures, holding, here.rules, together, run, counts=counts):
            sizes = {
                int(part.cell[at]): int(part.size[at])
                for part in here.parts
                for at in np.unique(part.label[records & (part.label >= 0)]).tolist()
                if part.shown[at] and here.status[part.cell[at]] == "published"
            }
            if not sizes:
                raise NotProtected(_TOO_MANY)
            found.add(here.codes(min(sizes, key=lambda cell: (sizes[cell], cell))))
        return found

    def _refuse_overlap(self, question: Question, members: BoolArray) -> None:
        """Refuse a filter whose records are neither part of those of an earlier one, nor all of them, nor none."""
        for told in self._told_before:
            old = told.shown[0].members
            if told.value == question.value and (
                (old & members).any() and (old & ~members).any() and (members & ~old).any()
            ):
                raise NotProtected(
                    "its records overlap with those of an earlier filter, and what both tell together is not looked "
                    "at; ask for a table by these variables instead of filtering"
                )

    def _protected(self, question: Question, table: Table, secret: Mapping[tuple[str, ...], str]) -> BoolArray:
        """Protect the table with all answers before; return which of its cells are published."""
        held: dict[str, object] = {}
        more: dict[str, object] = {}
        if secret:
            heads = all_headed([d.name for d in table.dimensions], ("status",))
            cells = list(secret)
            held[_APART] = {**{h: [c[i] for c in cells] for i, h in enumerate(heads)}, "status": [*secret.values()]}
            more["apriori"] = _APART
        job = self.opened.job_of(question, "asked", **more)
        if before := [told.earlier for told in self._told_before if told.value == question.value]:
            held[_BEFORE] = Memory(tuple(before))
            previous = [*job.previous, PreviousSpec(folder=_BEFORE)]
            job = job.model_copy(update={"previous": previous})
        run = Run(deadline=time.monotonic() + self.spec.limits.seconds)
        method = Suppress.of(job.with_held(held), {})
        release = method.protect(method.assess(run, {}), run, {}).release
        shown = np.zeros(int((~table.unpublished).sum()), bool)
        if release is None:
            return shown
        made = release["asked"]
        at = {
            codes: i for i, codes in enumerate(zip(*table.code_texts(np.flatnonzero(~table.unpublished)), strict=True))
        }
        for codes, units in zip(zip(*made.codes, strict=True), made.units, strict=True):
            shown[at[codes]] = units is not None
        return shown

    def _replay(self, entry: Entry) -> None:
        question = Question.read(entry.question)
        self._take(question, self._table_of(entry), entry)

    def _table_of(self, entry: Entry) -> Table:
        table, shown = self._table(Question.read(entry.question)), entry.cells()
        rows = int((~table.unpublished).sum())
        if len(shown) != rows or digest_of_figures(_values(table, shown)) != entry.figures:
            raise self._changed(entry)
        return table

    def _stored(self, question: Question, entry: Entry) -> Answer:
        return _shown_answer(question, self._table_of(entry), entry)

    def _take(self, question: Question, table: Table, entry: Entry) -> None:
        name = f"answer{entry.number}"
        rows = np.flatnonzero(~table.unpublished)[entry.cells()]
        published = np.zeros(len(table), bool)
        published[rows] = True
        shown = self.opened.shown(question, table, published, name)
        earlier = Memory.of(table, rows, shown.rules, name)
        cells = _cells(question, table, entry.cells())
        self._told_before.append(_Told(name, question.value, cells, (shown,), earlier))

    def _table(self, question: Question) -> Table:
        table = self.opened.table(question)
        limits = self.spec.limits
        most = limits.cells if "cells" in limits.model_fields_set else _CELLS
        if (cells := int((~table.unpublished).sum())) > most:
            raise InputError(f"the table has {cells:,} cells; at most {most:,} are answered. Ask for coarser codes")
        return table


def _cells(question: Question, table: Table, shown: BoolArray) -> frozenset[Cell]:
    """Return names of the cells that are shown, the same in all tables that show them."""
    rows = np.flatnonzero(~table.unpublished)[shown]
    totals = [dimension.main.total for dimension in table.dimensions]
    where = [(name, "+".join(codes)) for name, codes in question.where]
    return frozenset(
        frozenset(
            [(name, code) for name, code, total in zip(question.by, codes, totals, strict=False) if code != total]
            + where
        )
        for codes in zip(*table.code_texts(rows), strict=True)
    )


def _values(table: Table, shown: BoolArray) -> list[str | None]:
    """Return the printed values of the cells that are published at all, None where one is not shown."""
    units = nearest(table.value[~table.unpublished].tolist(), table.decimals)
    return [
        printed(unit, table.decimals) if show and unit is not None else None
        for unit, show in zip(units, shown.tolist(), strict=True)
    ]


def _shown_answer(question: Question, table: Table, entry: Entry) -> Answer:
    rows = np.flatnonzero(~table.unpublished)
    codes = tuple(tuple(column.tolist()) for column in table.code_texts(rows)[: len(question.by)])
    values = tuple(_values(table, entry.cells()))
    return Answer(question, codes, values, table.decimals, entry.about, (), entry.rank, 0.0, False, entry.number)
