"""Rules without a protection formula: minimum frequency, largest share, and marks that came with the data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.errors import InputError
from cellguard.rules.limits import Ceiling
from cellguard.rules.parameters import check_percent, check_share, check_whole, options, percent
from cellguard.rules.rule import PROTECTION_PERCENT, Formula, Percent, Rule, above, count_of, occupied, register
from cellguard.table.fact import Count, Fact, Mark, NonZero, Requested, Top, Total
from cellguard.table.facts import Facts

if TYPE_CHECKING:
    from cellguard.table.table import Table

Hide = Literal["exact", "small"]


@register("min_frequency", Formula("0 < N < n", "count", "`protection_percent` (10) of X; of counts, see below"))
@dataclass(frozen=True, slots=True)
class MinFrequency(Rule):
    """The minimum frequency rule: unsafe if a cell has respondents, but fewer than ``n`` of them.

    Parameters
    ----------
    n
        The smallest safe number of respondents.
    inclusive
        Whether a cell with exactly ``n`` respondents is unsafe, too.
    protection_percent
        The protection level of an unsafe cell, in percent of its value.
    hide
        Of a frequency table: what an attacker must not conclude of an unsafe count, its ``exact`` number, or that it
        is ``small``; then the feasibility interval must reach a sufficient count.
    nonzero
        Whether respondents count only if their contribution is not 0 in all of the most detailed parts of the cell.

    References
    ----------
    Hundepool, A. et al. (2012). *Statistical Disclosure Control*. Wiley, section 4.2.

    Examples
    --------
    >>> from cellguard.table.facts import contributions
    >>> MinFrequency(3).unsafe(contributions([5, 4], [5, 4, 3], [])).tolist()
    [True, False, False]
    """

    n: int
    inclusive: bool = False
    protection_percent: Percent = PROTECTION_PERCENT
    hide: Hide = "exact"
    nonzero: bool = False
    counted = True
    conf_status = "A"
    sbs_flag = "A"

    def __post_init__(self) -> None:
        check_whole("min_frequency", "n", self.n, 1)
        check_percent("min_frequency", self.protection_percent)
        if self.hide not in get_args(Hide):
            raise InputError(f"min_frequency: hide must be {' or '.join(get_args(Hide))}")
        if self.nonzero and self.hide == "small":
            raise InputError("min_frequency: nonzero is for sums, and `hide: small` for counts; leave out one of them")

    def __str__(self) -> str:
        others = (", hide small" if self.hide == "small" else "") + (", without zeros" if self.nonzero else "")
        return f"min_frequency {self.n}" + options(self.inclusive) + others

    @property
    def subadditive(self) -> bool:
        """Yes: a union has the respondents of all its parts."""
        return True

    @property
    def can_fire(self) -> bool:
        """Whether a cell with respondents can have too few of them: 1 is not fewer than 1."""
        return self.enough > 1 or self.nonzero

    @property
    def enough(self) -> int:
        """The smallest number of respondents that is not too small."""
        return self.n + self.inclusive

    @property
    def fewest(self) -> int:
        """The smallest number of respondents that is not too small."""
        return self.enough

    @property
    def of_counts(self) -> Rule:
        """As many: a count of respondents has no zeros of its own."""
        return replace(self, nonzero=False)

    @property
    def only_suppressed(self) -> str:
        """``hide: small`` and ``nonzero``: what is changed is not suppressed, and nobody looks at its parts."""
        if self.hide == "small":
            return "`hide: small` is for suppressed tables of counts"
        return "`nonzero` is for suppressed tables" if self.nonzero else ""

    @property
    def hides_below(self) -> int | None:
        """What an attacker's interval must reach, if the attacker may not tell that a count is small."""
        return self.enough if self.hide == "small" else None

    def words(self) -> str:
        """Describe how few respondents are too few."""
        who = "respondents with more than 0" if self.nonzero else "respondents"
        return f"{self.n} or fewer {who}" if self.inclusive else f"fewer than {self.n} {who}"

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The count of respondents, and with ``nonzero`` of those with more than 0."""
        return (Count(), *((NonZero(),) if self.nonzero else ()))

    def sensitivity(self, cells: Facts) -> FloatArray:
        """Return how many respondents are missing to ``n``."""
        return np.where(occupied(cells), self.n - self.measure(cells), -np.inf)

    def measure(self, cells: Facts) -> FloatArray:
        """Return the count of respondents."""
        if not self.nonzero:
            return count_of(cells)
        if NonZero() not in cells:
            raise InputError("min_frequency: nonzero needs the number of respondents with a record that is not 0")
        return np.asarray(cells[NonZero()], float)

    def scale(self, cells: Facts) -> FloatArray:
        """Return 1: a count is a share of nothing."""
        return np.ones(len(cells.total))

    def unsafe(self, cells: Facts) -> BoolArray:
        """Return which cells have too few respondents."""
        missing = self.sensitivity(cells)
        return np.asarray(missing >= 0 if self.inclusive else missing > 0, bool)


class _LargestShare(Rule):
    """What rules about the share of the largest contribution have in common."""

    __slots__ = ()
    k: float
    nonnegative = True

    def sensitivity(self, cells: Facts) -> FloatArray:
        """Return x1 - k/100 X."""
        return cells.top(1) - self.k / 100 * cells.whole(1)

    def measure(self, cells: Facts) -> FloatArray:
        """Return the largest contribution's share in percent."""
        share, whole = np.full(len(cells.total), np.nan), cells.whole(1)
        return np.divide(100 * cells.top(1), whole, out=share, where=whole != 0)

    def unsafe(self, cells: Facts) -> BoolArray:
        """Return where the share is too large; a total of 0 has no shares."""
        return above(self.sensitivity(cells), cells, self.inclusive) & (cells.basis != 0)


