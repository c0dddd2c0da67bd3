"""The Statisticon rule of Johan Bring: how well a contributor knows another one, as an interval.

The runner-up knows the total X, the attacker's own x2, that the attacker is second, and that N contribute. So the
largest lies between max(x2, X - (N - 1) x2) and X - x2, where all others have as much as the attacker, or nothing. The
largest contributor knows x1, so the second lies between (X - x1) / (N - 1) and min(x1, X - x1). A cell is unsafe if the
interval is shorter than s percent of X, or the second one than s percent of x1 + x2: it cannot be longer than x1, which
in margins of many contributors is no such share of X. Nothing else of the cell matters: (59, 40, 1) and (41, 40, 19)
are the same to the runner-up.

If X itself is only known to lie between X - l and X + u, the runner-up's interval grows by u above, and below by l
until its end reaches x2, that is by min(l, c) with c = max(X - N x2, 0). With S = s/100 X less its length, it is long
enough iff u + min(l, c) >= S, that is iff u >= S - c and u + l >= S: needs that an interval of X can meet. For the
second pair u up to x1 - (X - x1) lengthens the upper end, and l the lower one by l / (N - 1), as far as l <= X - x1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.errors import InputError
from cellguard.rules.parameters import options, percent
from cellguard.rules.rule import Formula, Judgement, Percent, Rule, above, register, unsafe_zeros
from cellguard.table.fact import Contributors, Count, Fact, Top, Total
from cellguard.table.facts import Facts

if TYPE_CHECKING:
    from cellguard.table.table import Table


class Interval(NamedTuple):
    """Between which values somebody knows another's contribution to lie."""

    low: FloatArray
    high: FloatArray

    @property
    def length(self) -> FloatArray:
        """How long it is."""
        return np.asarray(np.maximum(self.high - self.low, 0.0), float)


