"""From a job to its outcome: the one way that every face takes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from cellguard.errors import InputError
from cellguard.inputs.assessing import assess_tables
from cellguard.inputs.assessment import Assessment
from cellguard.io.write import check_room
from cellguard.job.formats import check_formats
from cellguard.job.jobfile import Job
from cellguard.job.registry import find_method, refuse_other
from cellguard.methods.suppress.method import FixedPattern
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.run_context import Run
from cellguard.seam.method import Method, Result
from cellguard.seam.outcome import Outcome


def run(job: Job, *, folder: str | Path | None = None, within: Run = Run(), **asked: Any) -> Outcome[Any]:  # noqa: ANN401, B008
    """Protect the tables of a job as one set by their method, and check the result. Nothing is written.

    Parameters
    ----------
    job
        What to protect and how.
    folder
        Where the results will go, if that is known: free space is checked before the search.
    within
        Progress, a deadline and threads.
    **asked
        Options of the method for this run: ``warm`` (an earlier output folder), ``accept_no_rules`` and ``intervals``
        for suppression; ``multipliers`` (a saved file) and ``checked`` for perturbation.

    Returns
    -------
    Outcome
        The release, the verdict and the summary.

    Raises
    ------
    InputError
        If the job, its data or an option is wrong.
    NotProtected
        If no pattern can be safe; the message says what to give up.

    Examples
    --------
    >>> import tempfile
    >>> from cellguard.job.jobfile import Job
    >>> text = "region,turnover,firms\\nTotal,100,19\\nN,20,1\\nS,50,9\\nW,30,9\\n"
    >>> with tempfile.TemporaryDirectory() as here:
    ...     _ = Path(here, "t.csv").write_text(text)
    ...     table = {"name": "t", "by": ["region"], "value": "turnover", "rules": [{"min_frequency": 3}],
    ...              "cells": {"source": "t.csv", "count": "firms"}}
    ...     outcome = run(Job.parse({"version": 1, "tables": [table]}, folder=here))
    >>> outcome.release["t"].value
    ['100', '', '50', '']
    """
    return _run(cast("type[Method[Any, Any]]", find_method(job.method)).of(job, asked), folder, within)


def audit_job(job: Job, *, within: Run = Run(), **asked: Any) -> Outcome[SuppressionResult]:  # noqa: ANN401, B008
    """Audit the pattern that a job describes: its unsafe cells, and the cells said to be ``secondary``.

    Parameters and errors are those of `run`.
    """
    refuse_other(job.method, "suppress")
    return _run(FixedPattern.of(job, asked), None, within)


def _run(method: Method[Any, Any], folder: str | Path | None, within: Run) -> Outcome[Any]:
    check_formats(method.job.formats)
    seconds: dict[str, float] = {}
    assessed = method.assess(within, seconds)
    if folder is not None:
        check_room(folder, _cells(assessed))
    protected = method.protect(assessed, within, seconds)
    return outcome_of(method, protected, seconds)


def _cells(assessed: Any) -> int:  # noqa: ANN401
    tables = getattr(assessed, "tables", ())
    return sum(len(table) for table in getattr(tables, "tables", tables))


def outcome_of(method: Method[Any, Any], protected: Result, seconds: dict[str, float]) -> Outcome[Any]:
    """Return what a method made as the outcome of a run that ends now."""
    return Outcome(method, protected, seconds, datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"))


def assess_job(job: Job, *, within: Run = Run()) -> Assessment:  # noqa: B008
    """Build the tables of a job, link them, apply the rules, and set the protection levels.

    Parameters
    ----------
    job
        What to protect and how; the method does not matter yet.
    within
        Progress and a way to stop.

    Returns
    -------
    Assessment
        The findings, the protection levels, and what was noticed on the way.

    Raises
    ------
    InputError
        If the job or its data are wrong.

    Examples
    --------
    >>> import tempfile
    >>> from cellguard.job.jobfile import Job
    >>> table = {"name": "t", "by": ["region"], "value": "x", "rules": [{"min_frequency": 3}],
    ...          "cells": {"source": "t.csv", "count": "n"}}
    >>> with tempfile.TemporaryDirectory() as here:
    ...     _ = Path(here, "t.csv").write_text("region,x,n\\nTotal,100,19\\nN,20,1\\nS,50,9\\nW,30,9\\n")
    ...     found = assess_job(Job.parse({"version": 1, "tables": [table]}, folder=here))
    >>> found.headline
    '1 unsafe cell of 4; nothing is protected yet'
    """
    method = cast("type[Method[Any, Any]]", find_method(job.method))
    if not method.tabular:
        raise InputError(f"what is {method.participle} has no table to assess; `cellguard map JOB --dry-run` does it")
    return assess_tables(job, within, {})
