"""`Source`: a perturbed source that answers questions, each checked with all that was ever answered from it.

Order of a question: the same one before (its answer again, at no cost); cells that follow from what is published (no
cost either); each cell by itself; all cells with all that was answered; withheld cells, or no and what can be answered
instead; the register; and only then the answer. The factor and the worlds are made again from the register when a
source is opened, and whatever other workers wrote there is taken in before each new question.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from cellguard.arrays import BoolArray
from cellguard.errors import InputError, InternalError
from cellguard.methods.perturb.answers.asked import Asked, Response, ask_cells
from cellguard.methods.perturb.answers.opened import Opened, known_value, open_source
from cellguard.methods.perturb.answers.question import Question
from cellguard.methods.perturb.answers.system import System, Trial
from cellguard.methods.perturb.answers.withholding import Decision, decide
from cellguard.register.entry import ANSWER, REFUSAL, Entry
from cellguard.register.register import Register, open_register
from cellguard.table.printed import printed

METHOD = "perturb"
_KEPT, _ATTEMPTS, _INSTEAD = 1_000, 50, 3
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
)
_WHY = {
    "determined": "the contributions of too few are determined",
    "tied": "two contributors would learn from each other",
    "dominated": "a contributor could be estimated too closely",
}
_ALONE = "no cell may be shown even by itself: there are too few contributors, or one of them dominates"
_SPENT = "nothing more can be told safely: what may be told from this source is used up"


@dataclass(frozen=True, eq=False)
class Answer:
    """A table that may be published, or no and why. ``values`` are printed; None where a cell is withheld.

    ``instead`` are questions that would be answered, ``new`` how many cells say something of their own, ``exposure``
    the share of all that could be told that is told with it, and ``repeated`` says that it was answered before.
    """

    question: Question
    codes: tuple[tuple[str, ...], ...]
    values: tuple[str | None, ...]
    decimals: int
    reason: str
    instead: tuple[Question, ...]
    new: int
    exposure: float
    repeated: bool
    number: int

    @property
    def answered(self) -> bool:
        """Whether there is a table."""
        return bool(self.values)

    @property
    def withheld(self) -> int:
        """How many cells are withheld."""
        return sum(value is None for value in self.values)


class Source:
    """A source that was opened; several threads and processes may ask it."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.opened: Opened = open_source(self.folder)
        self.register: Register = open_register(self.opened.spec.answers, self.folder)
        self.register.claim(self.opened.owner)
        self._lock = RLock()
        self._kept: OrderedDict[str, Answer] = OrderedDict()
        self._entries: dict[str, Entry] = {}
        self._last: Entry | None = None
        self._spent: dict[str, list[int]] = {}  # of each user: answers and cells of their own
        self._broken = False
        rules = self.opened.rules
        self.systems = {n: System(r.size, r.noise, rules) for n, r in self.opened.responses.items()}
        for question in self.opened.planned:
            asked = self._asked(question, planned=True)
            self._take(asked, np.ones(len(asked), bool))
        self.refresh()

    def ask(self, question: Question, *, who: str = "local") -> Answer:
        """Answer a question; what is answered is in the register before this returns."""
        if (kept := self._again(question)) is not None:
            return kept
        with self._lock:
            for _ in range(_ATTEMPTS):
                self.refresh()
                if (kept := self._again(question)) is not None:
                    return kept
                answer = self._attempt(question, who)
                if answer is not None:
                    return answer
        raise InputError("too many questions are answered at once; ask again")

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

    def refresh(self) -> None:
        """Take in what other workers answered meanwhile."""
        with self._lock:
            if self._broken:
                raise InternalError("the source is out of step with its register; open it again")
            last = (0, None) if self._last is None else (self._last.number, self._last.digest)
            for entry in self.register.since(*last):
                self._broken = True
                self._replay(entry)
                self._note(entry)
                self._broken = False

    @property
    def values(self) -> tuple[str, ...]:
        """What may be asked for."""
        said = self.opened.spec.values
        return tuple(self.opened.responses if said is None else said)

    @property
    def exposure(self) -> dict[str, float]:
        """Of each value the share of all that could be told that is told: rank / respondents."""
        return {name: system.exposure for name, system in self.systems.items()}

    def left(self, who: str) -> dict[str, int | None]:
        """Return how many answers and new cells a user may still have; None: no limit."""
        limits, (answers, cells) = self.opened.spec.limits, self._spent.get(who, [0, 0])
        return {
            "answers": None if limits.answers is None else max(limits.answers - answers, 0),
            "new_cells": None if limits.new_cells_per_user is None else max(limits.new_cells_per_user - cells, 0),
        }

    def close(self) -> None:
        """Let go of the register."""
        self.register.close()

    def _attempt(self, question: Question, who: str) -> Answer | None:
        """Return the answer to a new question, or None if another worker wrote first."""
        asked = self._asked(question)
        if not asked.alone.any():
            return self._refused(asked, who, _ALONE, ())
        system = self.systems[question.value]
        done = decide(system, asked)
        if (limit := self._limit(question, done.trial, who)) is not None:
            return Answer(question, (), (), 0, limit, (), 0, system.exposure, False, 0)
        if not done.shown.any():
            why = "; ".join(_WHY[kind] for kind in done.kinds) or "rounding leaves open whether it is safe"
            words = f"together with what was answered before, {why}"
            return self._refused(asked, who, words, self._instead(question))
        entry = self._entry(asked, who, ANSWER, done.shown, done, self._withheld_words(asked, done))
        if not self.register.append(entry):
            return None
        self._broken = True
        if done.trial is not None:
            system.take(done.trial)
        self._note(entry)
        self._broken = False
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
            entry = self._entry(asked, who, ANSWER, done.shown, done, "")
            if not self.register.append(entry):
                return [], False
            self._broken = True
            if done.trial is not None:
                system.take(done.trial)
            self._note(entry)
            self._broken = False
        return wrong, True

    def _whole(self, question: Question) -> bool:
        """Return whether every cell of a question is published already."""
        entry = self._entries.get(question.digest)
        told = entry is not None and entry.kind == ANSWER and bool(entry.cells().all())
        return told or question in self.opened.planned

    def _refused(self, asked: Asked, who: str, reason: str, instead: tuple[Question, ...]) -> Answer | None:
        nothing = np.zeros(len(asked), bool)
        entry = self._entry(asked, who, REFUSAL, nothing, Decision(nothing, None, ()), reason)
        if not self.register.append(entry):
            return None
        self._note(entry)
        exposure = self.systems[asked.question.value].exposure
        answer = Answer(asked.question, (), (), 0, reason, instead, 0, exposure, False, entry.number)
        self._keep(answer)
        return answer

    def _limit(self, question: Question, trial: Trial | None, who: str) -> str | None:
        """Return which limit stands against an answer."""
        limits, system = self.opened.spec.limits, self.systems[question.value]
        new = 0 if trial is None else trial.rank
        left = self.left(who)
        if left["answers"] == 0:
            return "you have had as many answers as you may; ask those again that you had"
        if limits.new_cells is not None and new > limits.new_cells:
            return f"the table would tell {new:,} new cells; one answer may tell {limits.new_cells:,}. Ask for less"
        if left["new_cells"] is not None and new > left["new_cells"]:
            return (
                f"the table would tell {new:,} new cells, and you may be told {left['new_cells']:,} more. Ask for less"
            )
        if new and (system.rank + new) / max(len(system), 1) > limits.exposure:
            return _SPENT
        return None

    def _instead(self, question: Question) -> tuple[Question, ...]:
        """Return coarser questions that would be answered whole: fewer levels, no filter, one variable less."""
        found = list[Question]()
        for other in _coarser(question, self.opened)[: 2 * _INSTEAD]:
            known = self._entries.get(other.digest)
            if (known is not None and known.kind == ANSWER) or (known is None and self.would_answer(other)):
                found.append(other)
            if len(found) == _INSTEAD:
                break
        return tuple(found)

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

    def _entry(self, asked: Asked, who: str, kind: str, shown: BoolArray, done: Decision, about: str) -> Entry:
        return Entry.after(
            self._last,
            who=who,
            kind=kind,
            method=METHOD,
            question=asked.question.plain(),
            asked=asked.question.digest,
            shown=shown,
            rank=0 if done.trial is None else done.trial.rank,
            figures=_figures(self._values(asked, shown)),
            about=about,
        )

    def _replay(self, entry: Entry) -> None:
        if entry.kind != ANSWER or entry.method != METHOD:
            return
        asked, shown = self._of_entry(entry)
        self._take(asked, shown)

    def _of_entry(self, entry: Entry) -> tuple[Asked, BoolArray]:
        asked, shown = self._asked(Question.read(entry.question), planned=True), entry.cells()
        if len(shown) != len(asked) or _figures(self._values(asked, shown)) != entry.figures:
            raise InputError(
                f"{self.register.name}: answer {entry.number} was made from other records, codes or multipliers than "
                "these; use those of that time"
            )
        return asked, shown

    def _take(self, asked: Asked, shown: BoolArray) -> None:
        system = self.systems[asked.question.value]
        if not system.implied(asked.cells, shown):
            system.take(system.trial(asked.cells, shown))

    def _note(self, entry: Entry) -> None:
        self._last = entry
        self._entries.setdefault(entry.asked, entry)
        spent = self._spent.setdefault(entry.who, [0, 0])
        spent[0] += entry.kind == ANSWER
        spent[1] += entry.rank

    def _again(self, question: Question) -> Answer | None:
        """Return the answer that a question had before."""
        kept = self._kept.get(question.digest)
        if kept is not None:
            return replace(kept, repeated=True)
        entry = self._entries.get(question.digest)
        if entry is None:
            return None
        if entry.kind == REFUSAL:
            with self._lock:
                exposure = self.systems[question.value].exposure
                answer = Answer(
                    question, (), (), 0, entry.about, self._instead(question), 0, exposure, True, entry.number
                )
        else:
            asked, _ = self._of_entry(entry)
            answer = self._shown(asked, entry, exposure=self.systems[question.value].exposure)
        self._keep(answer)
        return replace(answer, repeated=True)

    def _keep(self, answer: Answer) -> None:
        with self._lock:
            self._kept[answer.question.digest] = answer
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)

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


def _figures(values: Sequence[str | None]) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def _coarser(question: Question, opened: Opened) -> list[Question]:
    """Return questions that ask for less: without the deepest level of a variable, the filter, or a variable."""
    plain: Mapping[str, Any] = question.plain()
    found = list[Question]()
    for name in question.by:
        deepest = int(opened.variables[name][0].level.max())
        levels = plain["levels"].get(name, list(range(deepest + 1)))
        if len(levels) > 1 and (left := levels[:-1]) != [0]:
            found.append(Question.read({**plain, "levels": {**plain["levels"], name: left}}))
    if question.where:
        found.append(Question.read({**plain, "where": {}}))
    for name in question.by if len(question.by) > 1 else ():
        levels = {other: chosen for other, chosen in plain["levels"].items() if other != name}
        found.append(Question.read({**plain, "by": [b for b in question.by if b != name], "levels": levels}))
    return found
