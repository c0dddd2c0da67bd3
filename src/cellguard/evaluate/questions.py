"""Which question a policy's verdict answers, and which one its risk does: they are not the same, and may differ."""

from __future__ import annotations

from typing import Any

from cellguard.methods.perturb.result import PerturbationResult
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.seam.outcome import Outcome

MEASURE = (
    "what is missing of the protection levels that the job's own rules ask for, in what an outsider can work out of a "
    "suppressed cell, or in how far a changed figure is from the true one"
)
MAP_VERDICT = "whether the policy's own rules still find a sensitive hexagon on the map that is shown"


def verdict_question(outcome: Outcome[Any]) -> str:
    """Return what the verdict of a method asks, in words that go on from "the verdict asks"."""
    made = outcome.protected
    if isinstance(made, SuppressionResult):
        inside = made.audit.inside
        whom = "an outsider" if inside is None else "an outsider or a respondent"
        return f"whether {whom} can come too near to a cell that the policy's own rules call unsafe"
    if isinstance(made, PerturbationResult):
        return (
            "whether other contributors can estimate the largest one of a cell too closely in spite of the noise, and "
            "of all sums and differences of cells, by those of the policy's own rules that say how much noise is "
            "enough (min_frequency does not)"
        )
    return "what its method checks by the policy's own rules"
