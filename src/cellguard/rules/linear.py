"""Linear rules: dominance, p %, prior-posterior, and weights of one's own; see `linear_measure`."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.errors import InputError
from cellguard.rules.limits import Ceiling, NoiseRule
from cellguard.rules.linear_measure import LinearMeasure
from cellguard.rules.parameters import check_share, check_whole, options, percent
from cellguard.rules.rule import Formula, Percent, register
from cellguard.table.fact import Fact, Top, Total, Unwaived
from cellguard.table.facts import Facts

_MANY = 20  # contributions, of which fewer than as many percent are hardly ever meant


@register("dominance", Formula("x1 + ... + xn > k/100 X", "the n largest", "100/k (x1 + ... + xn) - X"))
@dataclass(frozen=True, slots=True)
class Dominance(LinearMeasure):
    """The dominance rule (n, k): unsafe if the ``n`` largest contributions exceed ``k`` percent of the total.

    Parameters
    ----------
    n
        How many of the largest contributions are added up.
    k
        The largest safe share, in percent.
    inclusive
        Whether a cell exactly at the limit is unsafe, too.
    zero_unsafe
        Whether a cell with the value 0 is unsafe; by default it discloses no share.

    References
    ----------
    Hundepool, A. et al. (2012). *Statistical Disclosure Control*. Wiley, section 4.2.

    Examples
    --------
    >>> from cellguard.table.facts import contributions
    >>> Dominance(2, 85).unsafe(contributions([81, 5, 2, 2, 2])).tolist()
    [True]
    """

    n: int
    k: Percent
    inclusive: bool = False
    zero_unsafe: bool = False

    def __post_init__(self) -> None:
        check_whole("dominance", "n", self.n, 1)
        check_share("dominance", self.k)
        if self.n > max(self.k, _MANY):
            raise InputError(
                f"dominance: the {self.n} largest contributions hold more than {self.k:g} percent of nearly every "
                f"total; did you mean n = {self.k:g} and k = {self.n}?"
            )

    def __str__(self) -> str:
        return f"dominance ({self.n}, {percent(self.k)})" + options(self.inclusive, self.zero_unsafe)

    def words(self) -> str:
        """Describe how large a share is too large."""
        return f"the {self.n} largest respondents make up more than {percent(self.k)} % of the value"

    @property
    def prefix(self) -> tuple[float, ...]:
        """1 - k/100 for the n largest."""
        return (1 - self.k / 100,) * self.n

    @property
    def tail(self) -> float:
        """-k/100."""
        return -self.k / 100

    def measure(self, cells: Facts) -> FloatArray:
        """Return the share of the n largest contributions, in percent of the total."""
        top = np.sum([cells.top(rank) for rank in range(1, self.n + 1)], axis=0)
        return _ratio(top, cells.whole(self.n))

    @property
    def conf_status(self) -> str:  # type: ignore[override]
        """Dominance by one respondent, by two, or another concentration."""
        return {1: "O", 2: "T"}.get(self.n, "M")

    @property
    def sbs_flag(self) -> str:  # type: ignore[override]
        """Dominance by one respondent, or by more."""
        return "B" if self.n == 1 else "C"

    @property
    def noise(self) -> NoiseRule:
        """n - 1 others may not come closer than theorem 4 of Cuppen (2000) says."""
        return NoiseRule(self.n, self.k)

    @property
    def ceiling(self) -> Ceiling:
        """k/(100 - k) of the others."""
        return Ceiling(self.n, self.n, self.k / (100 - self.k))

    @property
    def minimum_contributions(self) -> int:
        """The number of equal contributions that a safe cell has at the least: 100 n / k, rounded up."""
        return ceil(100 * self.n / self.k - 1e-9)


class _Estimate(LinearMeasure):
    """What p % and prior-posterior share: they ask how well others can estimate one contributor, the victim.

    With ``waivers`` the victim is the largest contributor s who did not waive protection, and the coalition are the
    largest others, waived or not (Handbook, section 4.2.2): X - x_s - x_r in place of X - x1 - x2.
    """

    __slots__ = ()
    conf_status = "M"
    sbs_flag = "F"
    coalition: int
    waivers: bool

    @property
    def subadditive(self) -> bool:
        """Whether the weights never rise; with waivers the largest of a union may be one who waived in no part."""
        return not self.waivers and super().subadditive

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The total, the largest contributions and, with waivers, the largest of those without one."""
        return (Total(), Top(len(self.prefix)), *((Unwaived(1),) if self.waivers else ()))

    def sensitivity(self, cells: Facts) -> FloatArray:
        """Return S; with waivers that of the largest without one, -inf where all have waived."""
        if not self.waivers:
            return LinearMeasure.sensitivity(self, cells)
        victim, rest = self._estimate(cells)
        return np.where(np.isnan(victim), -np.inf, self.prefix[0] * np.nan_to_num(victim) + self.tail * rest)

    @property
    def accuracy(self) -> float:
        """100 p/q, or p."""
        return 100 * self.prefix[0] / -self.tail

    def scale(self, cells: Facts) -> FloatArray:
        """Return the largest contribution, which others estimate."""
        return cells.top(1)

    def _estimate(self, cells: Facts) -> tuple[FloatArray, FloatArray]:
        """Return the victim's contribution and what is left after taking out the victim and the coalition."""
        ranks = len(self.prefix)
        rest = cells.whole(ranks) - np.sum([cells.top(rank) for rank in range(1, ranks + 1)], axis=0)
        if not self.waivers:
            return cells.top(1), rest
        if Unwaived(1) not in cells:
            raise InputError("waivers: the largest contributions of those without a waiver are not known")
        victim = cells[Unwaived(1)][:, 0]
        own = np.nan_to_num(victim)
        # If others are larger, the coalition is the largest of them, and the last of the ranks is left over.
        return victim, rest + np.maximum(own, cells.top(ranks)) - own


