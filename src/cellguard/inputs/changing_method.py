"""`ChangingMethod`: what all methods that change figures have in common; they say how, and what was proven."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from cellguard.inputs.assessed_screen import assessed_words
from cellguard.inputs.assessing import assess_tables
from cellguard.inputs.assessment import Assessment
from cellguard.io.changed_tables import Columns, write_changed
from cellguard.run_context import Run
from cellguard.seam.method import Method, Result
from cellguard.seam.outcome import Outcome
from cellguard.seam.screen import Board, Screen

P = TypeVar("P", bound=Result)


@dataclass(frozen=True, eq=False)
class ChangingMethod(Method[Assessment, P]):
    """A method that publishes other figures than the true ones, of tables that are linked and assessed like any.

    It must say `protect`; whatever else it does not say is done for it: a dry run, the terminal, and an internal table
    of true and published values, to which `columns` adds.
    """

    def assess(self, run: Run, seconds: dict[str, float]) -> Assessment:
        """Build the job's tables, link them and apply the rules."""
        return assess_tables(self.job, run, seconds)

    def assessed_summary(self, assessed: Assessment) -> dict[str, Any]:
        """Return what the rules find."""
        return assessed.summary()

    def assessed_screen(self, assessed: Assessment) -> Screen:
        """Return what the rules find."""
        return assessed_words(assessed.summary(), cured=not assessed.findings.without_rules)

    def columns(self, outcome: Outcome[P]) -> Mapping[str, Columns]:
        """Return what the internal tables tell beyond true and published values: columns by table."""
        return {}

    def write_internal(self, outcome: Outcome[P], inside: Path) -> None:
        """Write true and published values."""
        made = outcome.protected.drawn if outcome.release is None else outcome.release
        if made is not None:
            write_changed(inside, outcome.protected.tables, made, self.columns(outcome))

    def screen(self, outcome: Outcome[P], folder: Path | None) -> Screen:
        """Return the verdict, what was counted in each table, warnings, and what was written."""
        summary = outcome.summary
        counted = list(dict.fromkeys(key for counts in summary.tables.values() for key in counts))
        rows = [[name, *(f"{counts.get(key, '')}" for key in counted)] for name, counts in summary.tables.items()]
        public = [f"{folder}/release (may be published)"] if outcome.release is not None else []
        return [
            f"{outcome.verdict.text.rstrip('.')}.",
            *([Board(["table", *counted], rows, range(1, len(counted) + 1))] if counted else []),
            *(f"Warning: {warning}" for warning in summary.warnings),
            *([] if folder is None else [f"Written: {', '.join([*public, f'{folder}/internal (confidential)'])}"]),
            *filter(None, [outcome.verdict.caveat]),
        ]

    def pages(self, outcome: Outcome[P]) -> Mapping[str, str]:
        """Return no pages."""
        return {}
