"""`Outcome`: the one result of a run, whatever the method. Every face shows it, and the output folder keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cellguard.job.jobfile import Job
from cellguard.seam.summary import Summary
from cellguard.table.pattern import Release

if TYPE_CHECKING:
    from cellguard.seam.method import Method, Result
    from cellguard.seam.verdict import Verdict

P = TypeVar("P", bound="Result", covariant=True)
_LIBRARIES = ("cellguard", "highspy", "numba", "numpy", "scipy")


LAYOUT = "1.0"  # of output folders: the first number changes when older readers would misread one


@dataclass(frozen=True, eq=False)
class Outcome(Generic[P]):
    """What a run returns: the result of the method, how long each step took, and when it was. Confidential.

    Parameters
    ----------
    method
        The method with the job that it ran for.
    protected
        The result of the method: release, verdict, and what it knows beyond.
    seconds
        How long each step took.
    made
        When the run ended.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import cellguard as cg
    >>> table = {"name": "t", "by": ["region"], "value": "x", "rules": [{"min_frequency": 3}],
    ...          "cells": {"source": "t.csv", "count": "n"}}
    >>> with tempfile.TemporaryDirectory() as here:
    ...     _ = Path(here, "t.csv").write_text("region,x,n\\nTotal,100,19\\nN,20,1\\nS,50,9\\nW,30,9\\n")
    ...     outcome = cg.run(cg.Job.parse({"version": 1, "tables": [table]}, folder=here))
    >>> str(outcome.verdict.kind), outcome.summary["set"]["secondary"]
    ('safe', 1)
    """

    method: Method[Any, Any]
    protected: P
    seconds: Mapping[str, float]
    made: str

    def __repr__(self) -> str:
        return f"<Outcome: {self.verdict.text}>"

    @property
    def job(self) -> Job:
        """The job that was run, with all tables that the method looked at."""
        return self.protected.job or self.method.job

    @property
    def verdict(self) -> Verdict:
        """What is known of the release, and what was not checked."""
        return self.protected.verdict

    @property
    def release(self) -> Release | None:
        """The tables as published; None unless the verdict allows a release, whatever the method made."""
        return self.protected.release if self.verdict.allows_release else None

    @cached_property
    def summary(self) -> Summary:
        """Counts, findings and run facts; no suppressed or true value of a cell."""
        return self.protected.summary().with_facts(
            folder=self.method.folder,
            inputs=dict(self.protected.inputs),
            layout=LAYOUT,
            cellguard=version("cellguard"),
            versions=_versions(),
            seconds={step: round(seconds, 3) for step, seconds in self.seconds.items()},
        )


def _versions() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):  # numba is optional
            found[name] = version(name)
    return found