@register("p_percent", Formula("X - x1 - x2 < p/100 x1", "the 2 largest", "p/100 x1 - (X - x1 - x2)"))
@dataclass(frozen=True, slots=True)
class PPercent(_Estimate):
    """The p % rule: unsafe if the runner-up can estimate the largest contribution to within ``p`` percent.

    The runner-up subtracts its own contribution from the total X, so the error is X - x1 - x2; the cell is unsafe if
    that is below p/100 x1.

    Parameters
    ----------
    p
        The closest safe estimate, in percent of the largest contribution; it may exceed 100.
    coalition
        How many of the largest other contributors pool what they know.
    inclusive
        Whether a cell exactly at the limit is unsafe, too.
    zero_unsafe
        Whether a cell with the value 0 is unsafe; by default it discloses no share.
    waivers
        Whether only contributors without a waiver are protected.

    References
    ----------
    Hundepool, A. et al. (2012). *Statistical Disclosure Control*. Wiley, section 4.2.

    Examples
    --------
    >>> from cellguard.table.facts import contributions
    >>> cell = contributions([81, 5, 2, 2, 2])
    >>> float(PPercent(10).sensitivity(cell)[0].round(6)), float(PPercent(10).measure(cell)[0].round(4))
    (2.1, 7.4074)
    """

    p: Percent
    coalition: int = 1
    inclusive: bool = False
    zero_unsafe: bool = False
    waivers: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.p < np.inf:
            raise InputError(f"p_percent: p must be above 0 and finite, not {percent(self.p)}")
        check_whole("p_percent", "the coalition", self.coalition, 1)

    def __str__(self) -> str:
        return f"p_percent {percent(self.p)}" + _options(self)

    def words(self) -> str:
        """Say who can estimate whom too well."""
        who = "the runner-up" if self.coalition == 1 else f"the {self.coalition} next largest together"
        return f"{who} can estimate {_victim(self.waivers)} to within {percent(self.p)} %"

    @property
    def prefix(self) -> tuple[float, ...]:
        """p/100 for the largest, 0 for the coalition."""
        return (self.p / 100,) + (0.0,) * self.coalition

    @property
    def tail(self) -> float:
        """-1."""
        return -1.0

    @property
    def noise(self) -> NoiseRule:
        """The coalition may not come closer than p; that somebody waived protection is not looked at."""
        return NoiseRule(self.coalition + 1, p=self.p)

    @property
    def ceiling(self) -> Ceiling | None:
        """100/p of all but the coalition and the largest itself; None with waivers."""
        return None if self.waivers else Ceiling(1, 1 + self.coalition, 100 / self.p, near=self.p)

    def measure(self, cells: Facts) -> FloatArray:
        """Return the error of the best estimate of the largest contribution, in percent of it."""
        return _error(*self._estimate(cells))


