"""Rules compared at equal strictness: on which cells do they disagree? (A master's thesis on the rule of J. Bring.)

Each rule has a strictness, its free percentage. Rules are calibrated so that each calls about equally many of the cells
unsafe, and then compared in pairs. What a rule says is what the rule itself says: there is no second formula here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, get_type_hints

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.errors import InputError, did_you_mean
from cellguard.evaluate.agreement import Agreement, Group
from cellguard.evaluate.draws import Distribution, Negatives, draw_cells
from cellguard.job.rulespec import CONFIRMED, parse_rule
from cellguard.reading.vocabulary import YES
from cellguard.rules.catalogue import rules as catalogue
from cellguard.rules.rule import Percent, Rule, required
from cellguard.table.facts import Facts

GRID = tuple(range(1, 101))
SIZES = tuple(range(3, 21))
_UNUSUAL = (50.125, 87.375, 25.125, 12.375, 6.125, 2.375, 99.875)  # written, they stand out from what people give


@dataclass(frozen=True)
class Family:
    """A kind of rule whose strictness is free: its one percentage that is not given.

    >>> dominance = Family.of("dominance", n=2)
    >>> dominance.free, str(dominance.rule(89)), str(dominance)
    ('k', 'dominance (2, 89)', 'dominance (2, k)')
    """

    name: str
    given: tuple[tuple[str, Any], ...]
    free: str

    @classmethod
    def of(cls, name: str, **given: Any) -> Family:  # noqa: ANN401
        """Return the family of the rule that jobs know by this name, with all parameters given but one percentage."""
        kinds = catalogue()
        if name not in kinds:
            raise InputError(f"there is no rule {name!r}{did_you_mean(name, kinds)}")
        hints = get_type_hints(kinds[name], include_extras=True)
        missing = [p for p in required(kinds[name]) if p not in given]
        if len(missing) != 1 or hints[missing[0]] != Percent:
            lacking = f"it lacks {', '.join(missing)}" if missing else "it has no percentage that is free"
            raise InputError(
                f"to compare {name!r} at equal strictness all parameters must be given but one percentage; {lacking}"
            )
        return cls(name, tuple(sorted(given.items())), missing[0])

    def rule(self, strictness: float) -> Rule:
        """Return the rule of that strictness."""
        return catalogue()[self.name](**dict(self.given), **{self.free: float(strictness)})

    @property
    def example(self) -> Rule:
        """A rule of the family: one of its strictnesses, which words and facts do not depend on."""
        return self.rule(self._some)

    @cached_property
    def _some(self) -> float:
        """A strictness that the rule allows, and that no other parameter has."""
        refused = InputError(f"the rule {self.name} allows none of the parameters from 1 to 100")
        for strictness in _UNUSUAL:
            try:
                self.rule(strictness)
            except InputError as error:
                refused = error
            else:
                return strictness
        raise refused

    def __str__(self) -> str:
        return str(self.example).replace(f"{self._some:g}", self.free)


def parse_written(text: str) -> Rule:
    """Return the rule that people write as a name and its numbers.

    >>> str(parse_written("dominance n=2 k=85"))
    'dominance (2, 85)'
    """
    name, given = _parts(text)
    return parse_rule({name: given})


def parse_families(texts: Sequence[str]) -> tuple[Mapping[str, Family], Mapping[str, int]]:
    """Return the families that people write as ``dominance n=2`` or ``p_percent p=10``, and what strictness is given.

    >>> families, fixed = parse_families(["dominance n=2", "p_percent p=10"])
    >>> [str(family) for family in families.values()], dict(fixed)
    (['dominance (2, k)', 'p_percent p'], {'p_percent': 10})
    """
    families, fixed = dict[str, Family](), dict[str, int]()
    names = [text.split()[0] for text in texts if text.split()]
    for text in texts:
        name, given = _parts(text)
        hints = get_type_hints(catalogue()[name], include_extras=True)
        needed = required(catalogue()[name])
        percents = [p for p in needed if hints[p] == Percent and p in given]
        key = name if names.count(name) == 1 else " ".join(text.split())
        if percents and all(p in given for p in needed):
            strictness = given.pop(percents[0])
            if strictness != int(strictness) or strictness < 1:
                raise InputError(f"the rule {text!r}: rules are compared at whole percentages from 1 on")
            fixed[key] = int(strictness)
        families[key] = Family.of(name, **given)
    if len(families) < 2:
        raise InputError("name at least two different rules to compare, as `dominance n=2` and `p_percent`")
    return families, fixed


def _parts(text: str) -> tuple[str, dict[str, float]]:
    """Split what people write into a rule's name and its numbers."""
    name, *parts = text.split() or [""]
    if name not in catalogue():
        raise InputError(f"there is no rule {name!r}{did_you_mean(name, catalogue())}")
    given = dict[str, float]()
    for key, _, value in (part.partition("=") for part in parts):
        if key == CONFIRMED:
            given[key] = value.casefold() in YES
            continue
        try:
            number = float(value)
        except ValueError:
            raise InputError(f"the rule {text!r} is written as a name and numbers, as `dominance n=2`") from None
        given[key] = int(number) if number == int(number) else number
    return name, given


