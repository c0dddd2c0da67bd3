"""`Answer`: a table that may be published, or no and why."""

from __future__ import annotations

from dataclasses import dataclass

from cellguard.answers.question import Question


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

    @classmethod
    def no(
        cls, question: Question, reason: str, *, instead: tuple[Question, ...] = (), exposure: float, number: int = 0
    ) -> Answer:
        """Return a refusal; ``number`` is that of its entry, 0 where it is not kept."""
        return cls(question, (), (), 0, reason, instead, 0, exposure, False, number)
