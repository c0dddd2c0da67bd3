"""Rules compared at equal strictness: on which cells do they disagree? (A master's thesis on the rule of J. Bring.)

Each rule has a strictness, its free percentage. Rules are calibrated so that each calls equally many of the cells
unsafe, and then compared in pairs. What a rule says is what the rule itself says: there is no second formula here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.errors import InputError
from cellguard.evaluate.agreement import Agreement, Group
from cellguard.evaluate.calibration import Calibrated, as_given, calibrate, calibrate_whole, rises, verdicts
from cellguard.evaluate.draws import Distribution, Negatives, draw_cells, seen_by
from cellguard.evaluate.families import Family, thesis
from cellguard.rules.rule import Rule
from cellguard.table.facts import Facts

GRID = tuple(range(1, 101))
SIZES = tuple(range(3, 21))
TARGET = 0.2


@dataclass(frozen=True, eq=False)
class RuleStudy:
    """Rules compared on the same cells.

    ``largest`` are the contributions of each cell that are known, largest first, and ``average`` the total over their
    number (NaN where that is not known). ``unsafe`` holds for each rule one row per cell and one column per strictness
    of ``grid``; a strictness that the rule refuses, as a share of 100 %, is not ``allowed`` and calls no cell unsafe.
    ``wanted`` is the number of cells that each rule should call unsafe.
    """

    total: FloatArray
    largest: FloatArray
    average: FloatArray
    families: Mapping[str, Family]
    grid: tuple[float, ...]
    unsafe: Mapping[str, BoolArray]
    allowed: Mapping[str, BoolArray]
    chosen: Mapping[str, Calibrated]
    said: Mapping[str, BoolArray]
    wanted: float

    def __len__(self) -> int:
        return len(self.total)

    @property
    def rules(self) -> Mapping[str, Rule]:
        """The calibrated rules."""
        return {name: family.rule(self.chosen[name].strictness) for name, family in self.families.items()}

    def counts(self, name: str) -> LongArray:
        """Return how many cells the rule calls unsafe, for each strictness: the sensitivity plot's curve."""
        return self.unsafe[name].sum(axis=0, dtype=np.int64)

    def verdicts(self, name: str) -> BoolArray:
        """Return which cells the calibrated rule calls unsafe."""
        return self.said[name]

    @cached_property
    def agreements(self) -> Mapping[tuple[str, str], Agreement]:
        """How far each pair of calibrated rules agrees."""
        pairs = combinations(self.families, 2)
        return {(a, b): Agreement.of(self.verdicts(a), self.verdicts(b)) for a, b in pairs}

    def only_by(self, by: str, not_by: str) -> BoolArray:
        """Return which cells one rule calls unsafe and the other one safe."""
        return self.verdicts(by) & ~self.verdicts(not_by)

    def group(self, by: str, not_by: str) -> Group:
        """Return the cells that one rule calls unsafe and the other one safe, seen together."""
        return self._seen(self.only_by(by, not_by))

    def modes(self, by: str, not_by: str) -> tuple[Group, Group]:
        """Return the cells of `group` in two: those with one large contribution, and those with two.

        The second largest is below the average of the cell, or not: a group may have both kinds, and their median is
        then a cell of neither.
        """
        chosen = self.only_by(by, not_by)
        second = self.largest[:, 1] if self.largest.shape[1] > 1 else np.zeros(len(self))
        one = second < self.average
        return self._seen(chosen & one), self._seen(chosen & ~one)

    def _seen(self, chosen: BoolArray) -> Group:
        return Group.of(self.largest[chosen], self.total[chosen])


def study_rules(
    families: Mapping[str, Family] | None = None,
    *,
    distribution: Distribution = "exponential(1)",
    n: int = 4,
    cells: int = 1000,
    target: float | None = None,
    grid: Sequence[float] = GRID,
    fixed: Mapping[str, float] | None = None,
    negatives: Negatives = "keep",
    whole: bool = False,
    seed: int = 1,
) -> RuleStudy:
    """Compare rules on cells drawn at random, each calibrated to call the share ``target`` of them unsafe.

    ``fixed`` gives the strictness of some rules instead; without a target it is then what the first of them calls
    unsafe, and else a fifth. ``whole`` takes the nearest whole percentages, as the thesis does. Raises `InputError` for
    impossible parameters.

    >>> families = {"D": Family.of("dominance", n=2), "P": Family.of("p_percent")}
    >>> study = study_rules(families, cells=200)
    >>> study.agreements["D", "P"].cells, [chosen.unsafe for chosen in study.chosen.values()]
    (200, [40, 40])
    """
    families = families or thesis()
    draws = draw_cells(distribution, n, cells=cells, seed=seed, negatives=negatives)
    facts = seen_by([family.example for family in families.values()], draws)
    return study_cells(facts, families, target=target, grid=grid, fixed=fixed, whole=whole)


