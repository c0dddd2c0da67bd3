"""The rules of a job that the independent verifier does not know, so that what they say is taken on trust."""

from __future__ import annotations

from collections.abc import Iterable

from cellguard.job.rulespec import dump_rule
from cellguard.rules.rule import Rule
from cellguard.verifier.rule_words import parse_rule as twin
from cellguard.verifier.rules import unknown_names


def taken_on_trust(applied: Iterable[Rule]) -> list[str]:
    """Return the names of the rules that the independent verifier cannot recompute, as it says itself."""
    return sorted(unknown_names(twin(dump_rule(rule)) for rule in applied))
