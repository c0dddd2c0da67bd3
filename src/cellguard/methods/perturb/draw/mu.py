"""ZES(mu): the smallest mu that makes the sensitive cells safe with a stated probability (Cuppen 2000, section 5.1).

``formula`` is (5.2): mu_C = need / X_1 - X_d. It looks at the largest contributor's noise only, so cells with several
contributors reach the probability d less often than it says. ``exact`` uses the distribution of the whole noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.errors import InputError, did_you_mean
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.cells.sensitivity import Needs, needs_of, supersensitive
from cellguard.methods.perturb.draw.distribution import exceedance
from cellguard.rules.linear import Dominance

Way = Literal["exact", "formula"]
LEAST_MU = 0.001
Status = Literal["served", "supersensitive", "not attainable", "missed"]


@dataclass(frozen=True, slots=True)
class MuOptions:
    """How mu is chosen: with probability ``d`` a cell must be safe; ``cap`` is the largest mu that may be used.

    With ``whole`` all cells that can be served must be safe together with that probability. ``extreme`` says which
    cells are supersensitive and left out, by default those of (1, k) dominance that no mu up to the cap serves: under
    p % rules one contributor may have nearly all of a cell, and yet ask for little more than p. ``shape`` is that of
    the sizes, and ``among`` the number of units of which half go up, None where each goes by itself.
    """

    sigma: float = 0.02
    d: float = 0.95
    cap: float = 0.20
    way: Way = "exact"
    extreme: Dominance | None = None
    whole: bool = False
    shape: str = "normal"
    among: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.sigma < 1:
            raise InputError(f"sigma must be at least 0 and below 1, not {self.sigma:g}")
        if not 0.5 <= self.d < 1:
            raise InputError(f"the probability d must be at least 0.5 and below 1, not {self.d:g}")
        if not 0 < self.cap < 1:
            raise InputError(f"the cap on mu must be above 0 and below 1, not {self.cap:g}")
        if self.way not in get_args(Way):
            raise InputError(f"no way {self.way!r} of choosing mu{did_you_mean(self.way, get_args(Way))}")


@dataclass(frozen=True, slots=True)
class CellMu:
    """What a sensitive cell asks for: its own smallest ``mu`` (NaN if there is none up to the cap), and what it gets.

    ``probability`` is that of the cell being safe at the mu that was chosen. ``status``: ``served`` as promised;
    ``supersensitive``: left out; ``not attainable``: no mu up to the cap is enough; ``missed``: the probability is
    below d all the same, since the formula or a stratum gave it too little noise.
    """

    table: str
    cell: int
    name: str
    mu: float
    probability: float
    status: Status


@dataclass(frozen=True, eq=False)
class MuChoice:
    """The mu that is used, and every sensitive cell; with strata, the largest mu, and that of each unit.

    If no cell asks for a mu (``asked`` is False), it is the one to use otherwise.
    """

    mu: float
    cells: tuple[CellMu, ...]
    by_unit: FloatArray | None = None

    @property
    def together(self) -> float:
        """The probability that all served cells are safe at once is at least this: 1 - sum of their (1 - p)."""
        return max(1 - sum(1 - cell.probability for cell in self.of("served")), 0.0)

    @property
    def asked(self) -> bool:
        """Whether some cell asks for a mu that it can get; supersensitive cells are left out."""
        return any(cell.status in {"served", "missed"} for cell in self.cells)

    def words(self) -> str:
        """Explain why no cell asks for a mu that it can get; nothing where one does.

        >>> MuChoice(0.1, ()).words()
        'no cell is sensitive'
        """
        if self.asked:
            return ""
        if not self.cells:
            return "no cell is sensitive"
        left_out, beyond = len(self.of("supersensitive")), len(self.of("not attainable"))
        why = [f"{left_out:,} supersensitive and left out"] if left_out else []
        why += [f"{beyond:,} not to be served by any mu up to the cap"] if beyond else []
        return f"no sensitive cell is served ({', '.join(why)})"

    def of(self, status: Status) -> tuple[CellMu, ...]:
        """Return the cells of a status."""
        return tuple(cell for cell in self.cells if cell.status == status)


@dataclass(frozen=True, eq=False)
class _Wanted:
    """A sensitive cell on its way to a `CellMu`."""

    needs: Needs
    cell: int
    units: npt.NDArray[np.int64]
    contributions: FloatArray
    by_formula: float
    extreme: bool

    @property
    def need(self) -> float:
        return float(self.needs.need[self.cell])

    def chance(self, mu: npt.ArrayLike, options: MuOptions) -> float:
        more = {"sigma": options.sigma, "shape": options.shape, "among": options.among}
        return exceedance(self.contributions, self.need, mu=mu, **more)  # type: ignore[arg-type]


def quantile_xd(sigma: float, d: float) -> float:
    """Return X_d with P[N(0, sigma) > X_d] = d.

    >>> round(quantile_xd(0.02, 0.95), 6)
    -0.032897
    """
    return float(sigma * ndtri(1 - d))


def mu_by_formula(needs: Needs, options: MuOptions) -> FloatArray:
    """Return mu_C = need / X_1 - X_d of every sensitive cell (5.2), NaN for the others."""
    share = np.divide(needs.need, needs.largest, out=np.full(len(needs.need), np.nan), where=needs.sensitive)
    return share - quantile_xd(options.sigma, options.d)


def smallest_mu(contributions: npt.ArrayLike, need: float, options: MuOptions) -> float:
    """Return the smallest mu up to the cap with P(|noise| > need) >= d, or NaN if it is not attainable.

    Given the directions, the noise is normal (or of another symmetric shape with one peak) around mu * c, with a spread
    that does not depend on mu, and P(|noise| > a) rises with |mu c|. So the probability never falls as mu rises, and
    halving finds the smallest mu, from the bound that the variance sets, (mu^2 + sigma^2) sum X^2 >= d need^2, and at
    least from 0.001.

    >>> round(smallest_mu([6000, 1500, 1000, 800, 400, 300], 1071.4286, MuOptions(cap=0.5)), 2)
    0.42
    """
    x = np.asarray(contributions, float)
    squares = float((x * x).sum())
    if need <= 0 or squares <= 0:
        return 0.0 if need <= 0 else math.nan
    least = max(math.sqrt(max(options.d * need**2 / squares - options.sigma**2, 0.0)), LEAST_MU)

    def enough(mu: float) -> bool:
        chance = exceedance(x, need, mu=mu, sigma=options.sigma, shape=options.shape, among=options.among)
        return chance >= options.d

    if least > options.cap or not enough(options.cap):
        return math.nan
    return least if enough(least) else _halve(least, options.cap, enough)


def choose_mu(
    tables: Sequence[CalibrationTable],
    options: MuOptions | None = None,
    *,
    otherwise: float = 0.0,
    only: BoolArray | None = None,
) -> MuChoice:
    """Return the smallest mu that serves every sensitive cell of the calibration set that can be served.

    Supersensitive cells, and those for which no mu up to the cap is enough, are left out and listed. If that leaves no
    cell, mu is ``otherwise``, or the cap if that is smaller. Units that are not in ``only`` have no noise.
    """
    options = options or MuOptions()
    wanted = _wanted(tables, options, only)
    options, own = _own_mus(wanted, options)
    asked = [m for m in own if not math.isnan(m)]
    mu = max(asked, default=min(otherwise, options.cap))
    return MuChoice(mu, tuple(_report(w, m, mu, options) for w, m in zip(wanted, own, strict=True)))


def choose_mu_by_stratum(
    tables: Sequence[CalibrationTable],
    stratum: npt.NDArray[np.integer],
    options: MuOptions | None = None,
    *,
    least: float = 0.05,
    only: BoolArray | None = None,
) -> MuChoice:
    """Return a mu for every stratum of units: the largest that cells whose largest unit is in it ask for, or ``least``.

    A cell's own mu supposes that all its units have it, so a cell with units of quieter strata may be ``missed``: the
    probabilities that are returned are those with each unit's own mu.
    """
    options = options or MuOptions()
    if not 0 < least <= options.cap:
        raise InputError(f"the least mu must be above 0 and at most the cap of {options.cap:g}, not {least:g}")
    if tables and len(stratum) != tables[0].records.units:
        raise InputError(f"{len(stratum)} strata for {tables[0].records.units} respondents; there must be one each")
    wanted = _wanted(tables, options, only)
    options, own = _own_mus(wanted, options)
    mu = np.full(int(np.max(stratum, initial=0)) + 1, least)
    for cell, value in zip(wanted, own, strict=True):
        if not math.isnan(value) and len(cell.units):
            at = stratum[cell.units[0]]
            mu[at] = max(mu[at], value)
    by_unit = mu[stratum]
    cells = tuple(_report(w, m, by_unit[w.units], options) for w, m in zip(wanted, own, strict=True))
    return MuChoice(float(by_unit.max(initial=0.0)), cells, by_unit)


def strata_by_need(tables: Sequence[CalibrationTable]) -> npt.NDArray[np.int64]:
    """Return 1 for the units that are among the n largest of a sensitive cell, 0 for all others."""
    stratum = np.zeros(tables[0].records.units if tables else 0, np.int64)
    for table in tables:
        units = table.largest.unit[needs_of(table).sensitive, : table.n]
        stratum[units[units >= 0]] = 1
    return stratum


def chances(tables: Sequence[CalibrationTable], mu: FloatArray, options: MuOptions) -> list[CellMu]:
    """Return every sensitive cell with the probability that it is safe if each unit has this mu (0: it stays)."""
    return [_report(w, math.nan, mu[w.units], options) for w in _wanted(tables, options, mu > 0)]


def _own_mus(wanted: Sequence[_Wanted], options: MuOptions) -> tuple[MuOptions, list[float]]:
    """Return the mu that each cell asks for by itself, and the probability that is asked of it.

    If all are to be safe together with probability d, it is enough that each of k cells is so with 1 - (1 - d) / k;
    cells that no mu serves do not count among them.
    """
    own = [math.nan if w.extreme and options.extreme else _own(w, options) for w in wanted]
    if not options.whole:
        return options, own
    d, served = options.d, -1
    while True:
        now = sum(not math.isnan(m) for m in own)
        if now == served or not now:
            return options, own
        served, options = now, replace(options, d=1 - (1 - d) / now)
        own = [m if math.isnan(m) else _own(w, options) for w, m in zip(wanted, own, strict=True)]


def _wanted(tables: Sequence[CalibrationTable], options: MuOptions, only: BoolArray | None = None) -> list[_Wanted]:
    wanted: list[_Wanted] = []
    for table in tables:
        needs = needs_of(table)
        extreme, by_formula = supersensitive(needs, options.extreme), mu_by_formula(needs, options)
        cells = np.flatnonzero(needs.sensitive)
        who = table.units_in(cells)
        wanted += [
            _Wanted(needs, cell, *_moving(*who.of(i), only), float(by_formula[cell]), bool(extreme[cell]))
            for i, cell in enumerate(cells.tolist())
        ]
    return wanted


def _moving(units: LongArray, values: FloatArray, only: BoolArray | None) -> tuple[LongArray, FloatArray]:
    """Return the contributors of a cell that are perturbed, the largest first."""
    return (units, values) if only is None else (units[only[units]], values[only[units]])


def _own(wanted: _Wanted, options: MuOptions) -> float:
    if options.way == "exact":
        return smallest_mu(wanted.contributions, wanted.need, options)
    return wanted.by_formula if wanted.by_formula <= options.cap else math.nan


def _halve(low: float, high: float, enough: Callable[[float], bool]) -> float:
    """Return the smallest mu that is enough, to within a billionth: the upper end of the last halving."""
    while high - low > 1e-9:
        middle = (low + high) / 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def _report(wanted: _Wanted, own: float, mu: npt.ArrayLike, options: MuOptions) -> CellMu:
    table = wanted.needs.table
    chance = wanted.chance(mu, options)
    status: Status = "served" if chance >= options.d - 1e-9 else "missed"
    if math.isnan(own):
        status = "supersensitive" if wanted.extreme else "not attainable"
    return CellMu(table.name, wanted.cell, table.table.cell_name(wanted.cell), own, chance, status)
