"""The seam of all methods: from an assessed job to what may be published, with a verdict that says what was checked.

A method is a class with a `name`; it registers itself, and jobs, command line, output folder and pages then know it.
What it gives is `Result`; how that is written and shown is said by the method too, since nobody else knows what is
in it. `cellguard.methods` has the built-in ones, and `PatternMethod` for all that suppress cells.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InputError
from cellguard.job.jobfile import Job
from cellguard.job.registry import Registered, register
from cellguard.job.specs import ProtectSpec, Spec
from cellguard.run_context import Run
from cellguard.seam.look import Look
from cellguard.seam.outcome import Outcome
from cellguard.seam.screen import Screen
from cellguard.seam.summary import Summary
from cellguard.seam.verdict import Verdict
from cellguard.table.pattern import Release
from cellguard.table.table import Table

if TYPE_CHECKING:
    from cellguard.attack.insider_pairs import Hint
    from cellguard.verifier.verify import Verification


@dataclass(frozen=True, slots=True)
class Concluded:
    """What attackers who know a method conclude of each distinct cell: the ends of what is possible.

    ``open`` are the unsafe cells that they come too close to, or may.
    """

    lower: FloatArray
    upper: FloatArray
    open: BoolArray


class Result(ABC):
    """What a method gives. Confidential, all but the release; frozen.

    ``release`` is what the method would publish, None if there is nothing; whether it may be published is said by the
    ``verdict``, and decided by `Outcome.release`. ``notes`` is what a person should know beforehand;
    ``job`` is the job with all tables that the method looked at, if there is one.
    """

    job: Job | None

    @property
    @abstractmethod
    def tables(self) -> Sequence[Table]:
        """The true tables."""

    @property
    @abstractmethod
    def release(self) -> Release | None:
        """The tables as they would be published; None if there is nothing to publish."""

    @property
    @abstractmethod
    def verdict(self) -> Verdict:
        """What is known of the release, and what was not checked."""

    @property
    @abstractmethod
    def inputs(self) -> Mapping[str, str]:
        """The digests of the files that were read, by the name that the job gives them."""

    @property
    def question(self) -> str:
        """What the verdict asks, in words that go on from "the verdict asks"."""
        return "what its method checks by the policy's own rules"

    @property
    def figures(self) -> Mapping[str, float]:
        """What a comparison holds against the same figures of other policies, by name; most methods have none."""
        return {}

    @property
    def drawn(self) -> Release | None:
        """The tables as made, whether or not they may be published; None if only a release can be measured."""
        return None

    @property
    def hidden(self) -> BoolArray | None:
        """Which distinct cells are suppressed, however the others were changed; None if the release says it."""
        return None

    @property
    def concluded(self) -> Concluded | None:
        """What attackers who know the method conclude; None if the release says it, or its noise."""
        return None

    @property
    def hints(self) -> Sequence[Hint]:
        """Whom the method knew to be near each other, so that nobody need search for them again."""
        return ()

    @abstractmethod
    def summary(self) -> Summary:
        """Return counts and findings for `summary.json`, `--json` and screens; no suppressed or true value of a
        cell.
        """


A = TypeVar("A")
P = TypeVar("P", bound=Result)


@dataclass(frozen=True, eq=False)
class Method(ABC, Generic[A, P]):
    """A way to protect the tables of a job; fields beyond the job are what a caller may ask of a single run.

    ``participle`` says what is done to a table. ``options`` is what a table may say in `protect`, ``settings`` what the
    job may say under the method's name. ``keeps_internal`` says that internal files are written even if nothing may be
    released, ``ends_early`` that a run may be stopped with a result, ``attacked`` that what is suppressed is attacked.
    What is not ``tabular`` has no cells that add up. Unless it is ``surveyed``, its rules see respondents as they are
    given, whatever `survey` says, and nobody asks who has only zeros. What is not ``repeatable`` draws secret numbers,
    so that the same command gives another release. ``look`` says how its tables are shown, ``robustness`` and
    ``flexibility`` what a comparison says of later tables.
    """

    job: Job
    name: ClassVar[str]
    participle: ClassVar[str]
    options: ClassVar[type[ProtectSpec]] = ProtectSpec
    settings: ClassVar[type[Spec] | None] = None
    keeps_internal: ClassVar[bool] = False
    ends_early: ClassVar[bool] = False
    tabular: ClassVar[bool] = True
    attacked: ClassVar[bool] = False
    surveyed: ClassVar[bool] = True
    repeatable: ClassVar[bool] = True
    look: ClassVar[Look] = Look()
    robustness: ClassVar[str] = ""
    flexibility: ClassVar[str] = ""

    def __init_subclass__(cls, **more: Any) -> None:  # noqa: ANN401
        super().__init_subclass__(**more)
        if "name" in cls.__dict__:
            register(cast("type[Registered]", cls))

    @classmethod
    def of(cls, job: Job, asked: Mapping[str, Any]) -> Self:
        """Return the method for a run; what it cannot be asked is refused."""
        known = {field.name for field in fields(cls)} - {"job"}
        for key, value in asked.items():
            if key not in known and value:
                raise InputError(f"`{key.replace('_', '-')}` does not go with tables that are {cls.participle}")
        return cls(job, **{key: value for key, value in asked.items() if key in known})

    @property
    def folder(self) -> str:
        """The method whose output folder this one's is to a reader."""
        return self.name

    @property
    def repeats(self) -> bool:
        """Whether the same job and data give the same release again."""
        return self.repeatable

    @classmethod
    def fault(cls, job: Job) -> str | None:
        """Explain why a job does not go with the method; None if it does."""
        return None

    @abstractmethod
    def assess(self, run: Run, seconds: dict[str, float]) -> A:
        """Read the job's data and find what is unsafe; ``seconds`` takes how long each step took."""

    @abstractmethod
    def protect(self, assessed: A, run: Run, seconds: dict[str, float]) -> P:
        """Protect the tables, and check what is left."""

    @abstractmethod
    def assessed_screen(self, assessed: A) -> Screen:
        """Return what a dry run shows."""

    @abstractmethod
    def assessed_summary(self, assessed: A) -> dict[str, Any]:
        """Return what a dry run gives as plain data."""

    @abstractmethod
    def screen(self, outcome: Outcome[P], folder: Path | None) -> Screen:
        """Return what a terminal shows of a result; ``folder`` is where it was written, if it was."""

    @abstractmethod
    def write_internal(self, outcome: Outcome[P], inside: Path) -> None:
        """Write the method's own files into the internal half of an output folder."""

    def write_release(self, outcome: Outcome[P], outside: Path) -> None:
        """Write what the method publishes beside its tables, made of nothing else; most methods have none."""

    @abstractmethod
    def pages(self, outcome: Outcome[P]) -> Mapping[str, str]:
        """Return the reports by their path in the output folder."""

    def about(self, outcome: Outcome[P], table: str) -> Mapping[str, Any]:
        """Return what the release's metadata says of a table beyond what they say of every one."""
        return {"method": self.name}

    def seal(self, outcome: Outcome[P], folder: Path) -> None:
        """Tie together the files of a folder that is complete but for this; methods without a proof do nothing."""

    @classmethod
    def verify(cls, folder: Path) -> Verification | None:
        """Check an output folder anew, with code of its own; None if nothing in it can be checked."""
        return None

    @classmethod
    def explain(cls, folder: Path, table: str, row: Mapping[str, str]) -> Sequence[str]:
        """Say more of a cell than its true and its published value; ``row`` is what the internal table has of it."""
        return ()
