"""The engines of suppression by name. An engine is loaded when it is wanted."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from cellguard.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from cellguard.arrays import BoolArray
    from cellguard.methods.suppress.engines.effort import Effort
    from cellguard.methods.suppress.engines.engine_result import EngineResult
    from cellguard.methods.suppress.engines.system import System
    from cellguard.run_context import Run


class Engine(Protocol):
    """Chooses the cells to suppress; every engine has this signature, and is judged by the same contract tests."""

    def __call__(self, system: System, *, start: BoolArray | None, effort: Effort, run: Run) -> EngineResult:
        """Return a pattern that should be safe, perhaps from one to start with; the audit proves it or not."""
        ...


# Each engine is the function of its name in the module of its name.
ENGINES: Mapping[str, str] = {
    name: f"cellguard.methods.suppress.engines.{name}"
    for name in ("witness", "gauss", "optimal", "modular", "hypercube")
}

CLASSICAL = frozenset({"modular", "hypercube"})  # the heuristics of other programs, repaired where they are unsafe


def engine_named(name: str) -> Engine:
    """Return the engine of that name.

    >>> engine_named("gaus")
    Traceback (most recent call last):
    cellguard.errors.InputError: unknown engine 'gaus'; did you mean 'gauss'?
    """
    return cast("Engine", getattr(import_module(ENGINES[checked_engine(name)]), name))


def checked_engine(name: str) -> str:
    """Return the name of an engine, which must be known."""
    if name not in ENGINES:
        raise InputError(f"unknown engine {name!r}{did_you_mean(name, list(ENGINES))}")
    return name
