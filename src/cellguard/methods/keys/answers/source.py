"""`KeyedSource`: a source of counts whose noise goes by cell keys, judged by what all answers tell together.

A cell has the same noise in every answer, so that repeating and rephrasing a question tells nothing. A new table is
answered if no small count, of a cell or of what is left between cells, is likelier to an attacker than the job's
`limit`, given all counts that were ever answered. It is answered whole or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from cellguard.answers.answer import Answer
from cellguard.answers.answering import AnsweringSource, digest_of_figures
from cellguard.answers.question import Question
from cellguard.errors import InputError, JobError, did_you_mean, file_name
from cellguard.methods.keys.answers.boxes import Box
from cellguard.methods.keys.answers.opened import Counts, Opened, open_counts
from cellguard.methods.keys.answers.told import MOST_BOXES, Cell, judge
from cellguard.register.entry import ANSWER, Entry

METHOD = "cell_key"
CHECKED = (
    "how sure an attacker who knows the method is of a small count, given all counts that were answered, sums along "
    "one variable, and what is left between cells",
    "small differences of two counts, of which one holds the other",
)
NOT_CHECKED = (
    "small differences of three or more counts by several variables",
    "the exact probabilities where sums go in circles, which are estimated",
    "what counts tell by being unequal, which they would not be if one held nobody besides the other",
    "attackers who know some of the records, or of some cells that they are empty",
    "how likely a published 0 is a true one, and what refusals tell by themselves",
    "respondents with several records: the attack is on numbers of records",
    "tables made before the source was a source, but those of its job",
)
_SPENT = "so much was answered that more cannot be checked; nothing more is told"


class KeyedSource(AnsweringSource):
    """A source of counts with noise by cell keys that was opened."""

    method = METHOD
    checked, not_checked = CHECKED, NOT_CHECKED

    def __init__(self, folder: str | Path) -> None:
        self.opened: Opened = open_counts(Path(folder))
        opened = self.opened
        asked = opened.spec.variables
        shown = {name: d for name, d in opened.dimensions.items() if asked is None or name in asked}
        super().__init__(Path(folder), opened.spec, shown, opened.owner)
        self._cells: dict[Box, Cell] = {}
        for question in opened.planned:
            self._take(opened.counts(question, 1_000_000))
        if why := self._unsafe(self._cells, list(self._cells)):
            raise JobError(
                f"{file_name(opened.spec.job)}: its tables count as answered, and by themselves tell too much: {why}. "
                "Give them coarser codes or more noise; `cellguard protect` says where"
            )
        self.refresh()

    @property
    def values(self) -> tuple[str, ...]:
        """Counts alone."""
        return ("count",)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules, in words."""
        small, limit = self.opened.threshold, self.opened.settings.limit
        return (f"no count from 1 to {small - 1} likelier than {limit:.0%}",)

    @property
    def exposure(self) -> Mapping[str, float]:
        """There is no such measure of counts with noise."""
        return {}

    def would_answer(self, question: Question) -> bool:
        """Return whether the table could be shown now. Nothing is written."""
        with self._lock:
            return not self._against(self._counts(question))

    def _attempt(self, question: Question, who: str) -> Answer | None:
        counts = self._counts(question)
        new = sum(box not in self._cells for box in dict.fromkeys(counts.boxes))
        shown = np.ones(len(counts.true), bool)
        if (limit := self._limited(new, who)) is not None:
            return Answer.no(question, limit, exposure=0.0)
        if new and (why := self._against(counts)):
            words = f"together with what was answered before, {why}"
            return self._refused(question, who, words, self._instead(question), ~shown)
        entry = self._entry(question, who, ANSWER, shown, rank=new, figures=_values(counts), about="")
        if not self.register.append(entry):
            return None
        with self._in_step():
            self._take(counts)
            self._note(entry)
        answer = _answer(question, counts, entry)
        self._keep(answer)
        return answer

    def _against(self, counts: Counts) -> str:
        """Return what stands against an answer, in words; nothing if nothing does."""
        cells = {**self._cells, **self._new(counts)}
        return self._unsafe(cells, [box for box in dict.fromkeys(counts.boxes) if box not in self._cells])

    def _unsafe(self, cells: Mapping[Box, Cell], new: Sequence[Box]) -> str:
        """Return what stands against cells, of which some are new."""
        if len(cells) > MOST_BOXES:
            return _SPENT
        try:
            told = judge(cells, new, self.opened.table, self.opened.threshold)
        except OverflowError:
            return _SPENT
        limit = self.opened.settings.limit
        if told.largest > limit:
            return f"a small count would be likelier than {limit:.0%}"
        if told.pairs > limit:
            return f"a small difference of two counts would be likelier than {limit:.0%}"
        if told.undecided:
            return "what is left between the table and what was answered before is too wide to be checked"
        if told.estimated and self.opened.settings.unproven != "accept":
            return (
                "its sums go in circles, so what it tells is estimated only, and the job does not accept that "
                "(cell_key: {unproven: accept})"
            )
        return ""

    def _replay(self, entry: Entry) -> None:
        self._take(self._of_entry(entry))

    def _stored(self, question: Question, entry: Entry) -> Answer:
        return _answer(question, self._of_entry(entry), entry)

    def _of_entry(self, entry: Entry) -> Counts:
        counts = self.opened.counts(Question.read(entry.question), 1_000_000)
        if digest_of_figures(_values(counts)) != entry.figures:
            raise self._changed(entry)
        return counts

    def _counts(self, question: Question) -> Counts:
        for name in (*question.by, *(name for name, _ in question.where)):
            if name not in self.variables:
                raise InputError(f"no variable {name!r}{did_you_mean(name, self.variables)}")
        return self.opened.counts(question, self.spec.limits.cells)

    def _take(self, counts: Counts) -> None:
        self._cells.update(self._new(counts))

    def _new(self, counts: Counts) -> dict[Box, Cell]:
        whole = self.opened.whole
        found = {}
        for box, true, published in zip(counts.boxes, counts.true.tolist(), counts.published.tolist(), strict=True):
            narrowed = sum(mask != full for mask, full in zip(box, whole, strict=True))
            found[box] = Cell(true, published, filled=narrowed <= 1 and true > 0)
        return found


def _values(counts: Counts) -> list[str | None]:
    return [str(count) for count in counts.published.tolist()]


def _answer(question: Question, counts: Counts, entry: Entry) -> Answer:
    values = tuple(_values(counts))
    return Answer(question, counts.codes, values, 0, entry.about, (), entry.rank, 0.0, False, entry.number)