@register(
    "statisticon",
    Formula(
        "X - x2 - max(x2, X - (N - 1) x2) < s/100 X",
        "count, the 2 largest",
        "an interval: S wide, of it S - max(X - N x2, 0) above; S = s/100 X less the left side",
    ),
)
@dataclass(frozen=True, slots=True)
class Statisticon(Rule):
    """Unsafe if the runner-up's interval for the largest is shorter than ``s`` percent of the total.

    With ``both_pairs`` the largest contributor's interval for the second counts too, and is unsafe if it is shorter
    than ``s`` percent of what these two have.

    Parameters
    ----------
    s
        The shortest safe interval, in percent of the total.
    both_pairs
        Whether the largest contributor's interval for the second counts, too.
    inclusive
        Whether an interval of exactly that length is unsafe.
    zero_unsafe
        Whether a total of 0 with respondents is unsafe.

    Examples
    --------
    >>> from cellguard.table.facts import contributions
    >>> cells = contributions([59, 40, 1], [41, 40, 19])
    >>> Statisticon(25).unsafe(cells).tolist(), Statisticon(15).unsafe(cells).tolist()
    ([True, True], [False, False])
    """

    s: Percent
    both_pairs: bool = False
    inclusive: bool = False
    zero_unsafe: bool = False
    nonnegative = True
    cure: ClassVar[str] = (
        "statisticon with both_pairs cannot be met by suppression where the other contributors have too little; "
        "recode, or "
        "leave both_pairs out"
    )

    def __post_init__(self) -> None:
        if not 0 < self.s <= 100:
            raise InputError(f"statisticon: s must be above 0 and at most 100 percent, not {percent(self.s)}")

    def __str__(self) -> str:
        pairs = " both pairs" if self.both_pairs else ""
        return f"statisticon {percent(self.s)}{pairs}" + options(self.inclusive, self.zero_unsafe)

    def words(self) -> str:
        """Say who knows whom too well."""
        first = f"the runner-up knows the largest respondent to within less than {percent(self.s)} % of the value"
        if not self.both_pairs:
            return first
        return f"{first}, or the largest one the runner-up to within less than {percent(self.s)} % of what both have"

    @property
    def subadditive(self) -> bool:
        """No: two cells of one large contributor each make one of two."""
        return False

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The total, the two largest contributions and how many there are."""
        return (Total(), Count(), Contributors(), Top(2))

    def runner_up(self, cells: Facts) -> Interval:
        """Return what the second largest contributor knows of the largest."""
        X, second = cells.whole(2), cells.top(2)
        return Interval(np.maximum(second, X - (_contributors(cells) - 1) * second), X - second)

    def largest(self, cells: Facts) -> Interval:
        """Return what the largest contributor knows of the second; without limits where there is none."""
        first, N = cells.top(1), _contributors(cells)
        others = cells.whole(2) - first
        alone = N < 2
        low = np.divide(others, N - 1, out=np.zeros(len(N)), where=~alone)
        return Interval(np.where(alone, -np.inf, low), np.where(alone, np.inf, np.minimum(first, others)))

    def intervals(self, cells: Facts) -> list[tuple[FloatArray, FloatArray]]:
        """Return how long each interval is that is looked at, and what it is a share of."""
        own = [(self.runner_up(cells).length, cells.whole(2))]
        return own + ([(self.largest(cells).length, cells.top(1) + cells.top(2))] if self.both_pairs else [])

    def sensitivity(self, cells: Facts) -> FloatArray:
        """Return S, by how much an interval is too short."""
        short = [self.s / 100 * whole - length for length, whole in self.intervals(cells)]
        return np.asarray(np.max(short, axis=0), float)

    def measure(self, cells: Facts) -> FloatArray:
        """Return the length of the interval, in percent of the total, or of the two largest; the smaller percentage."""
        shares = [
            np.divide(100 * length, whole, out=np.full(len(whole), np.nan), where=whole != 0)
            for length, whole in self.intervals(cells)
        ]
        return np.asarray(np.min(shares, axis=0), float)

    def figures(self, table: Table, cells: Positions) -> list[str]:
        """Return the length of the interval that decides, and between which values the runner-up has the largest."""
        own = self.runner_up(table.facts.take(np.asarray(cells, np.intp)))
        usual, d = Rule.figures(self, table, cells), table.decimals
        return [
            f"{figure}; the runner-up knows the largest to be between {low:,.{d}f} and {high:,.{d}f}"
            for figure, low, high in zip(usual, own.low.tolist(), own.high.tolist(), strict=True)
        ]

    def after(self, table: Table, cell: int, lower: float, upper: float) -> str:
        """Return between which values the runner-up has the largest once the total is suppressed."""
        facts = table.facts.take(np.array([cell]))
        second, N = float(facts.top(2)[0]), float(_contributors(facts)[0])
        low, high = max(second, lower - (N - 1) * second), upper - second
        top = f"{high:,.{table.decimals}f}" if np.isfinite(high) else "no limit"
        return f"after suppression between {low:,.{table.decimals}f} and {top}"

    def unsafe(self, cells: Facts) -> BoolArray:
        """Return where S > 0; a total of 0 is unsafe only if ``zero_unsafe``."""
        short = above(self.sensitivity(cells), cells, self.inclusive) & (cells.basis != 0)
        return short | unsafe_zeros(cells) if self.zero_unsafe else short

    def look(self, table: Table) -> Judgement:
        """Judge the cells of a table; an unsafe one needs an interval, and no level."""
        cells = table.facts
        X, N, wanted = cells.whole(2), _contributors(cells), self.s / 100 * cells.whole(2)
        own = self.runner_up(cells)
        width = np.maximum(wanted - own.length, 0.0)
        reach = np.maximum(width - np.maximum(own.low - cells.top(2), 0.0), 0.0)
        fall, hopeless = np.zeros(len(X)), np.zeros(len(X), bool)
        if self.both_pairs:
            length, both = self.intervals(cells)[1]
            short = np.maximum(self.s / 100 * both - length, 0.0)
            others = X - cells.top(1)
            up = np.minimum(short, np.maximum(cells.top(1) - others, 0.0))
            fall = np.maximum((N - 1) * (short - up), 0.0)
            reach = np.maximum(reach, up)
            hopeless = fall > others + 1e-9 * np.maximum(X, 1)
        reach, fall, width = (need * cells.scale for need in (reach, fall, width))
        return Judgement(
            self.sensitivity(cells), self.unsafe(cells), np.zeros(len(X)), reach, hopeless, fall=fall, width=width
        )


def _contributors(cells: Facts) -> FloatArray:
    if Contributors() not in cells:
        raise InputError("statisticon needs the number of contributions of each cell")
    return np.asarray(cells[Contributors()], float)
