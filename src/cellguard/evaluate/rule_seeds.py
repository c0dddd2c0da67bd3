"""A comparison of rules repeated with many seeds: which of its figures are the rules', and which are chance?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.evaluate.families import Family
from cellguard.evaluate.rule_study import RuleStudy, study_rules


@dataclass(frozen=True, eq=False)
class Ranged:
    """A figure of a study over all seeds; NaN with a seed where it has no meaning."""

    values: FloatArray

    @property
    def known(self) -> FloatArray:
        """The values that there are."""
        return self.values[~np.isnan(self.values)]

    def words(self, form: str = ",.0f") -> str:
        """Return the mean and the range.

        >>> Ranged(np.array([1.0, 2.0, np.nan, 6.0])).words()
        '3 (1 to 6)'
        """
        if not len(self.known):
            return "not defined"
        return f"{self.known.mean():{form}} ({self.known.min():{form}} to {self.known.max():{form}})"

    def plain(self) -> dict[str, float | None]:
        """Return mean, least and most as plain data."""
        if not len(self.known):
            return dict.fromkeys(("mean", "least", "most"))
        ends = (self.known.mean(), self.known.min(), self.known.max())
        return {key: round(float(end), 6) for key, end in zip(("mean", "least", "most"), ends, strict=True)}


@dataclass(frozen=True, eq=False)
class SeedRanges:
    """The figures of a study over several seeds, by rule and by pair of rules."""

    seeds: range
    rules: Mapping[str, Mapping[str, Ranged]]
    pairs: Mapping[tuple[str, str], Mapping[str, Ranged]]

    def plain(self) -> dict[str, Any]:
        """Return all ranges as plain data."""
        rules = {name: {key: one.plain() for key, one in told.items()} for name, told in self.rules.items()}
        pairs = {"-".join(pair): {key: one.plain() for key, one in told.items()} for pair, told in self.pairs.items()}
        return {"first_seed": self.seeds.start, "seeds": len(self.seeds), "rules": rules, "pairs": pairs}


def study_seeds(
    families: Mapping[str, Family] | None = None,
    *,
    seeds: int,
    seed: int = 1,
    **settings: Any,  # noqa: ANN401
) -> SeedRanges:
    """Repeat `study_rules` with so many seeds, the first being ``seed``; ``settings`` are its other ones.

    >>> families = {"D": Family.of("dominance", n=2), "P": Family.of("p_percent")}
    >>> ranges = study_seeds(families, seeds=3, cells=100)
    >>> ranges.rules["D"]["unsafe"].words(), len(ranges.pairs["D", "P"]["kappa"].values)
    ('20 (20 to 20)', 3)
    """
    tried = range(seed, seed + seeds)
    told = [_figures(study_rules(families, seed=one, **settings)) for one in tried]
    rules, pairs = (_ranged([one[part] for one in told]) for part in (0, 1))
    return SeedRanges(tried, rules, pairs)


def _figures(study: RuleStudy) -> tuple[dict[Any, dict[str, float]], dict[Any, dict[str, float]]]:
    """Return the figures of one study by rule and by pair."""
    rules = {
        name: {"strictness": float(one.strictness), "unsafe": float(one.unsafe), "reached": float(one.reached)}
        for name, one in study.chosen.items()
    }
    pairs = {}
    for (a, b), seen in study.agreements.items():
        told = {"both": seen.both, f"{a} only": seen.first_only, f"{b} only": seen.second_only}
        pairs[a, b] = {key: float(value) for key, value in (told | {"neither": seen.neither}).items()}
        pairs[a, b]["kappa"] = seen.kappa
        for by, other in ((a, b), (b, a)):
            group = study.group(by, other)
            shares = {f"{by} only, x{place}": share for place, share in enumerate(group.typical.tolist()[:4], 1)}
            pairs[a, b] |= shares | {f"{by} only, spread": group.spread, f"{by} only, x1 - x2": group.gap}
    return rules, pairs


def _ranged(told: Sequence[Mapping[Any, Mapping[str, float]]]) -> dict[Any, dict[str, Ranged]]:
    return {
        name: {key: Ranged(np.array([one[name][key] for one in told])) for key in figures}
        for name, figures in told[0].items()
    }