@register("max_share", Formula("x1 > k/100 X", "the largest"))
@dataclass(frozen=True, slots=True)
class MaxShare(_LargestShare):
    """The maximum share rule: unsafe if the largest contribution exceeds ``k`` percent of the total.

    Parameters
    ----------
    k
        The largest safe share, in percent.
    inclusive
        Whether a cell exactly at the limit is unsafe, too.
    protection_percent
        The protection level of an unsafe cell, in percent of its value.

    Examples
    --------
    >>> from cellguard.table.facts import contributions
    >>> MaxShare(50).unsafe(contributions([48, 9, 7, 6, 4], [5, 5])).tolist()
    [True, False]
    """

    k: Percent
    inclusive: bool = False
    protection_percent: Percent = PROTECTION_PERCENT
    conf_status = "O"

    def __post_init__(self) -> None:
        check_share("max_share", self.k)
        check_percent("max_share", self.protection_percent)

    def __str__(self) -> str:
        return f"max_share {percent(self.k)}" + options(self.inclusive)

    def words(self) -> str:
        """Describe how large a share is too large."""
        return f"the largest respondent makes up more than {percent(self.k)} % of the value"

    @property
    def ceiling(self) -> Ceiling:
        """k/(100 - k) of the others."""
        return Ceiling(1, 1, self.k / (100 - self.k))

    @property
    def subadditive(self) -> bool:
        """Yes: the share of the largest contributor of a union is no larger than the attacker's share in one of the
        parts.
        """
        return True

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The total and the largest contribution."""
        return (Total(), Top(1))


@register(
    "request",
    Formula("the largest contributor asked for protection and x1 > k/100 X", "the largest, the requests"),
)
@dataclass(frozen=True, slots=True)
class Request(_LargestShare):
    """The request rule: unsafe if the largest contributor asked for protection and exceeds ``k`` percent of the total.

    Foreign trade statistics use it.

    Parameters
    ----------
    k
        The largest safe share of such a contributor, in percent.
    inclusive
        Whether a cell exactly at the limit is unsafe, too.
    protection_percent
        The protection level of an unsafe cell, in percent of its value.

    References
    ----------
    Hundepool, A. et al. (2012). *Statistical Disclosure Control*. Wiley, section 4.2.

    Examples
    --------
    >>> cells = Facts({Total(): np.array([10.0, 10.0]), Top(1): np.array([[8.0], [8.0]]),
    ...                Requested(): np.array([True, False])})
    >>> Request(70).unsafe(cells).tolist()
    [True, False]
    """

    k: Percent
    inclusive: bool = False
    protection_percent: Percent = PROTECTION_PERCENT

    def __post_init__(self) -> None:
        check_share("request", self.k)
        check_percent("request", self.protection_percent)

    def __str__(self) -> str:
        return f"request {percent(self.k)}" + options(self.inclusive)

    def words(self) -> str:
        """Say that protection was asked for, and how large a share is too large."""
        share = f"makes up more than {percent(self.k)} % of the value"
        return f"the largest respondent asked for protection and {share}"

    @property
    def subadditive(self) -> bool:
        """No: the largest of a union may be the second in each part."""
        return False

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The total, the largest contribution and whether its contributor asked for protection."""
        return (Total(), Top(1), Requested())

    def figures(self, table: Table, cells: Positions) -> list[str]:
        """Return the share of the largest contributor, and whether it asked for protection."""
        requested = _requested(table.facts)[cells].tolist()
        shares = _LargestShare.figures(self, table, cells)
        words = {True: "asked for protection", False: "did not ask for protection"}
        return [f"{share}, {words[asked]}" for share, asked in zip(shares, requested, strict=True)]

    def sensitivity(self, cells: Facts) -> FloatArray:
        """Return x1 - k/100 X where protection was asked for."""
        return np.where(_requested(cells), _LargestShare.sensitivity(self, cells), -np.inf)


@register("given", Formula("the yes-or-no column says so", "the column"))
@dataclass(frozen=True, slots=True)
class Given(Rule):
    """A cell is unsafe where a yes-or-no column of the data says so.

    Parameters
    ----------
    column
        The name of the column.
    protection_percent
        The protection level of an unsafe cell, in percent of its value.

    Examples
    --------
    >>> cells = Facts({Total(): np.array([5.0, 7.0]), Mark("secret"): np.array([True, False])})
    >>> Given("secret").unsafe(cells).tolist()
    [True, False]
    """

    column: str
    protection_percent: Percent = PROTECTION_PERCENT

    def __post_init__(self) -> None:
        check_percent("given", self.protection_percent)

    def __str__(self) -> str:
        return f"given {self.column}"

    def words(self) -> str:
        """Name the column."""
        return f"marked in the column {self.column}"

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The column."""
        return (Mark(self.column),)

    def figures(self, table: Table, cells: Positions) -> list[str]:
        """Return what the column says."""
        return ["yes" if marked else "no" for marked in table.facts[Mark(self.column)][cells].tolist()]

    def sensitivity(self, cells: Facts) -> FloatArray:
        """Return 1 where the column says yes and -1 elsewhere."""
        return np.where(cells[Mark(self.column)], 1.0, -1.0)

    def unsafe(self, cells: Facts) -> BoolArray:
        """Return where the column says yes, of cells that have respondents."""
        said = cells[Mark(self.column)]
        return said if cells.count is None else said & (cells.count > 0)


def _requested(cells: Facts) -> BoolArray:
    if Requested() not in cells:
        raise InputError("request needs to know whether each cell's largest contributor asked for protection")
    return np.asarray(cells[Requested()], bool)