@register("prior_posterior", Formula("q (X - x1 - x2) < p x1", "the 2 largest", "p/q x1 - (X - x1 - x2)"))
@dataclass(frozen=True, slots=True)
class PriorPosterior(_Estimate):
    """The p-q rule: as `PPercent`, but every contributor knows the others in advance to within ``q`` percent.

    The cell is unsafe if q/100 (X - x1 - x2) is below p/100 x1, so only p/q matters.

    Parameters
    ----------
    p
        The closest safe estimate, in percent.
    q
        How closely contributions are known in advance, in percent.
    coalition
        How many of the largest other contributors pool what they know.
    inclusive
        Whether a cell exactly at the limit is unsafe, too.
    zero_unsafe
        Whether a cell with the value 0 is unsafe; by default it discloses no share.
    waivers
        Whether only contributors without a waiver are protected.

    Raises
    ------
    InputError
        Unless 0 < p < q <= 100.

    References
    ----------
    Hundepool, A. et al. (2012). *Statistical Disclosure Control*. Wiley, section 4.2.

    Examples
    --------
    >>> from cellguard.table.facts import contributions
    >>> float(PriorPosterior(10, 50).sensitivity(contributions([81, 5, 2, 2, 2]))[0].round(6))
    5.1
    """

    p: Percent
    q: Percent
    coalition: int = 1
    inclusive: bool = False
    zero_unsafe: bool = False
    waivers: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.p < self.q <= 100:
            raise InputError(
                f"prior_posterior: needs 0 < p < q <= 100, not p = {percent(self.p)}, q = {percent(self.q)}"
            )
        check_whole("prior_posterior", "the coalition", self.coalition, 1)

    def __str__(self) -> str:
        return f"prior_posterior ({percent(self.p)}, {percent(self.q)})" + _options(self)

    def words(self) -> str:
        """Describe what others know, and how well they can estimate the largest with it."""
        known = f"knowing all others to within {percent(self.q)} %"
        return f"{known}, one can estimate {_victim(self.waivers)} to within {percent(self.p)} %"

    @property
    def prefix(self) -> tuple[float, ...]:
        """p/100 for the largest, 0 for the coalition."""
        return (self.p / 100,) + (0.0,) * self.coalition

    @property
    def tail(self) -> float:
        """-q/100."""
        return -self.q / 100

    @property
    def noise(self) -> NoiseRule:
        """The coalition may not come closer than p; that somebody waived protection is not looked at."""
        return NoiseRule(self.coalition + 1, p=self.p, q=self.q)

    def measure(self, cells: Facts) -> FloatArray:
        """Return the error of the best estimate of the largest contribution, in percent of it."""
        return _error(*self._estimate(cells)) * self.q / 100


@register("linear", Formula("w1 x1 + w2 x2 + ... + rest (others) > 0", "as many as weights", "that sum / -rest"))
@dataclass(frozen=True, slots=True)
class Linear(LinearMeasure):
    """A linear sensitivity rule: unsafe if the weighted sum of the ordered contributions is above 0.

    S = w1 x1 + ... + wn xn + r (x(n+1) + ...), the largest contribution first.

    Parameters
    ----------
    weights
        The weights w of the largest contributions.
    rest
        The weight r of every further contribution.
    inclusive
        Whether a cell exactly at the limit is unsafe, too.
    zero_unsafe
        Whether a cell with the value 0 is unsafe; by default it discloses no share.

    References
    ----------
    Hundepool, A. et al. (2012). *Statistical Disclosure Control*. Wiley, section 4.2.

    Examples
    --------
    >>> from cellguard.table.facts import contributions
    >>> Linear((0.1, 0.0), -1.0).unsafe(contributions([81, 5, 2, 2, 2])).tolist()
    [True]
    """

    weights: tuple[float, ...]
    rest: float
    inclusive: bool = False
    zero_unsafe: bool = False

    def __post_init__(self) -> None:
        if not self.weights or not np.isfinite([*self.weights, self.rest]).all():
            raise InputError("linear: needs at least one weight, and all of them finite numbers")

    def __str__(self) -> str:
        weights = ", ".join(map(percent, self.weights))
        return f"linear ({weights}; rest {percent(self.rest)})" + options(self.inclusive, self.zero_unsafe)

    @property
    def can_fire(self) -> bool:
        """Whether the sum can be above 0, or 0 where that is enough, for contributions that are not negative.

        Contributions in decreasing order are sums of equal ones, so the largest sums are those of m equal ones.
        """
        most = float(np.cumsum(self.weights).max())
        return most > 0 or self.rest > 0 or (self.inclusive and most >= 0) or self.zero_unsafe

    @property
    def prefix(self) -> tuple[float, ...]:
        """The given weights."""
        return self.weights

    @property
    def tail(self) -> float:
        """The given weight of the rest."""
        return self.rest

    def measure(self, cells: Facts) -> FloatArray:
        """Return S in percent of the total."""
        return _ratio(self.sensitivity(cells), cells.whole(len(self.weights)))


def _error(victim: FloatArray, rest: FloatArray) -> FloatArray:
    return _ratio(rest, np.nan_to_num(victim))


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(100 * part, whole, out=np.full(len(whole), np.nan), where=whole != 0)


def _options(rule: PPercent | PriorPosterior) -> str:
    together = f" with coalitions of {rule.coalition}" if rule.coalition > 1 else ""
    return together + options(rule.inclusive, rule.zero_unsafe) + (", waivers" if rule.waivers else "")


def _victim(waivers: bool) -> str:
    return "the largest respondent who did not waive protection" if waivers else "the largest respondent"
