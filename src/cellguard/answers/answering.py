"""`AnsweringSource`: the order in which every source answers, whatever protects its tables.

The same question before has its answer again, at no cost. A new one is decided by the method with all that was
answered; then comes the register, and only then the answer. What other workers wrote meanwhile is taken in before each
new question, and an entry is appended only after the entry that its writer knew as the last.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import Any, ClassVar

from cellguard.answers.answer import Answer
from cellguard.answers.question import Question
from cellguard.answers.spec import SourceSpec
from cellguard.arrays import BoolArray
from cellguard.errors import InputError, InternalError
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.register.entry import ANSWER, REFUSAL, Entry
from cellguard.register.register import Register, open_register

_KEPT, _ATTEMPTS, _INSTEAD = 1_000, 50, 3
_ALL_HAD = "you have had as many answers as you may; ask those again that you had"


class AnsweringSource(ABC):
    """A source that was opened; several threads and processes may ask it.

    ``checked`` and ``not_checked`` say what is looked at over all answers together, and what is not; ``narrows`` says
    whether a filter may be on a variable of the table itself.
    """

    method: ClassVar[str]
    narrows: ClassVar[bool] = True
    checked: ClassVar[tuple[str, ...]]
    not_checked: ClassVar[tuple[str, ...]]

    def __init__(
        self, folder: Path, spec: SourceSpec, variables: Mapping[str, Dimension], owner: Mapping[str, str]
    ) -> None:
        self.folder, self.spec, self.variables = folder, spec, variables
        self.register: Register = open_register(spec.answers, folder)
        self.register.claim(owner)
        self._lock = RLock()
        self._kept: OrderedDict[str, Answer] = OrderedDict()
        self._entries: dict[str, Entry] = {}
        self._last: Entry | None = None
        self._spent: dict[str, list[int]] = {}  # of each user: answers and cells of their own
        self._broken = False

    @property
    @abstractmethod
    def values(self) -> tuple[str, ...]:
        """What may be asked for."""

    @property
    @abstractmethod
    def rules(self) -> tuple[str, ...]:
        """The rules, in words."""

    @property
    @abstractmethod
    def exposure(self) -> Mapping[str, float]:
        """Of each value the share of all that could be told that is told, where there is such a measure."""

    @abstractmethod
    def would_answer(self, question: Question) -> bool:
        """Return whether every cell that may be shown by itself could be shown now. Nothing is written."""

    @abstractmethod
    def _attempt(self, question: Question, who: str) -> Answer | None:
        """Return the answer to a new question, or None if another worker wrote first."""

    @abstractmethod
    def _replay(self, entry: Entry) -> None:
        """Take in an answer that was given before."""

    @abstractmethod
    def _stored(self, question: Question, entry: Entry) -> Answer:
        """Return the answer that an entry says was given."""

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

    def refresh(self) -> None:
        """Take in what other workers answered meanwhile."""
        with self._lock:
            if self._broken:
                raise InternalError("the source is out of step with its register; open it again")
            last = (0, None) if self._last is None else (self._last.number, self._last.digest)
            for entry in self.register.since(*last):
                with self._in_step():
                    if entry.kind == ANSWER:
                        self._replay(entry)
                    self._note(entry)

    def left(self, who: str) -> dict[str, int | None]:
        """Return how many answers and new cells a user may still have; None: no limit."""
        limits, (answers, cells) = self.spec.limits, self._spent.get(who, [0, 0])
        return {
            "answers": None if limits.answers is None else max(limits.answers - answers, 0),
            "new_cells": None if limits.new_cells_per_user is None else max(limits.new_cells_per_user - cells, 0),
        }

    def close(self) -> None:
        """Let go of the register."""
        self.register.close()

    def _told(self, question: Question) -> float:
        return self.exposure.get(question.value, 0.0)

    @contextmanager
    def _in_step(self) -> Iterator[None]:
        """Take in what the register has; should that fail, nothing is answered any more."""
        self._broken = True
        yield
        self._broken = False

    def _refused(
        self, question: Question, who: str, reason: str, instead: tuple[Question, ...], shown: BoolArray
    ) -> Answer | None:
        """Write a refusal down; it is the answer to the same question from now on. ``shown`` marks no cell."""
        entry = self._entry(question, who, REFUSAL, shown, rank=0, figures=[], about=reason)
        if not self.register.append(entry):
            return None
        self._note(entry)
        answer = Answer.no(question, reason, instead=instead, exposure=self._told(question), number=entry.number)
        self._keep(answer)
        return answer

    def _limited(self, new: int, who: str) -> str | None:
        """Return which limit of a user, or of one answer, stands against so many new cells."""
        limits, left = self.spec.limits, self.left(who)
        if left["answers"] == 0:
            return _ALL_HAD
        if limits.new_cells is not None and new > limits.new_cells:
            return f"the table would tell {new:,} new cells; one answer may tell {limits.new_cells:,}. Ask for less"
        if left["new_cells"] is not None and new > left["new_cells"]:
            return (
                f"the table would tell {new:,} new cells, and you may be told {left['new_cells']:,} more. Ask for less"
            )
        return None

    def _instead(self, question: Question) -> tuple[Question, ...]:
        """Return coarser questions that would be answered whole: fewer levels, no filter, one variable less."""
        found = list[Question]()
        deepest = {name: int(dimension.level.max()) for name, dimension in self.variables.items()}
        for other in _coarser(question, deepest)[: 2 * _INSTEAD]:
            known = self._entries.get(other.digest)
            if (known is not None and known.kind == ANSWER) or (known is None and self.would_answer(other)):
                found.append(other)
            if len(found) == _INSTEAD:
                break
        return tuple(found)

    def _entry(
        self,
        question: Question,
        who: str,
        kind: str,
        shown: BoolArray,
        *,
        rank: int,
        figures: Sequence[str | None],
        about: str,
    ) -> Entry:
        return Entry.after(
            self._last,
            who=who,
            kind=kind,
            method=self.method,
            question=question.plain(),
            asked=question.digest,
            shown=shown,
            rank=rank,
            figures=digest_of_figures(figures),
            about=about,
        )

    def _changed(self, entry: Entry) -> InputError:
        return InputError(
            f"{self.register.name}: answer {entry.number} was made from other records, codes or multipliers than "
            "these; use those of that time"
        )

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
        with self._lock:
            if entry.kind == REFUSAL:
                instead, told = self._instead(question), self._told(question)
                answer = Answer.no(question, entry.about, instead=instead, exposure=told, number=entry.number)
            else:
                answer = self._stored(question, entry)
        self._keep(answer)
        return replace(answer, repeated=True)

    def _keep(self, answer: Answer) -> None:
        with self._lock:
            self._kept[answer.question.digest] = answer
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)


def digest_of_figures(values: Sequence[str | None]) -> str:
    """Return the digest of what was published, which the register keeps in place of it."""
    return hashlib.sha256(json.dumps(list(values)).encode()).hexdigest()


def _coarser(question: Question, deepest: Mapping[str, int]) -> list[Question]:
    """Return questions that ask for less: without the deepest level of a variable, the filter, or a variable."""
    plain: Mapping[str, Any] = question.plain()
    found = list[Question]()
    for name in question.by:
        levels = plain["levels"].get(name, list(range(deepest[name] + 1)))
        if len(levels) > 1 and (left := levels[:-1]) != [0]:
            found.append(Question.read({**plain, "levels": {**plain["levels"], name: left}}))
    if question.where:
        found.append(Question.read({**plain, "where": {}}))
    for name in question.by if len(question.by) > 1 else ():
        levels = {other: chosen for other, chosen in plain["levels"].items() if other != name}
        found.append(Question.read({**plain, "by": [b for b in question.by if b != name], "levels": levels}))
    return found
