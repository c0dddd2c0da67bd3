"""What is known of a result, and whether it may be published."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class NotChecked:
    """An attack that was not checked: a key for programs, its name, and who is meant."""

    key: str
    name: str
    who: str

    def __str__(self) -> str:
        return f"{self.name} not checked"


SAFE = "safe"
ANSWERABLE = frozenset({"no rule", "not proven", "not checked", "safe by itself"})  # nothing was found that forbids it


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of a result, in a word and in one line, and what was not checked.

    ``accepted`` says that the user answers for what is not proven, in the job or by an option of the run. A result that
    was found to be unsafe, or that an audit could not decide, cannot be accepted.

    >>> Verdict("safe", "safe", ()).allows_release, Verdict("not proven", "NOT PROVEN", ()).allows_release
    (True, False)
    >>> [Verdict(kind, kind, (), accepted=True).allows_release for kind in ("not proven", "undecided", "unsafe")]
    [True, False, False]
    """

    kind: str
    text: str
    not_checked: tuple[NotChecked, ...]
    accepted: bool = field(default=False, kw_only=True)

    @property
    def allows_release(self) -> bool:
        """Whether the result may be published: the one question that decides what is written, and the exit status.

        A kind that nobody knows does not allow it.
        """
        return self.kind == SAFE or (self.accepted and self.kind in ANSWERABLE)

    @property
    def caveat(self) -> str:
        """The second line: all that was not checked."""
        line = "; ".join(map(str, self.not_checked))
        return f"{line[:1].upper()}{line[1:]}." if line else ""
