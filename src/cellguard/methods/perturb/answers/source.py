"""`Source`: a perturbed source that answers questions, each checked with all that was ever answered from it.

Order of a new question: cells that follow from what is published (no cost); each cell by itself; all cells with all
that was answered; withheld cells, or no and what can be answered instead; then as `AnsweringSource` says. The factor
and the worlds are made again from the register when a source is opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from cellguard.answers.answer import Answer
from cellguard.answers.answering import AnsweringSource, digest_of_figures
from cellguard.answers.question import Question
from cellguard.arrays import BoolArray
from cellguard.errors import InputError
from cellguard.methods.perturb.answers.asked import Asked, Response, ask_cells
from cellguard.methods.perturb.answers.opened import Opened, known_value, open_source
from cellguard.methods.perturb.answers.system import System, Trial
from cellguard.methods.perturb.answers.withholding import Decision, decide
from cellguard.register.entry import ANSWER, Entry
from cellguard.table.printed import printed

METHOD = "perturb"
_ATTEMPTS = 50
CHECKED = (
    "sums of contributors that all answers together determine",
    "pairs of contributors that a combination of answers ties to each other",
    "contributors that dominate a combination of answers, for those who know nothing beforehand",
)
NOT_CHECKED = (
    "coalitions in combinations that somebody dominates, beyond ties",
    "combinations of several contributors whose noise cancels, where a coalition knows all but one",
    "what refusals and withheld cells tell by themselves",
    "growth over years, but where the multipliers have steps for them",
    "what the ratio of two values tells of a respondent that dominates both, to those who know one of them",
    "tables made before the source was a source, but those of its job",
)
_WHY = {
    "determined": "the contributions of too few are determined",
    "tied": "two contributors would learn from each other",
    "dominated": "a contributor could be estimated too closely",
}
_ALONE = "no cell may be shown even by itself: there are too few contributors, or one of them dominates"
_SPENT = "nothing more can be told safely: what may be told from this source is used up"


class Source(AnsweringSource):
    """A perturbed source that was opened."""

    method = METHOD
    checked, not_checked = CHECKED, NOT_CHECKED

    def __init__(self, folder: str | Path) -> None:
        self.opened: Opened = open_source(Path(folder))
        opened = self.opened
        variables = {name: dimension for name, (dimension, _) in opened.variables.items()}
        super().__init__(Path(folder), opened.spec, variables, opened.owner)
        self.systems = {n: System(r.size, r.noise, opened.rules) for n, r in opened.responses.items()}
        for question in opened.planned:
            asked = self._asked(question, planned=True)
            self._take(asked, np.ones(len(asked), bool))
        self.refresh()

    def would_answer(self, question: Question) -> bool:
        """Return whether every cell that may be shown by itself could be shown now. Nothing is written."""
        with self._lock:
            asked = self._asked(question)
            if not asked.alone.any():
                return False
            done = decide(self.systems[question.value], asked, withhold=False)
            return bool(done.shown.any()) and self._limit(question, done.trial, "") is None

    def claim(self, questions: Sequence[Question], *, who: str) -> list[str]:
        """Take whole tables in as answered, every cell of them; return what is wrong with them instead, if anything."""
        with self._lock:
            for _ in range(_ATTEMPTS):
                self.refresh()
                wrong, wrote = self._claimed(questions, who)
                if wrong or wrote:
                    return wrong
        raise InputError("too many questions are answered at once; run again")

    @property
    def values(self) -> tuple[str, ...]:
        """What may be asked for."""
        said = self.opened.spec.values
        return tuple(self.opened.responses if said is None else said)

    @property
    def exposure(self) -> dict[str, float]:
        """Of each value the share of all that could be told that is told: rank / respondents."""
        return {name: system.exposure for name, system in self.systems.items()}

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules, in words."""
        return tuple(map(str, self.opened.rules))

    def _attempt(self, question: Question, who: str) -> Answer | None:
        """Return the answer to a new question, or None if another worker wrote first."""
        asked = self._asked(question)
        if not asked.alone.any():
            return self._refused(question, who, _ALONE, (), asked.alone)
        system = self.systems[question.value]
        done = decide(system, asked)
        if (limit := self._limit(question, done.trial, who)) is not None:
            return Answer.no(question, limit, exposure=system.exposure)
        if not done.shown.any():
            why = "; ".join(_WHY[kind] for kind in done.kinds) or "rounding leaves open whether it is safe"
            words = f"together with what was answered before, {why}"
            return self._refused(question, who, words, self._instead(question), done.shown)
        entry = self._entry_of(asked, who, done, self._withheld_words(asked, done))
        if not self._written(system, entry, done):
            return None
        answer = self._shown(asked, entry, exposure=system.exposure)
        self._keep(answer)
        return answer

    def _claimed(self, questions: Sequence[Question], who: str) -> tuple[list[str], bool]:
        wrong = list[str]()
        first = [q for q in questions if not self._whole(q)]
        for question in first:
            asked = self._asked(question, planned=True)
            everything = replace(asked, alone=np.ones(len(asked), bool))
            system = self.systems[question.value]
            done = decide(system, everything, withhold=False)
            if not done.shown.all():
                wrong.append(f"{question.words}: {'; '.join(_WHY[kind] for kind in done.kinds)}")
                return wrong, False
            if not self._written(system, self._entry_of(asked, who, done, ""), done):
                return [], False
        return wrong, True

    def _written(self, system: System, entry: Entry, done: Decision) -> bool:
        """Write an answer down and take its cells in; return False if another worker wrote first."""
        if not self.register.append(entry):
            return False
        with self._in_step():
            if done.trial is not None:
                system.take(done.trial)
            self._note(entry)
        return True

    def _whole(self, question: Question) -> bool:
        """Return whether every cell of a question is published already."""
        entry = self._entries.get(question.digest)
        told = entry is not None and entry.kind == ANSWER and bool(entry.cells().all())
        return told or question in self.opened.planned

    def _limit(self, question: Question, trial: Trial | None, who: str) -> str | None:
        """Return which limit stands against an answer."""
        system, new = self.systems[question.value], 0 if trial is None else trial.rank
        if (limit := self._limited(new, who)) is not None:
            return limit
        if new and (system.rank + new) / max(len(system), 1) > self.spec.limits.exposure:
            return _SPENT
        return None

    def _withheld_words(self, asked: Asked, done: Decision) -> str:
        alone, together = int((~asked.alone).sum()), int((asked.alone & ~done.shown).sum())
        words = []
        if alone:
            words.append(f"{alone:,} cells have too few contributors, or one dominates them")
        if together:
            why = "; ".join(_WHY[kind] for kind in done.kinds)
            more = f"{together:,} more" if alone else f"{together:,} cells"
            words.append(f"{more} are withheld because, with what was answered before, {why}")
        return "; ".join(words)

    def _entry_of(self, asked: Asked, who: str, done: Decision, about: str) -> Entry:
        rank = 0 if done.trial is None else done.trial.rank
        figures = self._values(asked, done.shown)
        return self._entry(asked.question, who, ANSWER, done.shown, rank=rank, figures=figures, about=about)

    def _replay(self, entry: Entry) -> None:
        asked, shown = self._of_entry(entry)
        self._take(asked, shown)

    def _of_entry(self, entry: Entry) -> tuple[Asked, BoolArray]:
        asked, shown = self._asked(Question.read(entry.question), planned=True), entry.cells()
        if len(shown) != len(asked) or digest_of_figures(self._values(asked, shown)) != entry.figures:
            raise self._changed(entry)
        return asked, shown

    def _take(self, asked: Asked, shown: BoolArray) -> None:
        system = self.systems[asked.question.value]
        if not system.implied(asked.cells, shown):
            system.take(system.trial(asked.cells, shown))

    def _stored(self, question: Question, entry: Entry) -> Answer:
        return self._shown(self._of_entry(entry)[0], entry, exposure=self._told(question))

    def _shown(self, asked: Asked, entry: Entry, *, exposure: float) -> Answer:
        codes = tuple(
            tuple(np.array(d.codes, object)[column].tolist())
            for d, column in zip(asked.dimensions, asked.codes, strict=True)
        )
        values = tuple(self._values(asked, entry.cells()))
        decimals = self._response(asked).decimals
        return Answer(
            asked.question, codes, values, decimals, entry.about, (), entry.rank, exposure, False, entry.number
        )

    def _values(self, asked: Asked, shown: BoolArray) -> list[str | None]:
        response = self._response(asked)
        units = np.rint(asked.total / 10.0 ** (response.scale - response.decimals)).astype(np.int64)
        return [
            printed(unit, response.decimals) if show else None
            for unit, show in zip(units.tolist(), shown.tolist(), strict=True)
        ]

    def _response(self, asked: Asked) -> Response:
        return self.opened.responses[asked.question.value]

    def _asked(self, question: Question, *, planned: bool = False) -> Asked:
        opened = self.opened
        response = opened.responses.get(question.value) if planned else None
        most = 1_000_000 if planned else opened.spec.limits.cells
        return ask_cells(
            question,
            response or known_value(opened, question.value),
            opened.variables,
            opened.rules,
            fewest=opened.fewest,
            most=most,
        )
