"""`Summary`: what a run tells in counts and words, as data for programs, for `summary.json` and for screens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from cellguard.seam.verdict import Verdict


@dataclass(frozen=True, eq=False)
class Summary(Mapping[str, Any]):
    """What every method says of a run, and what only this one does. No suppressed or true value of a cell.

    Parameters
    ----------
    step
        What was done, as `protect`.
    verdict
        What is known of the result, and what was not checked.
    tables
        For each table what is counted in it.
    warnings
        What a person should know before a release.
    facts
        What only this method or this run says, by key. It goes before what the verdict says.

    >>> from cellguard.seam.verdict import Kind, Verdict
    >>> summary = Summary("round", Verdict(Kind.SAFE, "safe", ()), {"t": {"cells": 4}}, facts={"base": 5})
    >>> summary["headline"], summary["base"], list(summary)
    ('safe', 5, ['step', 'verdict', 'headline', 'caveat', 'not_checked', 'tables', 'base', 'warnings'])
    """

    step: str
    verdict: Verdict
    tables: Mapping[str, Mapping[str, Any]]
    warnings: Sequence[str] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def _plain(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "verdict": self.verdict.kind.value,
            "headline": self.verdict.text,
            "caveat": self.verdict.caveat,
            "not_checked": [attack.key for attack in self.verdict.not_checked],
            "tables": {name: dict(counts) for name, counts in self.tables.items()},
            **self.facts,
            "warnings": list(self.warnings),
        }

    def plain(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        return dict(self._plain)

    def with_facts(self, **facts: object) -> Summary:
        """Return it with further facts."""
        return replace(self, facts={**self.facts, **facts})

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401
        return self._plain[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._plain)

    def __len__(self) -> int:
        return len(self._plain)