def study_cells(
    facts: Facts,
    families: Mapping[str, Family] | None = None,
    *,
    target: float | None = None,
    grid: Sequence[float] = GRID,
    fixed: Mapping[str, float] | None = None,
    whole: bool = False,
) -> RuleStudy:
    """Compare rules on given cells, as `study_rules` does on random ones."""
    families, fixed = families or thesis(), fixed or {}
    if facts.tops is None:
        raise InputError("rules are compared by the largest contributions of the cells, which are not known here")
    wanted = _wanted(facts, families, target, fixed)
    marks = tuple(sorted({*grid, *fixed.values()}))
    by_grid = {name: verdicts(family, facts, marks) for name, family in families.items()}

    def chosen(name: str, family: Family) -> Calibrated:
        if name in fixed:
            return as_given(family, facts, fixed[name], wanted)
        unsafe, allowed = by_grid[name]
        if whole:
            return calibrate_whole(unsafe, allowed, marks, wanted, rises(family))
        return calibrate(family, facts, unsafe, allowed, marks, wanted)

    found = {name: chosen(name, family) for name, family in families.items()}
    said = {name: family.rule(found[name].strictness).unsafe(facts) for name, family in families.items()}
    unsafe, allowed = ({name: pair[part] for name, pair in by_grid.items()} for part in (0, 1))
    average = np.full(len(facts.total), np.nan) if facts.count is None else facts.basis / np.maximum(facts.count, 1)
    return RuleStudy(facts.basis, facts.tops, average, dict(families), marks, unsafe, allowed, found, said, wanted)


def _wanted(facts: Facts, families: Mapping[str, Family], target: float | None, fixed: Mapping[str, float]) -> float:
    """Return how many cells each rule shall call unsafe."""
    first = next((name for name in families if name in fixed), None)
    if target is None and first is not None:
        return float(families[first].rule(fixed[first]).unsafe(facts).sum())
    share = TARGET if target is None else target
    if not 0 < share < 1:
        raise InputError(f"`target` is the share of cells to be unsafe, above 0 and below 1, not {share:g}")
    return share * len(facts.total)


def contours(
    families: Mapping[str, Family] | None = None,
    *,
    distribution: Distribution = "exponential(1)",
    sizes: Sequence[int] = SIZES,
    cells: int = 1000,
    grid: Sequence[float] = GRID,
    negatives: Negatives = "keep",
    seed: int = 1,
) -> Mapping[str, FloatArray]:
    """Return for each rule how many cells are unsafe: a row per number of contributions, a column per strictness.

    A strictness that the rule refuses has NaN.
    """
    families, marks = families or thesis(), tuple(grid)
    of = [draw_cells(distribution, n, cells=cells, seed=seed, negatives=negatives) for n in sizes]
    drawn = [seen_by([family.example for family in families.values()], one) for one in of]
    return {name: np.array([_counts(family, facts, marks) for facts in drawn]) for name, family in families.items()}


def agreement_over_sizes(
    families: Mapping[str, Family] | None = None,
    *,
    sizes: Sequence[int] = SIZES,
    **settings: Any,  # noqa: ANN401
) -> Mapping[tuple[str, str], FloatArray]:
    """Return for each pair of rules Cohen's kappa for each number of contributions, calibrated anew for each.

    ``settings`` are those of `study_rules`. NaN where the rules cannot be told apart.
    """
    studies = [study_rules(families, n=n, **settings) for n in sizes]
    return {pair: np.array([s.agreements[pair].kappa for s in studies]) for pair in studies[0].agreements}


def _counts(family: Family, facts: Facts, grid: Sequence[float]) -> FloatArray:
    unsafe, allowed = verdicts(family, facts, grid)
    return np.where(allowed, unsafe.sum(axis=0), np.nan)
