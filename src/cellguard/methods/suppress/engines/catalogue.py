"""The engines of suppression by name, and which one a set gets that does not say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from cellguard.arrays import BoolArray
from cellguard.errors import InputError, did_you_mean
from cellguard.methods.suppress.engines.effort import Effort
from cellguard.methods.suppress.engines.gauss import gauss, is_exact
from cellguard.methods.suppress.engines.optimal import optimal
from cellguard.methods.suppress.engines.system import System
from cellguard.methods.suppress.engines.witness import EngineResult, witness
from cellguard.protection import Requirements
from cellguard.run_context import Run


class Engine(Protocol):
    """Chooses the cells to hide; every engine has this signature, and is judged by the same contract tests."""

    def __call__(self, system: System, *, start: BoolArray | None, effort: Effort, run: Run) -> EngineResult:
        """Return a pattern that should be safe, perhaps from one to start with; the audit proves it or not."""
        ...


ENGINES: Mapping[str, Engine] = {"witness": witness, "gauss": gauss, "optimal": optimal}


def engine_named(name: str) -> Engine:
    """Return the engine of that name.

    >>> engine_named("gaus")
    Traceback (most recent call last):
    cellguard.errors.InputError: unknown engine 'gaus'; did you mean 'gauss'?
    """
    if name not in ENGINES:
        raise InputError(f"unknown engine {name!r}{did_you_mean(name, list(ENGINES))}")
    return ENGINES[name]


def usual_engine(needs: Requirements) -> str:
    """Return `gauss` for counts that must only not be told exactly, and `witness` for everything else."""
    return "gauss" if needs.primary.any() and is_exact(needs) else "witness"