def thesis() -> Mapping[str, Family]:
    """Return the three rules of the thesis by its letters: dominance of two, p %, Statisticon."""
    return {"D": Family.of("dominance", n=2), "P": Family.of("p_percent"), "S": Family.of("statisticon")}


Missed = Literal["given", "coarse", "beyond"]
_MISSED: Mapping[Missed, str] = {
    "given": "the strictness is given, so the wanted number is not met",
    "coarse": "whole percentages are too coarse for the wanted number",
    "beyond": "the wanted number cannot be reached with any of the parameters that were tried",
}


@dataclass(frozen=True)
class Calibrated:
    """The strictness of a rule that calls nearest to the target number of cells unsafe.

    ``missed`` says why the number is not within a tenth of the target, or the nearest whole one; None where it is: the
    strictness was ``given``, steps are too ``coarse``, or the target is ``beyond`` all that the rule can do. On ties
    the smallest strictness is chosen; but where no parameter calls enough cells unsafe, the strictest.
    """

    strictness: int
    unsafe: int
    missed: Missed | None

    @property
    def reached(self) -> bool:
        """Whether the rule calls about as many cells unsafe as are wanted."""
        return self.missed is None

    @property
    def words(self) -> str:
        """Why the number is not what is wanted; nothing where it is.

        >>> Calibrated(1, 20, None).words, Calibrated(100, 3, "given").words
        ('', 'the strictness is given, so the wanted number is not met')
        """
        return "" if self.missed is None else _MISSED[self.missed]


@dataclass(frozen=True, eq=False)
class RuleStudy:
    """Rules compared on the same cells.

    ``largest`` are the contributions of each cell that are known, largest first. ``unsafe`` holds for each rule one row
    per cell and one column per strictness of ``grid``; a strictness that the rule refuses, as a share of 100 %, is not
    ``allowed`` and calls no cell unsafe.
    """

    total: FloatArray
    largest: FloatArray
    families: Mapping[str, Family]
    grid: tuple[int, ...]
    unsafe: Mapping[str, BoolArray]
    allowed: Mapping[str, BoolArray]
    chosen: Mapping[str, Calibrated]

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
        return self.unsafe[name][:, self.grid.index(self.chosen[name].strictness)]

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
        chosen = self.only_by(by, not_by)
        return Group.of(self.largest[chosen], self.total[chosen])


def study_rules(
    families: Mapping[str, Family] | None = None,
    *,
    distribution: Distribution = "exponential(1)",
    n: int = 4,
    cells: int = 1000,
    target: float = 0.2,
    grid: Sequence[int] = GRID,
    fixed: Mapping[str, int] | None = None,
    negatives: Negatives = "keep",
    seed: int = 1,
) -> RuleStudy:
    """Compare rules on cells drawn at random, each calibrated to call the share ``target`` of them unsafe.

    ``fixed`` gives the strictness of some rules instead. Raises `InputError` for impossible parameters.

    >>> families = {"D": Family.of("dominance", n=2), "P": Family.of("p_percent")}
    >>> study_rules(families, cells=200).agreements["D", "P"].cells
    200
    """
    draws = draw_cells(distribution, n, cells=cells, seed=seed, negatives=negatives)
    return study_cells(draws.facts, families, target=target, grid=grid, fixed=fixed)


