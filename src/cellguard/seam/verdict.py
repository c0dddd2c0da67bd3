"""What is known of a result, and whether it may be published."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class NotChecked:
    """An attack that was not checked: a key for programs, its name, and who is meant."""

    key: str
    name: str
    who: str

    def __str__(self) -> str:
        return f"{self.name} not checked"


class Kind(StrEnum):
    """What a verdict says in one word. Any other word is `UNKNOWN`, which allows nothing.

    >>> Kind("safe").is_safe, Kind("not proven").can_be_accepted, Kind("fine")
    (True, True, <Kind.UNKNOWN: 'unknown'>)
    """

    SAFE = "safe"
    SAFE_BY_ITSELF = "safe by itself"
    NO_RULE = "no rule"
    NOT_CHECKED = "not checked"
    NOT_PROVEN = "not proven"
    UNDECIDED = "undecided"
    UNSAFE = "unsafe"
    UNKNOWN = "unknown"

    @classmethod
    def _missing_(cls, value: object) -> Kind:
        return cls.UNKNOWN

    @property
    def is_safe(self) -> bool:
        """Whether safety is proven."""
        return self is Kind.SAFE

    @property
    def can_be_accepted(self) -> bool:
        """Whether a person may answer for the result: nothing was found that forbids it, and nothing was left open."""
        return self in {Kind.SAFE_BY_ITSELF, Kind.NO_RULE, Kind.NOT_CHECKED, Kind.NOT_PROVEN}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of a result, in a word and in one line, and what was not checked.

    ``accepted`` says that the user answers for what is not proven, in the job or by an option of the run. A result that
    was found to be unsafe, or that an audit could not decide, cannot be accepted.

    >>> Verdict(Kind.SAFE, "safe", ()).allows_release, Verdict(Kind.NOT_PROVEN, "NOT PROVEN", ()).allows_release
    (True, False)
    >>> kinds = Kind.NOT_PROVEN, Kind.UNDECIDED, Kind.UNSAFE
    >>> [Verdict(kind, kind, (), accepted=True).allows_release for kind in kinds]
    [True, False, False]
    """

    kind: Kind
    text: str
    not_checked: tuple[NotChecked, ...]
    accepted: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", Kind(self.kind))  # methods of other packages may give the word

    @property
    def allows_release(self) -> bool:
        """Whether the result may be published: the one question that decides what is written, and the exit status.

        An unknown kind does not allow it.
        """
        return self.kind.is_safe or (self.accepted and self.kind.can_be_accepted)

    @property
    def caveat(self) -> str:
        """The second line: all that was not checked."""
        line = "; ".join(map(str, self.not_checked))
        return f"{line[:1].upper()}{line[1:]}." if line else ""