def study_cells(
    facts: Facts,
    families: Mapping[str, Family] | None = None,
    *,
    target: float = 0.2,
    grid: Sequence[int] = GRID,
    fixed: Mapping[str, int] | None = None,
) -> RuleStudy:
    """Compare rules on given cells, as `study_rules` does on random ones."""
    families, fixed = families or thesis(), fixed or {}
    if not 0 < target < 1:
        raise InputError(f"`target` is the share of cells to be unsafe, above 0 and below 1, not {target:g}")
    if facts.tops is None:
        raise InputError("rules are compared by the largest contributions of the cells, which are not known here")
    marks = tuple(sorted({*grid, *fixed.values()}))
    verdicts = {name: _unsafe(family, facts, marks) for name, family in families.items()}
    wanted = target * len(facts.total)
    chosen = {
        name: _calibrate(family, *verdicts[name], marks, wanted, fixed.get(name)) for name, family in families.items()
    }
    unsafe, allowed = ({name: pair[part] for name, pair in verdicts.items()} for part in (0, 1))
    return RuleStudy(facts.basis, facts.tops, dict(families), marks, unsafe, allowed, chosen)


def contours(
    families: Mapping[str, Family] | None = None,
    *,
    distribution: Distribution = "exponential(1)",
    sizes: Sequence[int] = SIZES,
    cells: int = 1000,
    grid: Sequence[int] = GRID,
    negatives: Negatives = "keep",
    seed: int = 1,
) -> Mapping[str, FloatArray]:
    """Return for each rule how many cells are unsafe: a row per number of contributions, a column per strictness.

    A strictness that the rule refuses has NaN.
    """
    families, marks = families or thesis(), tuple(grid)
    drawn = [draw_cells(distribution, n, cells=cells, seed=seed, negatives=negatives).facts for n in sizes]
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


def _counts(family: Family, facts: Facts, grid: Sequence[int]) -> FloatArray:
    unsafe, allowed = _unsafe(family, facts, grid)
    return np.where(allowed, unsafe.sum(axis=0), np.nan)


def _unsafe(family: Family, facts: Facts, grid: Sequence[int]) -> tuple[BoolArray, BoolArray]:
    """Return the verdicts for each strictness, and which strictnesses the rule allows."""
    verdicts = np.zeros((len(facts.total), len(grid)), bool)
    allowed = np.ones(len(grid), bool)
    for column, strictness in enumerate(grid):
        try:
            rule = family.rule(strictness)
        except InputError:
            allowed[column] = False
            continue
        verdicts[:, column] = rule.unsafe(facts)
    if not allowed.any():
        raise InputError(f"the rule {family} allows none of the parameters from {grid[0]} to {grid[-1]}")
    return verdicts, allowed


def _calibrate(
    family: Family, unsafe: BoolArray, allowed: BoolArray, grid: Sequence[int], target: float, given: int | None
) -> Calibrated:
    counts = unsafe.sum(axis=0)
    near = max(0.1 * target, 0.5)
    if given is not None:
        column = grid.index(given)
        if not allowed[column]:
            raise InputError(f"the strictness {given} is not one that the rule allows")
        missed: Missed | None = "given"
    else:
        distance = np.where(allowed, np.abs(counts - target), np.inf)
        nearest = np.flatnonzero(distance == distance.min())
        too_few = bool(counts[allowed].max() < target)
        column = int(nearest[-1 if too_few and len(nearest) > 1 and _rises(family, grid) else 0])
        missed = "beyond" if too_few or counts[allowed].min() > target else "coarse"
    reached = abs(counts[column] - target) <= near
    return Calibrated(grid[column], int(counts[column]), None if reached else missed)


def _rises(family: Family, grid: Sequence[int]) -> bool:
    """Return whether a higher parameter is a stricter rule, as cells tell that are easily unsafe."""
    unsafe, allowed = _unsafe(family, draw_cells("exponential(1)", 3, cells=100, seed=1).facts, grid)
    least, most = np.flatnonzero(allowed)[[0, -1]]
    return bool(unsafe[:, most].sum() > unsafe[:, least].sum())
